#include "client/cpp/row_pieces.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>

#include "core/base/status/status_macros.h"

namespace mercer::client {
namespace {

// None when the number of entries is not rows x columns.
std::optional<int64_t> CountMatrixRows(const v1::Matrix& matrix) {
  const auto entries =
      static_cast<int64_t>(matrix.raw().empty() ? static_cast<size_t>(matrix.values_size())
                                                : matrix.raw().size() / sizeof(double));
  const bool agrees = matrix.rows() > 0 && entries % matrix.rows() == 0 &&
                      entries / matrix.rows() == matrix.columns();
  return agrees ? std::optional(matrix.rows()) : std::nullopt;
}

std::optional<int64_t> CountSparseRows(const v1::SparseBlock& sparse) {
  const auto& starts = sparse.row_starts();
  const int64_t entries = sparse.values_size();
  const bool agrees = !starts.empty() && starts[0] == 0 && starts[starts.size() - 1] == entries &&
                      std::is_sorted(starts.begin(), starts.end()) &&
                      sparse.column_indices_size() == entries;
  return agrees ? std::optional<int64_t>(starts.size() - 1) : std::nullopt;
}

int64_t CountColumnRows(const v1::TypedColumn& column) {
  return column.has_numbers() ? column.numbers().values_size() : column.texts().values_size();
}

template <typename Field>
void SliceField(const Field& from, int64_t begin, int64_t count, Field& to) {
  to.Assign(from.begin() + static_cast<ptrdiff_t>(begin),
            from.begin() + static_cast<ptrdiff_t>(begin + count));
}

void SliceMatrix(const v1::Matrix& from, int64_t begin, int64_t count, v1::Matrix& to) {
  to.set_rows(count);
  to.set_columns(from.columns());
  if (from.raw().empty()) {
    SliceField(from.values(), begin * from.columns(), count * from.columns(), *to.mutable_values());
    return;
  }
  const size_t row_bytes = static_cast<size_t>(from.columns()) * sizeof(double);
  to.set_raw(from.raw().data() + static_cast<size_t>(begin) * row_bytes,
             static_cast<size_t>(count) * row_bytes);
}

void SliceSparse(const v1::SparseBlock& from, int64_t begin, int64_t count, v1::SparseBlock& to) {
  to.set_name(from.name());
  to.set_num_columns(from.num_columns());
  const int64_t first = from.row_starts(static_cast<int>(begin));
  const int64_t entries = from.row_starts(static_cast<int>(begin + count)) - first;
  for (int64_t r = begin; r <= begin + count; ++r) {
    to.add_row_starts(from.row_starts(static_cast<int>(r)) - first);
  }
  SliceField(from.column_indices(), first, entries, *to.mutable_column_indices());
  SliceField(from.values(), first, entries, *to.mutable_values());
}

void SliceColumn(const v1::TypedColumn& from, int64_t begin, int64_t count, v1::TypedColumn& to) {
  to.set_name(from.name());
  if (from.has_numbers()) {
    SliceField(from.numbers().values(), begin, count, *to.mutable_numbers()->mutable_values());
  } else {
    SliceField(from.texts().values(), begin, count, *to.mutable_texts()->mutable_values());
  }
}

bool IsEmpty(const v1::Rows& rows) {
  return rows.dense_size() + rows.sparse_size() + rows.columns_size() + rows.squares_size() == 0;
}

}  // namespace

int64_t CountRows(const v1::Rows& rows) {
  std::optional<int64_t> all;
  bool agree = true;
  const auto count = [&](std::optional<int64_t> part) {
    all = all.has_value() ? all : part;
    agree = agree && part.has_value() && part == all;
  };
  for (const v1::DenseBlock& block : rows.dense()) {
    count(CountMatrixRows(block.values()));
  }
  for (const v1::SparseBlock& block : rows.sparse()) {
    count(CountSparseRows(block));
  }
  for (const v1::TypedColumn& column : rows.columns()) {
    count(CountColumnRows(column));
  }
  for (const v1::SquareRows& square : rows.squares()) {
    count(CountMatrixRows(square.values()));
  }
  if (rows.tasks_size() > 0) {
    count(rows.tasks_size());
  }
  return agree ? all.value_or(0) : 0;
}

v1::Rows SliceRows(const v1::Rows& rows, int64_t begin, int64_t count) {
  v1::Rows slice;
  for (const v1::DenseBlock& block : rows.dense()) {
    v1::DenseBlock& part = *slice.add_dense();
    part.set_name(block.name());
    *part.mutable_columns() = block.columns();
    SliceMatrix(block.values(), begin, count, *part.mutable_values());
  }
  for (const v1::SparseBlock& block : rows.sparse()) {
    SliceSparse(block, begin, count, *slice.add_sparse());
  }
  for (const v1::TypedColumn& column : rows.columns()) {
    SliceColumn(column, begin, count, *slice.add_columns());
  }
  for (const v1::SquareRows& square : rows.squares()) {
    v1::SquareRows& part = *slice.add_squares();
    part.set_name(square.name());
    *part.mutable_training_rows() = square.training_rows();
    SliceMatrix(square.values(), begin, count, *part.mutable_values());
  }
  if (rows.tasks_size() > 0) {
    SliceField(rows.tasks(), begin, count, *slice.mutable_tasks());
  }
  return slice;
}

absl::StatusOr<const v1::PredictStreamRequest*> RowPieces::Next() {
  if (end_ == rows_) {
    MERCER_ASSIGN_OR_RETURN(*batch_.mutable_rows(), next_rows_());
    if (IsEmpty(batch_.rows())) {
      return nullptr;
    }
    rows_ = std::max<int64_t>(1, CountRows(batch_.rows()));
    end_ = 0;
  }
  begin_ = end_;
  end_ = begin_ + std::min(rows_ - begin_, max_rows_);
  if (end_ - begin_ == rows_) {
    return &batch_;
  }
  *piece_.mutable_rows() = SliceRows(batch_.rows(), begin_, end_ - begin_);
  return &piece_;
}

bool RowPieces::Halve() {
  if (end_ - begin_ <= 1) {
    return false;
  }
  max_rows_ = (end_ - begin_) / 2;
  end_ = begin_;
  return true;
}

}  // namespace mercer::client
