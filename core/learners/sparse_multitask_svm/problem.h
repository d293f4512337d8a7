// What options and data make of the problem: blocks, norm, costs.
#pragma once

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"

#include "core/base/numeric/types.h"
#include "core/base/process/run_context.h"
#include "core/kernels/gram/kernel_family.h"
#include "core/learners/sparse_multitask_svm/options.h"
#include "core/objectives/task_norm.h"
#include "core/solvers/multitask/multitask_problem.h"
#include "core/training/contract/problem.h"

namespace mercer::sparse_multitask_svm {

// Kernels that are linear in columns of which no two share any: their functions are those of the
// columns.
struct ColumnLayout {
  std::vector<std::pair<Index, Index>> columns;  // feature block and column there
  std::vector<Index> block_of;                   // the kernel that reads it

  // The column's place among those of all feature blocks side by side.
  std::vector<Index> Inputs(const PreparedData& inputs) const;
};
// Nothing where some kernel is of another kind. Errors: kInvalidArgument (a block or a column that
// is not there).
absl::StatusOr<std::optional<ColumnLayout>> FindColumns(const TrainingProblem& problem);

// The factors of the kernels' scaling by the rows of all tasks; empty where each task has its own.
// Errors: kInvalidArgument naming the kernel, when it is constant there; kCancelled.
absl::StatusOr<Vector> SharedScales(const SparseMultitaskSvmOptions& options,
                                    const TrainingProblem& problem,
                                    const std::optional<ColumnLayout>& layout, RunContext& context);
// Those of a task: the shared ones, or if these are empty those of its rows. Errors: as above.
absl::StatusOr<Vector> ScalesOfColumns(const ColumnLayout& layout, const Vector& shared,
                                       const TaskData& task, const std::vector<KernelSpec>& kernels,
                                       RunContext& context);
// The kernels at the rows of a task, scaled so. Errors: those of MakeExactKernelFamily.
absl::StatusOr<std::unique_ptr<KernelFamily>> KernelsOfTask(const TaskData& task,
                                                            const Vector& shared,
                                                            const std::vector<KernelSpec>& kernels,
                                                            RunContext& context);

// Whether the options go together and fit the problem, whose rows have been checked. Errors:
// kInvalidArgument naming the field.
absl::Status CheckOptions(const SparseMultitaskSvmOptions& options, const TrainingProblem& problem);

// By what the costs of each task's rows are multiplied.
Vector CostFactors(const SparseMultitaskSvmOptions& options, const TrainingProblem& problem);

// The penalty, or for p below 1 that of the first convex problem. Errors: kInvalidArgument.
absl::StatusOr<TaskNorm> NormOf(const SparseMultitaskSvmOptions& options);

// Kernels at the rows of the tasks, and the rest. Errors: those of NormOf and of kernels;
// kCancelled.
struct PreparedProblem {
  std::optional<ColumnLayout> layout;
  MultitaskProblem problem;
  Matrix scales;  // tasks x kernels: factors of the kernels' scaling
};
absl::StatusOr<PreparedProblem> PrepareProblem(const SparseMultitaskSvmOptions& options,
                                               const TrainingProblem& problem, RunContext& context);

}  // namespace mercer::sparse_multitask_svm
