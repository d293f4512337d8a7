// The function of a solution: the values f_0, and the gradient beside them.
#pragma once

#include "absl/status/statusor.h"

#include "core/base/process/run_context.h"
#include "core/learners/coordinate_gradients/options.h"
#include "core/learners/coordinate_gradients/problem.h"
#include "core/solvers/gradients/gradient_problem.h"
#include "core/training/contract/problem.h"
#include "core/training/model/model.h"

namespace mercer::coordinate_gradients {

// A kernel term of f_0, and a gradient term of the columns whose f_l is not 0. Errors: kCancelled,
// kInternal.
absl::StatusOr<ModelFunction> FunctionOf(const CoordinateGradientsOptions& options,
                                         const TrainingProblem& problem,
                                         const PreparedProblem& prepared, const GradientPoint& at,
                                         RunContext& context);

}  // namespace mercer::coordinate_gradients
