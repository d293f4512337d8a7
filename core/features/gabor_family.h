// Gabor features of square patches of an image: how strongly a patch answers to an oriented wave
// under a Gaussian window,
//
//   F(z, y) = exp(-z0^2 / (2 scale_z^2) - y0^2 / (2 scale_y^2)) cos(2 pi frequency z0),
//   z0 = z cos angle + y sin angle, y0 = -z sin angle + y cos angle,
//
// z and y being a pixel's row and column less those of the window's middle. The feature is the sum
// over the middles of |sum over the pixels of patch F|, the filter cut off at the patch's border.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"

#include "core/features/feature_family.h"
#include "core/features/feature_family_spec.h"

namespace mercer {

// Parameters of a group: scale_z, scale_y, frequency, angle.
class GaborFamily : public FeatureFamily {
 public:
  // kInvalidArgument, naming the field, when `spec` does not fit rows of so many columns.
  static absl::Status Check(const FeatureFamilySpec& spec, Index num_inputs);

  // `spec` as CheckFeatureFamilySpec and Check want it.
  GaborFamily(const FeatureFamilySpec& spec, Index num_inputs);

  std::string_view name() const override { return "gabor"; }
  Index num_inputs() const override { return size_ * size_; }
  Index columns_per_group() const override { return 1; }
  std::vector<std::string> parameter_names() const override;
  absl::StatusOr<std::vector<FeatureParameters>> Draw(uint64_t seed, uint64_t round,
                                                      const RunContext& context) const override;
  bool is_finite() const override { return false; }
  bool searches_in_single() const override { return true; }
  absl::Status CheckParameters(absl::Span<const double> parameters) const override;
  std::unique_ptr<const FeatureMap> Bind(absl::Span<const FeatureParameters> groups) const override;
  const FeatureMotion* motion() const override { return nullptr; }
  Index work_per_row() const override;

  // `per_parameter` values of each parameter in every combination: scales at equal ratios and
  // frequencies at equal distances from the least to the largest, angles at equal distances in [0,
  // pi). One value: the middle of the range.
  std::vector<FeatureParameters> Grid(int64_t per_parameter) const;

  // Side of a patch.
  Index patch_size() const { return size_; }
  const std::vector<PatchPosition>& positions() const { return positions_; }

 private:
  FeatureFamilySpec spec_;
  Index size_;
  double max_scale_;
  std::vector<PatchPosition> positions_;
};

}  // namespace mercer
