#include "core/learners/svm/verify.h"

#include <algorithm>
#include <memory>

#include "core/base/status_macros.h"
#include "core/kernels/kernel_family.h"
#include "core/objectives/loss.h"
#include "core/solvers/svm_certificate.h"
#include "core/training/single_task.h"

namespace mercer::svm {

absl::StatusOr<Certificate> Verify(const SvmOptions& options, const TrainingProblem& problem,
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
                          MakeExactKernelFamily(task.inputs, task.rows, problem.kernels, context));
  // The function of the model, and the feasible dual; the same but for rounding when the learner
  // did its work.
  const Index columns = feasible == point.dual ? 1 : 2;
  Matrix duals(feasible.size(), columns);
  duals.col(0) = point.dual;
  duals.col(columns - 1) = feasible;
  Matrix scores(feasible.size(), columns);
  MERCER_RETURN_IF_ERROR(
      family->CombinedProduct(Vector::Ones(family->num_kernels()), duals, scores, context));
  const double squared_norm = std::max(point.dual.dot(scores.col(0)), 0.0);
  const double primal =
      0.5 * squared_norm + loss->TotalValue(targets, costs, scores.col(0), point.bias);
  MERCER_ASSIGN_OR_RETURN(const SvmCertificate lower,
                          CertifySvm(*loss, targets, costs, feasible, scores.col(columns - 1)));
  return MakeGapCertificate(primal, lower.dual);
}

}  // namespace mercer::svm
