#include "core/data/table/dataset.h"

#include <algorithm>
#include <utility>

namespace mercer {
namespace {

template <typename Named>
const Named* FindByName(const std::vector<Named>& all, std::string_view name) {
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const Named& one) { return one.name == name; });
  return found == all.end() ? nullptr : &*found;
}

SharedMatrix SelectMatrixRows(const SharedMatrix& values, const std::vector<Index>& rows) {
  RowMatrix selected(static_cast<Index>(rows.size()), values.cols());
  const auto view = values.view();
  for (size_t i = 0; i < rows.size(); ++i) {
    selected.row(static_cast<Index>(i)) = view.row(rows[i]);
  }
  return SharedMatrix(std::move(selected));
}

SparseRows SelectSparseRows(const SparseRows& sparse, const std::vector<Index>& rows) {
  SparseRows selected;
  selected.columns = sparse.columns;
  for (const Index row : rows) {
    const auto begin = sparse.row_starts[static_cast<size_t>(row)];
    const auto end = sparse.row_starts[static_cast<size_t>(row) + 1];
    selected.column_indices.insert(selected.column_indices.end(),
                                   sparse.column_indices.begin() + begin,
                                   sparse.column_indices.begin() + end);
    selected.values.insert(selected.values.end(), sparse.values.begin() + begin,
                           sparse.values.begin() + end);
    selected.row_starts.push_back(static_cast<int64_t>(selected.values.size()));
  }
  return selected;
}

}  // namespace

SharedMatrix::SharedMatrix(RowMatrix values) : rows_(values.rows()), columns_(values.cols()) {
  auto owner = std::make_shared<const RowMatrix>(std::move(values));
  data_ = owner->data();
  owner_ = std::move(owner);
}

SharedMatrix::SharedMatrix(std::shared_ptr<const void> owner, const double* data, Index rows,
                           Index columns)
    : owner_(std::move(owner)), data_(data), rows_(rows), columns_(columns) {}

SharedMatrix SharedMatrix::InFile(std::shared_ptr<const void> owner, const double* data, Index rows,
                                  Index columns) {
  SharedMatrix matrix(std::move(owner), data, rows, columns);
  matrix.in_file_ = true;
  return matrix;
}

std::string_view ColumnRoleName(ColumnRole role) {
  switch (role) {
    case ColumnRole::kFeature:
      return "feature";
    case ColumnRole::kTarget:
      return "target";
    case ColumnRole::kTask:
      return "task";
    case ColumnRole::kWeight:
      return "weight";
    case ColumnRole::kGroup:
      return "group";
    case ColumnRole::kSplit:
      return "split";
    case ColumnRole::kIgnored:
      return "ignored";
  }
  return "unknown";
}

const FeatureBlock* Dataset::FindBlock(std::string_view name) const {
  return FindByName(blocks, name);
}

const SquareBlock* Dataset::FindSquare(std::string_view name) const {
  return FindByName(squares, name);
}

const RoleColumn* Dataset::FindColumn(ColumnRole role, std::string_view name) const {
  for (const RoleColumn& column : role_columns) {
    if (column.role == role && (name.empty() || column.schema.name == name)) {
      return &column;
    }
  }
  return nullptr;
}

size_t Dataset::MemoryBytes() const {
  const auto held = [](const SharedMatrix& values) {
    return values.in_file() ? 0 : static_cast<size_t>(values.rows() * values.cols());
  };
  size_t num_values = 0;
  size_t bytes = 0;
  for (const FeatureBlock& block : blocks) {
    if (!block.is_sparse) {
      num_values += held(block.values);
      continue;
    }
    num_values += block.sparse.values.size();
    bytes += block.sparse.column_indices.size() * sizeof(int32_t) +
             block.sparse.row_starts.size() * sizeof(int64_t);
  }
  for (const SquareBlock& square : squares) {
    num_values += held(square.values);
  }
  for (const RoleColumn& column : role_columns) {
    num_values += static_cast<size_t>(column.values.size());
  }
  return bytes + num_values * sizeof(double);
}

Dataset SelectRows(const Dataset& dataset, const std::vector<Index>& rows) {
  Dataset selected;
  selected.rows = static_cast<Index>(rows.size());
  for (const FeatureBlock& block : dataset.blocks) {
    FeatureBlock& added = selected.blocks.emplace_back();
    added.name = block.name;
    added.columns = block.columns;
    added.is_sparse = block.is_sparse;
    if (block.is_sparse) {
      added.sparse = SelectSparseRows(block.sparse, rows);
    } else {
      added.values = SelectMatrixRows(block.values, rows);
    }
  }
  for (const SquareBlock& square : dataset.squares) {
    selected.squares.push_back({square.name, square.kind, SelectMatrixRows(square.values, rows)});
  }
  for (const RoleColumn& column : dataset.role_columns) {
    Vector values(selected.rows);
    for (size_t i = 0; i < rows.size(); ++i) {
      values(static_cast<Index>(i)) = column.values(rows[i]);
    }
    selected.role_columns.push_back({column.role, column.schema, std::move(values)});
  }
  return selected;
}

}  // namespace mercer
