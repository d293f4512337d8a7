#include "core/learners/svm_rfe/tables.h"

#include <algorithm>

#include "core/kernels/spec/kernel_labels.h"
#include "core/training/run/ranking_tester.h"

namespace mercer::svm_rfe {

ModelTable RankingTable(const Ranking& ranking, const std::vector<Index>& kept,
                        const std::vector<std::string>& names) {
  ModelTable table;
  table.name = kRankingTable;
  table.title = "columns from the best to the first that was eliminated";
  table.row_axis = "columns";
  table.column_axis = "properties";
  table.columns = {"rank", "squared_weight", kRankedColumn, "selected"};
  const auto count = static_cast<Index>(ranking.removed.size());
  table.values.resize(count, 4);
  for (Index place = 0; place < count; ++place) {
    const Index last = count - 1 - place;
    const Index column = ranking.removed[static_cast<size_t>(last)];
    table.rows.push_back(names[static_cast<size_t>(column)]);
    table.values.row(place) << static_cast<double>(place + 1), ranking.criteria(last),
        static_cast<double>(column + 1),
        std::binary_search(kept.begin(), kept.end(), column) ? 1.0 : 0.0;
  }
  return table;
}

ByteCount TableBytes(const ProblemShape& shape) {
  constexpr size_t kWords = 2000;  // titles and columns
  constexpr size_t kRow = kMaxLabelBytes + sizeof(std::string) + 4 * sizeof(double);
  return ByteCount(kWords) + ByteCount(shape.columns) * ByteCount(kRow);
}

}  // namespace mercer::svm_rfe
