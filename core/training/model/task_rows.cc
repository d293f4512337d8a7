#include "core/training/model/task_rows.h"

#include <string>

#include "absl/strings/str_cat.h"

#include "core/base/process/paced_check.h"
#include "core/base/status/errors.h"
#include "core/base/status/status_macros.h"

namespace mercer {
namespace {

constexpr size_t kMostTasksOfMetrics = 50;
constexpr Index kNumbersPerCountedRow = 256;  // of PacedCheck

// The positions in `rows` of the rows of each task.
std::vector<std::vector<Index>> GroupByTask(const PreparedData& inputs, size_t num_tasks,
                                            const std::vector<Index>& rows) {
  std::vector<std::vector<Index>> groups(num_tasks);
  for (size_t i = 0; i < rows.size(); ++i) {
    const auto task = static_cast<size_t>(inputs.tasks[static_cast<size_t>(rows[i])]);
    groups[task].push_back(static_cast<Index>(i));
  }
  return groups;
}

Prediction PartOf(const Prediction& prediction, const std::vector<Index>& positions) {
  Prediction part;
  part.decision_values = prediction.decision_values(positions, Eigen::all);
  for (const Index position : positions) {
    if (!prediction.classes.empty()) {
      part.classes.push_back(prediction.classes[static_cast<size_t>(position)]);
    }
  }
  return part;
}

}  // namespace

absl::Status AddTaskMetrics(const TaskOutputs& outputs, const Prediction& prediction,
                            const RoleColumn& labels, const PreparedData& inputs,
                            const std::vector<Index>& rows, const RunContext& context,
                            std::vector<Metric>& metrics) {
  const std::vector<std::string>& names = outputs.tasks.names();
  if (!outputs.tasks.has_column() || names.size() > kMostTasksOfMetrics) {
    return absl::OkStatus();
  }
  const std::vector<std::vector<Index>> groups = GroupByTask(inputs, names.size(), rows);
  for (size_t t = 0; t < groups.size(); ++t) {
    MERCER_RETURN_IF_ERROR(context.CheckCancelled());
    const RoleColumn own_labels{labels.role, labels.schema, labels.values(groups[t])};
    MERCER_ASSIGN_OR_RETURN(
        const std::vector<Metric> own,
        EvaluatePrediction(outputs.coding, PartOf(prediction, groups[t]), own_labels, context));
    for (size_t m = 0; m < own.size(); ++m) {
      if (m == 0 || own[m].name == "auc") {
        metrics.push_back({absl::StrCat("task.", names[t], ".", own[m].name), own[m].value});
      }
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<TaskCounts> TaskCounts::Make(const TaskCoding& tasks, const RoleColumn& column,
                                            const RoleColumn& target, bool by_class,
                                            const RunContext& context) {
  MERCER_ASSIGN_OR_RETURN(std::vector<int> task_of_row, tasks.Tasks(column, context));
  TaskCounts made(tasks, std::move(task_of_row), target, by_class);
  PacedCheck check(context);
  for (Index row = 0; row < target.values.size(); ++row) {
    MERCER_RETURN_IF_ERROR(check.After(kNumbersPerCountedRow));
    ++made.counts_[made.KeyOf(row)];
  }
  return made;
}

TaskCounts::Key TaskCounts::KeyOf(Index row) const {
  return {task_of_row_[static_cast<size_t>(row)], by_class_ ? target_.values(row) + 0.0 : 0.0};
}

absl::Status TaskCounts::CheckWithout(const std::vector<Index>& held_out,
                                      const RunContext& context) const {
  std::map<Key, Index> out;
  PacedCheck check(context);
  for (const Index row : held_out) {
    MERCER_RETURN_IF_ERROR(check.After(kNumbersPerCountedRow));
    ++out[KeyOf(row)];
  }
  for (const auto& [key, count] : out) {
    if (count == counts_.at(key)) {
      const std::string& task = tasks_.names()[static_cast<size_t>(key.first)];
      return WithReason(absl::InvalidArgumentError(absl::StrCat(
                            "task '", task, "' of column '", tasks_.column(),
                            "' has no training rows", by_class_ ? " of one of its classes" : "")),
                        "EMPTY_TASK", {{"column", tasks_.column()}, {"task", task}});
    }
  }
  return absl::OkStatus();
}

}  // namespace mercer
