// Which task a row belongs to: related problems, each with rows of its own, that one model learns
// together. The tasks are the outputs of its function, of more than two classes each with one after
// the other, and a row is predicted by those of its task.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"

#include "core/base/encoding/saved_fields.h"
#include "core/base/numeric/types.h"
#include "core/base/process/run_context.h"
#include "core/data/table/dataset.h"

namespace mercer {

// By which outputs of a model of several tasks a row is predicted. The mean over all tasks has the
// sign, and the order of rows, of the sum of their values.
enum class TaskRule {
  kOwn,            // by that of its task, which must be known
  kMeanIfUnknown,  // the same; rows of other tasks, or of none, by the mean over all tasks
  kMean,           // by the mean over all tasks
};

// The name of an output of a task, where it has several: "ann: virginica".
std::string OutputOfTask(const std::string& task, const std::string& output);

// Tasks are sorted as classes are: numbers by value, others as byte strings.
class TaskCoding {
 public:
  // All rows are of one task without a name.
  TaskCoding() = default;

  // The tasks of the rows `rows`. Errors: kInvalidArgument (a row without a task, reason BAD_TASK;
  // more than kMaxTasks, reason TOO_MANY_TASKS); kCancelled.
  static absl::StatusOr<TaskCoding> FromColumn(const RoleColumn& column,
                                               const std::vector<Index>& rows,
                                               const RunContext& context);
  static absl::StatusOr<TaskCoding> FromAllRows(const RoleColumn& column,
                                                const RunContext& context);

  static constexpr size_t kMaxTasks = 1000;

  // Whether there is a column that says the tasks, be it of one task.
  bool has_column() const { return !names_.empty(); }
  // The name of the column; empty without one.
  const std::string& column() const { return column_; }
  const std::vector<std::string>& names() const { return names_; }
  // The number of tasks, at least 1.
  Index num_tasks() const { return has_column() ? static_cast<Index>(names_.size()) : 1; }

  // The task of each row of `column`, an index into names(); -1 for tasks that the coding does not
  // know, and for none. Errors: kCancelled.
  absl::StatusOr<std::vector<int>> Tasks(const RoleColumn& column, const RunContext& context) const;
  // In place of a task: the mean over all of them.
  static constexpr int kMeanOfAll = -1;

  // The task of each row of `rows`, or kMeanOfAll, as the rule says: that of its column, or `task`
  // unless that is empty. Without a column here nothing, and `task` must be empty, the rule kOwn.
  // Errors: kInvalidArgument naming the field "task" or "task_rule", or with reason BAD_TASK (no
  // such column; a row without a task, or with one that is not known); kCancelled.
  absl::StatusOr<std::vector<int>> ReadTasks(const Dataset& rows, const std::string& task,
                                             TaskRule rule, const RunContext& context) const;

  static void VisitFields(auto& visit, auto& self) {
    visit(self.column_, self.names_);
    visit.Require([&] { return self.HasDifferentNames(); });
  }

 private:
  // Whether names of tasks come with a column, not too many and no two alike.
  bool HasDifferentNames() const;

  std::string column_;
  std::vector<std::string> names_;
};

}  // namespace mercer
