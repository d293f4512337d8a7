#include "client/cpp/cli/task_flags.h"

namespace mercer::client {
namespace {

constexpr char kOwn[] = "own";
constexpr char kMeanIfUnknown[] = "mean_if_unknown";
constexpr char kMean[] = "mean";

}  // namespace

void AddTaskFlags(CLI::App& command, TaskFlags& flags) {
  command.add_option(
      "--task", flags.task,
      "Models of several tasks: that of all rows; default: the column of the tasks says it");
  command
      .add_option("--task-rule", flags.rule,
                  "Models of several tasks: own predicts each row by its task, which must be one "
                  "of the model's; mean_if_unknown others by the mean over all tasks; mean all "
                  "rows so, which then need not say their task")
      ->check(CLI::IsMember({kOwn, kMeanIfUnknown, kMean}))
      ->capture_default_str();
}

v1::TaskRule RuleOf(const TaskFlags& flags) {
  return flags.rule == kMean            ? v1::TASK_RULE_MEAN
         : flags.rule == kMeanIfUnknown ? v1::TASK_RULE_MEAN_IF_UNKNOWN
                                        : v1::TASK_RULE_OWN;
}

}  // namespace mercer::client
