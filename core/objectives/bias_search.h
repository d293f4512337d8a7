// The minimisers of a convex piecewise linear function of one number.
#pragma once

#include "absl/status/statusor.h"

#include "core/base/process/run_context.h"
#include "core/objectives/loss.h"
#include "core/objectives/step_search.h"

namespace mercer {

// All minimisers of the function whose slope is `slope` to the left of all jumps and rises by
// `jumps`. A slope of magnitude below 1e-13 times the sum of |slope| and of all jumps counts as 0.
// An end without a jump is infinite. Errors: kCancelled.
absl::StatusOr<BiasInterval> MinimizePiecewiseLinear(double slope, const RowSteps& jumps,
                                                     const RunContext& context);

// The interval with its midpoint chosen; the finite end when only one is, 0 for the whole line.
BiasInterval MakeBiasInterval(double low, double high);

}  // namespace mercer
