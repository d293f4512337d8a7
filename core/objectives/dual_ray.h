// The best multiple of a dual point: how far a lower bound can be raised for nothing.
#pragma once

#include "absl/status/statusor.h"

#include "core/base/numeric/types.h"
#include "core/base/process/run_context.h"
#include "core/objectives/loss.h"

namespace mercer {

// The largest multiple of `dual` inside the box of the loss, at least 1 for a feasible dual;
// infinite when there is no limit (or the dual is zero).
double LargestDualScale(const Loss& loss, ConstVectorRef targets, ConstVectorRef costs,
                        ConstVectorRef dual);
// The same of what may be millions of samples. Errors: kCancelled.
absl::StatusOr<double> LargestDualScale(const Loss& loss, ConstVectorRef targets,
                                        ConstVectorRef costs, ConstVectorRef dual,
                                        const RunContext& context);

struct DualRay {
  double scale = 0;
  double value = 0;
};

// The scale s >= 0 that maximises  loss.DualValue(s dual) - 1/2 s^2 quadratic  for a feasible
// `dual`, and that value, which is not below the one at s = 0. The first term is linear in s for
// piecewise linear losses, a parabola for squared ones, both in closed form; for the logistic loss
// it is concave (concave_maximum.h). `quadratic` >= 0. Errors: kCancelled.
absl::StatusOr<DualRay> MaximizeOnDualRay(const Loss& loss, ConstVectorRef targets,
                                          ConstVectorRef costs, ConstVectorRef dual,
                                          double quadratic, const RunContext& context);

}  // namespace mercer
