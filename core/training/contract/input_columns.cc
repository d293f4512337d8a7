#include "core/training/contract/input_columns.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

#include "core/base/status/status_macros.h"
#include "core/features/feature_rows.h"

namespace mercer {
namespace {

constexpr double kMaxValue = 1e100;  // squares of columns are finite

}  // namespace

Index CountInputs(const TrainingProblem& problem) {
  Index count = 0;
  for (const PreparedBlock& block : problem.tasks[0].inputs->blocks) {
    count += block.values.cols();
  }
  return count;
}

std::vector<std::string> InputNames(const TrainingProblem& problem) {
  std::vector<std::string> names;
  for (const PreparedBlock& block : problem.tasks[0].inputs->blocks) {
    for (size_t c = 0; c < static_cast<size_t>(block.values.cols()); ++c) {
      const bool has_name = c < block.sources.size() && !block.sources[c].empty();
      names.push_back(has_name ? block.sources[c] : absl::StrCat("column ", names.size() + 1));
    }
  }
  return names;
}

absl::StatusOr<Matrix> ReadColumns(const TrainingProblem& problem, const std::vector<Index>& of,
                                   RunContext& context) {
  const FeatureRows rows(problem.tasks[0].inputs, of);
  Matrix columns(rows.size(), rows.num_inputs());
  RowMatrix buffer;
  for (Index begin = 0; begin < rows.size(); begin += rows.chunk_rows()) {
    MERCER_RETURN_IF_ERROR(context.CheckCancelled());
    const Index end = std::min(begin + rows.chunk_rows(), rows.size());
    columns.middleRows(begin, end - begin) = rows.Read(begin, end, buffer);
  }
  if (!(columns.cwiseAbs().maxCoeff() <= kMaxValue)) {
    return absl::InvalidArgumentError(
        "the values of a column are too large: their squares overflow");
  }
  return columns;
}

}  // namespace mercer
