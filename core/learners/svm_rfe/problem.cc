#include "core/learners/svm_rfe/problem.h"

#include <memory>

#include "absl/strings/str_cat.h"

#include "core/base/process/row_vectors.h"
#include "core/base/status/errors.h"
#include "core/base/status/status_macros.h"
#include "core/learners/svm_rfe/elimination.h"
#include "core/objectives/loss.h"
#include "core/training/contract/input_columns.h"
#include "core/training/contract/single_task.h"
#include "core/training/run/split_outputs.h"

namespace mercer::svm_rfe {
namespace {

constexpr double kMaxRisk = 1e120;  // energies are its square and more

}  // namespace

absl::StatusOr<std::vector<SvmProblem>> ReadMachines(const SvmRfeOptions& options,
                                                     const TrainingProblem& problem) {
  const Index outputs = problem.tasks.empty() ? 1 : problem.tasks[0].targets.cols();
  for (Index o = 0; o < outputs; ++o) {
    MERCER_RETURN_IF_ERROR(outputs > 1 ? CheckTaskRows(SplitOutput(problem, o))
                                       : CheckTaskRows(problem));
  }
  const TaskData& task = problem.tasks[0];
  FieldViolations violations;
  violations.Check(problem.kind == TargetKind::kClassification, "target_kind",
                   "svm_rfe is for classes");
  violations.Check(options.C * SumOfRows(task.costs) <= kMaxRisk, "C",
                   absl::StrCat("is ", options.C, ", too large: sums of squares overflow"));
  violations.Check(CountInputs(problem) > 0, "blocks", "there are no columns to choose from");
  MERCER_RETURN_IF_ERROR(violations.ToStatus());
  MERCER_RETURN_IF_ERROR(CheckOptions(options, CountInputs(problem)));
  MERCER_RETURN_IF_ERROR(CheckBothClasses(task.targets, task.costs));
  MERCER_ASSIGN_OR_RETURN(std::shared_ptr<const Loss> loss, MakeLoss(LossKind::kHinge));
  return MakeMachines(task, loss, options.C);
}

}  // namespace mercer::svm_rfe
