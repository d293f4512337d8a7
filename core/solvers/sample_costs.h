// Weights of classes and samples, folded once into the costs that solvers see.
#pragma once

#include "absl/status/statusor.h"

#include "core/base/types.h"

namespace mercer {

// costs(i) = C class_weight(y_i) sample_weight(i): folded once, so that solvers see costs only.
struct CostOptions {
  double c = 1.0;
  // Multiplies the costs of the samples with target +1 and -1.
  double positive_weight = 1.0;
  double negative_weight = 1.0;
  // Class weights n / (2 n_class) instead of the two above, where n and n_class are sums of sample
  // weights.
  bool balanced = false;
};

// Costs of n samples; `sample_weights` is empty (all 1) or of size n; `targets` matter for class
// weights only (give an empty vector for regression). Errors: kInvalidArgument (C not > 0 and
// finite, a weight negative or not finite, a class without weight, a cost beyond the range of
// double); rows are named from 1.
absl::StatusOr<Vector> MakeSampleCosts(const CostOptions& options, Index num_samples,
                                       ConstVectorRef targets, ConstVectorRef sample_weights);

}  // namespace mercer
