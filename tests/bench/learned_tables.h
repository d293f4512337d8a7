// Tables of files as the benchmarks of whole trainings learn from them.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"

#include "core/base/numeric/random.h"
#include "core/base/status/status_macros.h"
#include "core/io/text/readers.h"
#include "core/training/recipe/recipe.h"

namespace mercer {

struct Table {
  std::string name;
  Dataset data;
  TargetKind kind = TargetKind::kClassification;
};

// A table's last column is what is to be learned: a number when it is called "target", classes
// otherwise. Cells may be missing.
inline absl::StatusOr<Table> ReadTable(const std::string& path) {
  MERCER_ASSIGN_OR_RETURN(std::unique_ptr<ByteSource> file, OpenFileSource(path));
  const auto source = MakeInflatingSource(std::move(file), size_t{8} << 30);
  CsvOptions options;
  options.allow_missing = true;
  MERCER_ASSIGN_OR_RETURN(Dataset data, ReadCsv(*source, options));
  FeatureBlock& block = data.blocks.front();
  const Index columns = block.values.cols() - 1;
  Table table;
  table.name = path.substr(path.find_last_of('/') + 1);
  table.kind =
      block.columns.back().name == "target" ? TargetKind::kRegression : TargetKind::kClassification;
  data.role_columns.push_back(
      {ColumnRole::kTarget, block.columns.back(), block.values.view().col(columns)});
  block.columns.pop_back();
  block.values = SharedMatrix(RowMatrix(block.values.view().leftCols(columns)));
  table.data = std::move(data);
  return table;
}

// Leaves so many rows, drawn at random, of more.
inline void DrawRows(Index rows, Dataset& data) {
  if (data.rows <= rows) {
    return;
  }
  std::vector<Index> order(static_cast<size_t>(data.rows));
  for (size_t i = 0; i < order.size(); ++i) {
    order[i] = static_cast<Index>(i);
  }
  RandomStream(1, "rows").Shuffle(order);
  order.resize(static_cast<size_t>(rows));
  data.rows = rows;
  for (FeatureBlock& block : data.blocks) {
    block.values = SharedMatrix(RowMatrix(block.values.view()(order, Eigen::all)));
  }
  for (RoleColumn& column : data.role_columns) {
    column.values = Vector(column.values(order));
  }
}

}  // namespace mercer
