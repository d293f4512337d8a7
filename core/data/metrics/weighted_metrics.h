// Measures of prediction quality on rows with known targets, where row i counts `weights(i)` > 0
// times. Null weights: every row counts once.
#pragma once

#include <vector>

#include "absl/status/statusor.h"

#include "core/base/numeric/types.h"
#include "core/base/process/run_context.h"

namespace mercer {

// The share of rows with predicted(i) == actual(i).
double WeightedAccuracy(const std::vector<int>& predicted, const std::vector<int>& actual,
                        const Vector* weights);
// Mean over the classes present in `actual` of the share of their rows predicted right.
double WeightedBalancedAccuracy(const std::vector<int>& predicted, const std::vector<int>& actual,
                                const Vector* weights);
// Area under the ROC curve: probability that a positive row has the larger value, ties counting one
// half. NaN when one class is absent. Errors: kCancelled.
absl::StatusOr<double> WeightedAreaUnderRoc(const ConstVectorRef& values,
                                            const std::vector<bool>& positive,
                                            const Vector* weights, const RunContext& context);
double WeightedRootMeanSquaredError(const ConstVectorRef& predicted, const ConstVectorRef& actual,
                                    const Vector* weights);
// 1 - sum (actual - predicted)^2 / sum (actual - mean)^2; 0 for constant targets predicted exactly
// or not.
double WeightedRSquared(const ConstVectorRef& predicted, const ConstVectorRef& actual,
                        const Vector* weights);

}  // namespace mercer
