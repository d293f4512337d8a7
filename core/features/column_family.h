// The columns of the data as features: column generation over them is a lasso with a working set.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/features/feature_family.h"

namespace mercer {

// The columns of the data, one in each group. A group has one parameter: the number of its column,
// from 0.
class ColumnFamily : public FeatureFamily {
 public:
  explicit ColumnFamily(Index num_inputs) : num_inputs_(num_inputs) {}

  std::string_view name() const override { return "columns"; }
  Index num_inputs() const override { return num_inputs_; }
  Index columns_per_group() const override { return 1; }
  std::vector<std::string> parameter_names() const override { return {"column"}; }
  absl::StatusOr<std::vector<FeatureParameters>> Draw(uint64_t seed, uint64_t round,
                                                      const RunContext& context) const override;
  bool is_finite() const override { return true; }
  bool searches_in_single() const override { return false; }
  absl::Status CheckParameters(absl::Span<const double> parameters) const override;
  std::unique_ptr<const FeatureMap> Bind(absl::Span<const FeatureParameters> groups) const override;
  const FeatureMotion* motion() const override { return nullptr; }
  Index work_per_row() const override { return 1; }

 private:
  Index num_inputs_;
};

}  // namespace mercer
