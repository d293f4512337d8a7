// Several data sets as the tasks of one problem.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"

#include "core/base/process/run_context.h"
#include "core/data/table/dataset.h"

namespace mercer {

// The role column that says which task a row is of.
inline constexpr char kJoinedTaskColumn[] = "task";

struct NamedTask {
  std::string name;
  const Dataset* rows = nullptr;
};

// The rows of all tasks, one after the other, in memory, with a column of the role task that holds
// their names. Columns are found by their names and stand as in the first; a sparse block is as
// wide as the widest. Errors: kInvalidArgument with reason DIFFERENT_COLUMNS that names the task
// and what it has or lacks against the first (a block, a column of it, a column with a role,
// another type), or what no task may have (square blocks, a task column, a column of that name);
// kResourceExhausted with reason JOINED_TASKS_TOO_LARGE above `limit_bytes`; kCancelled.
absl::StatusOr<Dataset> JoinTasks(const std::vector<NamedTask>& tasks, size_t limit_bytes,
                                  const RunContext& context);
// What JoinTasks would answer but for the values of dense blocks, which have a size and no memory:
// they must not be read.
absl::StatusOr<Dataset> ShapeOfJoinedTasks(const std::vector<NamedTask>& tasks, size_t limit_bytes);

}  // namespace mercer
