#include "core/training/run/selection_stability.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

#include "core/base/numeric/random.h"
#include "core/base/status/status_macros.h"
#include "core/data/splits/splits.h"

namespace mercer {

void SelectionCounts::Add(const ModelSummary& summary) {
  const auto kernels = static_cast<size_t>(summary.kernel_weights.rows());
  if (trainings == 0) {
    selected.assign(kernels, 0);
  }
  if (selected.size() != kernels) {
    return;
  }
  ++trainings;
  for (size_t k = 0; k < kernels; ++k) {
    selected[k] += (summary.kernel_weights.row(static_cast<Index>(k)).array() != 0).any() ? 1 : 0;
  }
}

ModelTable StabilityTable(const SelectionCounts& counts, const StabilityOptions& options,
                          const ModelSummary& model) {
  ModelTable table;
  table.name = kStabilityTable;
  table.title = absl::StrFormat(
      "how stable the selection is: share of %d trainings on %.6g%% of "
      "the rows that select a kernel",
      counts.trainings, 100 * options.fraction);
  table.row_axis = "kernels";
  table.column_axis = "shares";
  table.rows = model.kernel_names;
  table.columns = {"selected"};
  table.values.resize(static_cast<Index>(counts.selected.size()), 1);
  for (size_t k = 0; k < counts.selected.size(); ++k) {
    table.values(static_cast<Index>(k), 0) =
        static_cast<double>(counts.selected[k]) / static_cast<double>(counts.trainings);
  }
  table.drawing = TableDrawing::kBars;
  return table;
}

absl::StatusOr<TrainingProblem> DrawPart(const TrainingProblem& problem,
                                         const std::vector<int>& classes,
                                         const std::vector<int>& groups, double fraction,
                                         uint64_t number, const RunContext& context) {
  // Classes that are tasks have the same rows, and are drawn with them: by the first that has them.
  std::map<Index, int> task_of;
  const auto tasks = static_cast<int>(problem.tasks.size());
  for (int t = 0; t < tasks; ++t) {
    for (const Index row : problem.tasks[static_cast<size_t>(t)].rows) {
      task_of.try_emplace(row, t);
    }
  }
  std::vector<Index> rows;
  std::vector<int> strata;
  std::vector<int> group_of;
  std::map<int, int> group_numbers;
  for (const auto& [row, task] : task_of) {
    const auto at = static_cast<size_t>(row);
    rows.push_back(row);
    strata.push_back((classes.empty() ? 0 : classes[at]) * tasks + task);
    if (!groups.empty()) {
      const auto next = static_cast<int>(group_numbers.size());
      group_of.push_back(group_numbers.try_emplace(groups[at], next).first->second);
    }
  }
  const uint64_t seed = RandomStream(problem.seed, "stability", number).NextUint64();
  const auto count = static_cast<Index>(rows.size());
  MERCER_ASSIGN_OR_RETURN(const Split split,
                          groups.empty()
                              ? HoldOutSplit(count, 1 - fraction, strata, seed, context)
                              : GroupHoldOutSplit(group_of, 1 - fraction, strata, seed, context));
  std::vector<Index> drawn;
  for (const Index position : split.training) {
    drawn.push_back(rows[static_cast<size_t>(position)]);
  }
  TrainingProblem part = problem;
  for (TaskData& task : part.tasks) {
    std::vector<Index> kept;
    for (size_t i = 0; i < task.rows.size(); ++i) {
      if (std::binary_search(drawn.begin(), drawn.end(), task.rows[i])) {
        kept.push_back(static_cast<Index>(i));
      }
    }
    if (kept.empty()) {
      return absl::InvalidArgumentError(
          absl::StrCat("a part of the rows has none of task '", task.name, "'"));
    }
    task = Narrow(task, kept);
  }
  return part;
}

}  // namespace mercer
