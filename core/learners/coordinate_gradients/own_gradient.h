// Functions whose gradient is their own: f is the gradient of f_0, and |f_0|^2 the penalty. Of a
// Gaussian G by its derivatives (the Hessian kernel), of a linear kernel f_0(x) = w'x with f = w.
#pragma once

#include <memory>

#include "absl/status/statusor.h"

#include "core/base/numeric/types.h"
#include "core/base/process/run_context.h"
#include "core/learners/coordinate_gradients/options.h"
#include "core/learners/coordinate_gradients/problem.h"
#include "core/solvers/gradients/pair_kernel.h"
#include "core/solvers/gradients/pair_solver.h"
#include "core/training/contract/learner.h"
#include "core/training/contract/problem.h"
#include "core/training/model/trained_point.h"

namespace mercer::coordinate_gradients {

// Whether the kernels have derivatives that are known here: one Gaussian, or one linear kernel, of
// all columns and as it is. Violations are named "own_gradient".
void CheckOwnGradient(const TrainingProblem& problem, FieldViolations& violations);

// The machine of the pairs, or, of a linear kernel, where all pairs of a row have one prediction, of
// the rows.
struct OwnGradientMachine {
  PairMachine machine;
  std::unique_ptr<PairKernel> kernel;
};
// Of prepared data that must outlive it. Errors: kCancelled.
absl::StatusOr<OwnGradientMachine> MakeOwnGradientMachine(const TrainingProblem& problem,
                                                          const PreparedProblem& prepared,
                                                          RunContext& context);

// The number of dual variables of the options' problem, of its own gradient or not.
inline Index NumDuals(const TrainingProblem& problem, const PreparedProblem& prepared,
                      const CoordinateGradientsOptions& options) {
  const bool of_rows = options.own_gradient && problem.kernels[0].type == KernelType::kLinear;
  return of_rows ? prepared.problem.num_rows() : prepared.problem.num_pairs();
}

// The function of a dual, with its tables: ranking of the columns by the norms of the derivatives,
// how these vary together over the rows. Errors: kCancelled, kInternal.
absl::StatusOr<TrainedPoint> OwnGradientPoint(const CoordinateGradientsOptions& options,
                                              const TrainingProblem& problem,
                                              const PreparedProblem& prepared, const Vector& dual,
                                              RunContext& context);

// Bounds, values and gradients at all rows, from the data and the dual alone. Errors: kCancelled.
absl::StatusOr<Verification> VerifyOwnGradient(const TrainingProblem& problem,
                                               const PreparedProblem& prepared, Vector dual,
                                               RunContext& context);

}  // namespace mercer::coordinate_gradients
