// Random Fourier features: the pair cos v'x, sin v'x for a frequency v drawn from the spectral
// density of a kernel of differences, so that the mean of cos v'(x - z) over v is the kernel.
//
// Source: Rahimi, Recht: Random features for large-scale kernel machines. NIPS 2007.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/numeric/random.h"
#include "core/features/feature_family.h"
#include "core/features/feature_family_spec.h"

namespace mercer {

// Parameters of a group: its bandwidth, then v. The bandwidth is kept for people; values depend on
// v alone. A pair is moved in the direction of v, and in its length as far as the range of
// bandwidths goes: bandwidth times length stays what it was when v was drawn.
class FourierFamily : public FeatureFamily, public FeatureMotion {
 public:
  // `spec` as CheckFeatureFamilySpec wants it.
  FourierFamily(const FeatureFamilySpec& spec, Index num_inputs);

  std::string_view name() const override { return "fourier"; }
  Index num_inputs() const override { return num_inputs_; }
  Index columns_per_group() const override { return 2; }
  std::vector<std::string> parameter_names() const override;
  absl::StatusOr<std::vector<FeatureParameters>> Draw(uint64_t seed, uint64_t round,
                                                      const RunContext& context) const override;
  bool is_finite() const override { return false; }
  bool searches_in_single() const override { return true; }
  absl::Status CheckParameters(absl::Span<const double> parameters) const override;
  std::unique_ptr<const FeatureMap> Bind(absl::Span<const FeatureParameters> groups) const override;
  const FeatureMotion* motion() const override { return this; }
  Index work_per_row() const override;

  Vector Derivative(ConstRowMatrixRef rows, ConstMatrixRef values,
                    ConstMatrixRef coefficients) const override;
  Vector Place(const FeatureParameters& group) const override;
  FeatureParameters Moved(const FeatureParameters& group, const Vector& change) const override;

 private:
  std::vector<double> Bandwidths(uint64_t seed, uint64_t round) const;
  FeatureParameters DrawOne(double bandwidth, RandomStream stream) const;

  FeatureFamilySpec spec_;
  Index num_inputs_;
};

}  // namespace mercer
