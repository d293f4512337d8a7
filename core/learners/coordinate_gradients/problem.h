// What options and data make of the problem: rows that count, pairs, the kernel matrix.
#pragma once

#include <memory>
#include <vector>

#include "absl/status/statusor.h"

#include "core/base/numeric/types.h"
#include "core/base/process/run_context.h"
#include "core/kernels/gram/kernel_family.h"
#include "core/learners/coordinate_gradients/options.h"
#include "core/solvers/gradients/gradient_problem.h"
#include "core/training/contract/problem.h"

namespace mercer::coordinate_gradients {

// Whether the options fit the problem, whose rows are checked too. Errors: kInvalidArgument, naming
// the field, or with a reason of CheckRowsAndKernels or ONE_CLASS.
absl::Status CheckProblem(const CoordinateGradientsOptions& options,
                          const TrainingProblem& problem);

// Rows of cost 0 take no part. A pair costs what the row does whose target it has.
struct PreparedProblem {
  std::vector<Index> kept;               // positions of the task's rows
  std::unique_ptr<KernelFamily> family;  // at all rows of the task
  GradientProblem problem;               // of the kept ones
};
// Errors: kInvalidArgument, naming the field; those of the kernels; kCancelled.
absl::StatusOr<PreparedProblem> PrepareProblem(const CoordinateGradientsOptions& options,
                                               const TrainingProblem& problem, RunContext& context);

inline constexpr Index kUsualNeighbors = 8;
inline constexpr Index kUsualGaussianNeighbors = 50;

inline CoordinateWeights KindOf(const CoordinateGradientsOptions& options) {
  return options.column_weights == ColumnWeights::kFixed ? CoordinateWeights::kFixed
                                                         : CoordinateWeights::kSimplex;
}

// The columns whose functions are not 0.
std::vector<Index> ColumnsOf(const GradientPoint& at);
// Of f_0 and then the functions of these columns, each sum_i coefficients(i, .) G(x_i, .) over all
// rows of the task.
absl::StatusOr<Matrix> CoefficientsOf(const PreparedProblem& prepared, const GradientPoint& at,
                                      const RunContext& context);

}  // namespace mercer::coordinate_gradients
