#include "core/training/contract/problem.h"

namespace mercer {
namespace {

// Whoever adds a field to a task or a problem is told by the compiler to say here what its
// sub-problems have of it.
TaskData NarrowTo(const TaskData& task, const std::vector<Index>& kept, Index first_output,
                  Index num_outputs) {
  const auto& [name, inputs, rows, targets, costs] = task;
  TaskData narrowed{name,
                    inputs,
                    {},
                    targets.middleCols(first_output, num_outputs)(kept, Eigen::all),
                    costs(kept)};
  narrowed.rows.reserve(kept.size());
  for (const Index position : kept) {
    narrowed.rows.push_back(rows[static_cast<size_t>(position)]);
  }
  return narrowed;
}

}  // namespace

TaskData Narrow(const TaskData& task, const std::vector<Index>& kept) {
  return NarrowTo(task, kept, 0, task.targets.cols());
}

TaskData Narrow(const TaskData& task, const std::vector<Index>& kept, Index output) {
  return NarrowTo(task, kept, output, 1);
}

TrainingProblem Narrow(const TrainingProblem& problem, const std::vector<Index>& kept,
                       Index output) {
  const auto& [kind, tasks, kernels, unit, seed, relative_gap, kernel_sum] = problem;
  return {kind,      {NarrowTo(tasks[0], kept, output, 1)}, kernels, unit, seed, relative_gap,
          kernel_sum};
}

}  // namespace mercer
