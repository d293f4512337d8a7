#include "core/training/targets/task_coding.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

#include "core/base/numeric/index_range.h"
#include "core/base/status/errors.h"
#include "core/base/status/status_macros.h"
#include "core/training/targets/label_names.h"

namespace mercer {
namespace {

constexpr size_t kNamesInErrors = 10;

absl::Status BadTask(const std::string& column, Index row, const std::string& what) {
  return WithReason(
      absl::InvalidArgumentError(absl::StrCat("row ", row + 1, ", column '", column, "': ", what)),
      "BAD_TASK", {{"row", absl::StrCat(row + 1)}, {"column", column}});
}

std::string UnknownTask(const std::vector<std::string>& names) {
  const auto shown = static_cast<std::ptrdiff_t>(std::min(names.size(), kNamesInErrors));
  return absl::StrCat("the model knows no such task; its tasks are ",
                      absl::StrJoin(names.begin(), names.begin() + shown, ", "),
                      names.size() > kNamesInErrors ? ", ..." : "",
                      "; the task rule mean_if_unknown has the mean over all tasks for others");
}

}  // namespace

std::string OutputOfTask(const std::string& task, const std::string& output) {
  return absl::StrCat(task, ": ", output);
}

absl::StatusOr<TaskCoding> TaskCoding::FromColumn(const RoleColumn& column,
                                                  const std::vector<Index>& rows,
                                                  const RunContext& context) {
  for (const Index row : rows) {
    if (std::isnan(column.values(row))) {
      return BadTask(column.schema.name, row, "the task is missing");
    }
  }
  MERCER_ASSIGN_OR_RETURN(const std::vector<double> values, DifferentValues(column, rows, context));
  if (values.size() > kMaxTasks) {
    return WithReason(absl::InvalidArgumentError(
                          absl::StrCat("task column '", column.schema.name, "' has ", values.size(),
                                       " tasks; at most ", kMaxTasks, " are allowed")),
                      "TOO_MANY_TASKS", {{"column", column.schema.name}});
  }
  TaskCoding coding;
  coding.column_ = column.schema.name;
  MERCER_ASSIGN_OR_RETURN(coding.names_, SortedLabels(column.schema, values, context));
  return coding;
}

absl::StatusOr<TaskCoding> TaskCoding::FromAllRows(const RoleColumn& column,
                                                   const RunContext& context) {
  const std::vector<Index> all = IndexRange(0, column.values.size());
  return FromColumn(column, all, context);
}

absl::StatusOr<std::vector<int>> TaskCoding::Tasks(const RoleColumn& column,
                                                   const RunContext& context) const {
  return LabelPositions(column, names_, context);
}

absl::StatusOr<std::vector<int>> TaskCoding::ReadTasks(const Dataset& rows, const std::string& task,
                                                       TaskRule rule,
                                                       const RunContext& context) const {
  const bool may_be_unknown = rule == TaskRule::kMeanIfUnknown;
  const auto found = std::find(names_.begin(), names_.end(), task);
  FieldViolations violations;
  if (!has_column()) {
    violations.Check(task.empty(), "task", "is for models of several tasks");
    violations.Check(rule == TaskRule::kOwn, "task_rule", "is for models of several tasks");
  } else if (!task.empty()) {
    violations.Check(rule != TaskRule::kMean, "task",
                     "must be empty: all rows are predicted by the mean");
    violations.Check(found != names_.end() || may_be_unknown, "task", UnknownTask(names_));
  }
  MERCER_RETURN_IF_ERROR(violations.ToStatus());
  if (!has_column()) {
    return std::vector<int>();
  }
  if (rule == TaskRule::kMean || !task.empty()) {
    const int common =
        found != names_.end() ? static_cast<int>(found - names_.begin()) : kMeanOfAll;
    return std::vector<int>(static_cast<size_t>(rows.rows), common);
  }
  const RoleColumn* column = rows.FindColumn(ColumnRole::kTask, column_);
  if (column == nullptr) {
    return WithReason(absl::InvalidArgumentError(
                          absl::StrCat("the model is of several tasks: the column '", column_,
                                       "', which says what task a row is of, is missing")),
                      "BAD_TASK", {{"column", column_}});
  }
  MERCER_ASSIGN_OR_RETURN(std::vector<int> tasks, Tasks(*column, context));
  for (size_t i = 0; i < tasks.size(); ++i) {
    if (tasks[i] >= 0) {
      continue;
    }
    const auto row = static_cast<Index>(i);
    if (!may_be_unknown) {
      return BadTask(column_, row,
                     std::isnan(column->values(row)) ? "the task is missing" : UnknownTask(names_));
    }
    tasks[i] = kMeanOfAll;
  }
  return tasks;
}

bool TaskCoding::HasDifferentNames() const {
  std::vector<std::string> sorted = names_;
  std::sort(sorted.begin(), sorted.end());
  const bool distinct = std::adjacent_find(sorted.begin(), sorted.end()) == sorted.end();
  return distinct && names_.size() <= kMaxTasks && names_.empty() == column_.empty();
}

}  // namespace mercer
