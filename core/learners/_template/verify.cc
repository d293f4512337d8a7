#include "core/learners/_template/verify.h"

#include "absl/strings/str_cat.h"

#include "core/base/status/status_macros.h"
#include "core/kernels/gram/kernel_family.h"
#include "core/training/contract/kernel_sum.h"
#include "core/training/contract/single_task.h"

namespace mercer::template_learner {

absl::StatusOr<Verification> Verify(const TemplateLearnerOptions& options,
                                    const TrainingProblem& problem, const Witness& witness,
                                    RunContext& context) {
  const TaskData& task = problem.tasks[0];
  const Vector y = task.targets.col(0);
  const Vector a = witness.tasks[0].dual.col(0);
  MERCER_ASSIGN_OR_RETURN(const std::unique_ptr<KernelFamily> family,
                          MakeFamilyOfSum(problem, context));
  const Vector weights = Vector::Ones(family->num_kernels());
  Matrix values(a.size(), 1);  // K a
  MERCER_RETURN_IF_ERROR(KernelSumProduct(problem, *family, a, values, context));
  MERCER_ASSIGN_OR_RETURN(const double largest, LargestEntry(*family, weights, context));
  const double squared_norm = a.dot(values.col(0));
  double loss = 0;
  double conjugate = 0;
  for (Index i = 0; i < a.size(); ++i) {
    const double weight = options.C * task.costs(i);
    const double error = y(i) - values(i, 0);
    loss += weight * error * error;
    if (weight > 0) {
      conjugate += a(i) * a(i) / (4 * weight);
    } else if (a(i) != 0) {
      return absl::FailedPreconditionError(
          absl::StrCat("training row ", i + 1, " has cost 0 and a dual variable"));
    }
  }
  return Verification{
      MakeGapCertificate(squared_norm / 2 + loss, a.dot(y) - squared_norm / 2 - conjugate),
      values.col(0), largest * a.lpNorm<1>()};
}

}  // namespace mercer::template_learner
