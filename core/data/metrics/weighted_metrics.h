// The measures of metrics.h where row i counts `weights(i)` > 0 times. Null weights: every row
// counts once, and the result has the bits of metrics.h.
#pragma once

#include <vector>

#include "absl/status/statusor.h"

#include "core/base/numeric/types.h"
#include "core/base/process/run_context.h"

namespace mercer {

double WeightedAccuracy(const std::vector<int>& predicted, const std::vector<int>& actual,
                        const Vector* weights);
double WeightedBalancedAccuracy(const std::vector<int>& predicted, const std::vector<int>& actual,
                                const Vector* weights);
// Errors: kCancelled.
absl::StatusOr<double> WeightedAreaUnderRoc(const ConstVectorRef& values,
                                            const std::vector<bool>& positive,
                                            const Vector* weights, const RunContext& context);
double WeightedRootMeanSquaredError(const ConstVectorRef& predicted, const ConstVectorRef& actual,
                                    const Vector* weights);
double WeightedRSquared(const ConstVectorRef& predicted, const ConstVectorRef& actual,
                        const Vector* weights);

}  // namespace mercer
