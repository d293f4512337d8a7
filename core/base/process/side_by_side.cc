#include "core/base/process/side_by_side.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <vector>

namespace mercer {

absl::Status SideBySide(Index count, RunContext& context,
                        const std::function<absl::Status(Index, RunContext&)>& work) {
  if (count == 1) {
    return work(0, context);
  }
  const Index threads = context.parallel().num_threads();
  std::vector<absl::Status> results(static_cast<size_t>(count));
  context.parallel().ForBlocks(count, 1, [&](Index i, Index /*end*/) {
    absl::Status& result = results[static_cast<size_t>(i)];
    result = context.CheckCancelled();
    if (result.ok()) {
      const Index share = (i + 1) * threads / count - i * threads / count;
      RunContext own = context.WithThreads(static_cast<int>(share));
      own.set_stage_callback([&context](std::string_view stage, std::optional<double> /*done*/) {
        context.ReportStage(stage);
      });
      result = work(i, own);
    }
  });
  const auto first = [&](const auto& counts) {
    const auto found = std::find_if(results.begin(), results.end(), counts);
    return found == results.end() ? absl::OkStatus() : *found;
  };
  const absl::Status error =
      first([](const absl::Status& one) { return !one.ok() && !absl::IsCancelled(one); });
  return !error.ok() ? error : first([](const absl::Status& one) { return !one.ok(); });
}

}  // namespace mercer
