// What the model tells of the columns: their ranking, and how the first of them vary together.
#pragma once

#include <vector>

#include "absl/status/statusor.h"

#include "core/base/process/run_context.h"
#include "core/base/status/byte_count.h"
#include "core/learners/coordinate_gradients/options.h"
#include "core/solvers/gradients/gradient_problem.h"
#include "core/training/contract/problem.h"
#include "core/training/tables/model_table.h"

namespace mercer::coordinate_gradients {

// Errors: kCancelled.
absl::StatusOr<std::vector<ModelTable>> TablesOf(const CoordinateGradientsOptions& options,
                                                 const TrainingProblem& problem,
                                                 const GradientProblem& gradients,
                                                 const GradientPoint& at, RunContext& context);
// Upper bound on the bytes of the tables.
ByteCount TableBytes(const CoordinateGradientsOptions& options, const ProblemShape& shape);

}  // namespace mercer::coordinate_gradients
