#include "core/solvers/sample_costs.h"

#include <cmath>

#include "absl/strings/str_cat.h"

namespace mercer {

absl::StatusOr<Vector> MakeSampleCosts(const CostOptions& options, Index num_samples,
                                       ConstVectorRef targets, ConstVectorRef sample_weights) {
  if (!(options.c > 0) || !std::isfinite(options.c)) {
    return absl::InvalidArgumentError(absl::StrCat("C must be > 0 and finite, is ", options.c));
  }
  if ((targets.size() != 0 && targets.size() != num_samples) ||
      (sample_weights.size() != 0 && sample_weights.size() != num_samples)) {
    return absl::InvalidArgumentError(
        "targets or sample weights differ in number from the samples");
  }
  Vector weights =
      sample_weights.size() != 0 ? Vector(sample_weights) : Vector(Vector::Ones(num_samples));
  for (Index i = 0; i < num_samples; ++i) {
    if (!(weights(i) >= 0) || !std::isfinite(weights(i))) {
      return absl::InvalidArgumentError(absl::StrCat("row ", i + 1, ": the sample weight is ",
                                                     weights(i), ", must be finite and >= 0"));
    }
  }
  double class_weights[2] = {options.negative_weight, options.positive_weight};
  if (targets.size() != 0) {
    double class_sums[2] = {0, 0};
    for (Index i = 0; i < num_samples; ++i) {
      class_sums[targets(i) > 0] += weights(i);
    }
    for (int k = 0; k < 2; ++k) {
      class_weights[k] = options.balanced ? (class_sums[0] + class_sums[1]) / (2 * class_sums[k])
                                          : class_weights[k];
      if (!(class_sums[k] > 0) || !(class_weights[k] > 0) || !std::isfinite(class_weights[k])) {
        return absl::InvalidArgumentError(absl::StrCat(
            "the ", k == 1 ? "positive" : "negative", " class has sample weight ", class_sums[k],
            " and class weight ", class_weights[k], "; both must be > 0 and finite"));
      }
    }
  }
  for (Index i = 0; i < num_samples; ++i) {
    weights(i) *= options.c * (targets.size() != 0 ? class_weights[targets(i) > 0] : 1.0);
    if (!std::isfinite(weights(i))) {
      return absl::InvalidArgumentError(
          absl::StrCat("row ", i + 1, ": C times class weight and sample weight is not finite"));
    }
  }
  return weights;
}

}  // namespace mercer
