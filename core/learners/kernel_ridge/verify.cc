#include "core/learners/kernel_ridge/verify.h"

#include <algorithm>
#include <cmath>
#include <memory>

#include "core/base/status/status_macros.h"
#include "core/kernels/gram/kernel_family.h"
#include "core/training/contract/kernel_sum.h"
#include "core/training/contract/single_task.h"

namespace mercer::kernel_ridge {
namespace {

// The nearest dual whose sum is 0, and which leaves rows of cost 0 out.
Vector MakeFeasible(const Vector& dual, const Vector& costs) {
  const Vector counts = (costs.array() > 0).cast<double>();
  Vector feasible = dual.cwiseProduct(counts);
  feasible -= (feasible.sum() / std::max(counts.sum(), 1.0)) * counts;
  return feasible;
}

}  // namespace

absl::StatusOr<Verification> Verify(const KernelRidgeOptions& options,
                                    const TrainingProblem& problem, const Witness& witness,
                                    RunContext& context) {
  MERCER_ASSIGN_OR_RETURN(const SingleTaskPoint point, ReadSingleTaskPoint(problem, witness));
  const TaskData& task = problem.tasks[0];
  const Vector y = task.targets.col(0);
  const double lambda = options.lambda;
  Matrix duals(y.size(), 2);
  duals << point.dual, MakeFeasible(point.dual, task.costs);
  MERCER_ASSIGN_OR_RETURN(const std::unique_ptr<KernelFamily> family,
                          MakeFamilyOfSum(problem, context));
  const Vector weights = Vector::Ones(family->num_kernels());
  Matrix scores(y.size(), 2);
  MERCER_RETURN_IF_ERROR(KernelSumProduct(problem, *family, duals, scores, context));
  MERCER_ASSIGN_OR_RETURN(const double largest, LargestEntry(*family, weights, context));
  const Vector squared_norms = duals.cwiseProduct(scores).colwise().sum();
  MERCER_RETURN_IF_ERROR(CheckSquaredNorms(problem, duals, squared_norms, largest));
  double primal = 0.5 * lambda * std::max(squared_norms(0), 0.0);
  double conjugate = 0;
  for (Index i = 0; i < y.size(); ++i) {
    const double cost = task.costs(i);
    const double error = y(i) - scores(i, 0) - point.bias;
    primal += cost * error * error;
    conjugate += cost > 0 ? lambda * duals(i, 1) * duals(i, 1) / (4 * cost) : 0.0;
  }
  const double dual = lambda * (y.dot(duals.col(1)) - 0.5 * squared_norms(1) - conjugate);
  return Verification{MakeGapCertificate(primal, dual), scores.col(0).array() + point.bias,
                      std::abs(point.bias) + largest * point.dual.lpNorm<1>()};
}

}  // namespace mercer::kernel_ridge
