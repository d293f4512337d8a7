#include "core/learners/svm/verify.h"

#include <algorithm>
#include <cmath>
#include <memory>

#include "core/base/process/row_vectors.h"
#include "core/base/status/status_macros.h"
#include "core/kernels/gram/kernel_family.h"
#include "core/objectives/loss.h"
#include "core/training/contract/kernel_sum.h"
#include "core/training/contract/single_task.h"
#include "core/training/run/verification.h"

namespace mercer::svm {

absl::StatusOr<Verification> Verify(const SvmOptions& options, const TrainingProblem& problem,
                                    const Witness& witness, RunContext& context) {
  MERCER_ASSIGN_OR_RETURN(const SingleTaskPoint point, ReadSingleTaskPoint(problem, witness));
  const TaskData& task = problem.tasks[0];
  const bool classification = problem.kind == TargetKind::kClassification;
  MERCER_ASSIGN_OR_RETURN(
      const std::unique_ptr<Loss> loss,
      MakeLoss(classification ? LossKind::kHinge : LossKind::kEpsilonInsensitive, options.epsilon));
  const Vector targets = task.targets.col(0);
  const Vector costs = options.C * task.costs;
  Vector feasible = point.dual;
  loss->RepairDual(targets, costs, true, feasible);

  MERCER_ASSIGN_OR_RETURN(const std::unique_ptr<KernelFamily> family,
                          MakeFamilyOfSum(problem, context));
  // The dual of the model's function, and the feasible one: the same but for rounding when the
  // learner did its work, and then one product serves both.
  const Index columns = feasible == point.dual ? 1 : 2;
  Matrix duals(feasible.size(), columns);
  duals.col(0) = point.dual;
  duals.col(columns - 1) = feasible;
  const Vector weights = Vector::Ones(family->num_kernels());
  Matrix scores(feasible.size(), columns);
  MERCER_RETURN_IF_ERROR(KernelSumProduct(problem, *family, duals, scores, context));
  MERCER_ASSIGN_OR_RETURN(const double largest, LargestEntry(*family, weights, context));
  Vector squared_norms(columns);
  for (Index j = 0; j < columns; ++j) {
    squared_norms(j) = DotOfRows(duals.col(j), scores.col(j));
  }
  MERCER_RETURN_IF_ERROR(CheckSquaredNorms(problem, duals, squared_norms, largest));
  MERCER_ASSIGN_OR_RETURN(const double risk,
                          loss->TotalValue(targets, costs, scores.col(0), point.bias, context));
  const double primal = 0.5 * std::max(squared_norms(0), 0.0) + risk;
  MERCER_ASSIGN_OR_RETURN(const double linear, loss->DualValue(targets, costs, feasible, context));
  const double dual = BestValueOnRay(linear, std::max(squared_norms(columns - 1), 0.0),
                                     LargestScaleInBox(*loss, targets, costs, feasible));
  return Verification{MakeGapCertificate(primal, dual), scores.col(0).array() + point.bias,
                      std::abs(point.bias) + largest * AbsoluteSumOfRows(point.dual)};
}

}  // namespace mercer::svm
