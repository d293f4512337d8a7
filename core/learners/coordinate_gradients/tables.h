// What the model tells of the columns: their ranking, and how the first of them vary together.
#pragma once

#include <functional>
#include <vector>

#include "absl/status/statusor.h"

#include "core/base/process/run_context.h"
#include "core/base/status/byte_count.h"
#include "core/learners/coordinate_gradients/options.h"
#include "core/solvers/gradients/gradient_problem.h"
#include "core/training/contract/problem.h"
#include "core/training/tables/model_table.h"

namespace mercer::coordinate_gradients {

// How the gradients in these columns vary together, in the learner's unit.
using CovarianceOf = std::function<absl::StatusOr<Matrix>(const std::vector<Index>& columns)>;

// Of the norms of the gradient in all columns, and their energies S_l, by which equal norms are
// ranked. Errors: those of `covariance_of`.
absl::StatusOr<std::vector<ModelTable>> TablesOfNorms(const CoordinateGradientsOptions& options,
                                                      const TrainingProblem& problem,
                                                      const Vector& norms, const Vector& energies,
                                                      const CovarianceOf& covariance_of);
// Errors: kCancelled.
absl::StatusOr<std::vector<ModelTable>> TablesOf(const CoordinateGradientsOptions& options,
                                                 const TrainingProblem& problem,
                                                 const GradientProblem& gradients,
                                                 const GradientPoint& at, RunContext& context);
// Upper bound on the bytes of the tables.
ByteCount TableBytes(const CoordinateGradientsOptions& options, const ProblemShape& shape);

}  // namespace mercer::coordinate_gradients
