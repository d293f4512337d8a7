// What a recipe says of the rows of each task: metrics of their own, and whether folds leave them
// enough.
#pragma once

#include <map>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "core/base/process/run_context.h"
#include "core/data/metrics/metrics.h"
#include "core/data/preprocess/prepared_data.h"
#include "core/data/table/dataset.h"
#include "core/training/model/predictor.h"
#include "core/training/targets/output_coding.h"
#include "core/training/targets/task_coding.h"

namespace mercer {

struct TaskOutputs {
  const OutputCoding& coding;
  const TaskCoding& tasks;
};

// Adds the first metric on the rows of each task that has any, and the AUC, for up to 50 tasks:
// "task.ann.accuracy". `prediction` and `labels` are of the rows `rows` of `inputs`. Nothing is
// added for a single task. Errors: kCancelled.
absl::Status AddTaskMetrics(const TaskOutputs& outputs, const Prediction& prediction,
                            const RoleColumn& labels, const PreparedData& inputs,
                            const std::vector<Index>& rows, const RunContext& context,
                            std::vector<Metric>& metrics);

// How many rows each task has, or each class of each task.
class TaskCounts {
 public:
  // All must outlive this. Errors: kCancelled.
  static absl::StatusOr<TaskCounts> Make(const TaskCoding& tasks, const RoleColumn& column,
                                         const RoleColumn& target, bool by_class,
                                         const RunContext& context);

  // Whether each of them keeps a row without those. Errors: kInvalidArgument with reason
  // EMPTY_TASK; kCancelled.
  absl::Status CheckWithout(const std::vector<Index>& held_out, const RunContext& context) const;

 private:
  using Key = std::pair<int, double>;

  TaskCounts(const TaskCoding& tasks, std::vector<int> task_of_row, const RoleColumn& target,
             bool by_class)
      : tasks_(tasks), task_of_row_(std::move(task_of_row)), target_(target), by_class_(by_class) {}
  Key KeyOf(Index row) const;

  const TaskCoding& tasks_;
  std::vector<int> task_of_row_;
  const RoleColumn& target_;
  bool by_class_;
  std::map<Key, Index> counts_;
};

}  // namespace mercer
