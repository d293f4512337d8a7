#include "core/data/table/row_table.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include "core/base/status/status_macros.h"

namespace mercer {
namespace {

size_t Bytes(Index rows, Index width) {
  return static_cast<size_t>(rows) * static_cast<size_t>(width) * sizeof(double);
}

}  // namespace

RowTable::RowTable(const std::vector<Index>& widths) : matrices_(widths.size()) {
  for (size_t i = 0; i < widths.size(); ++i) {
    matrices_[i].width = widths[i];
  }
}

absl::Status RowTable::Grow() {
  capacity_ = std::numeric_limits<Index>::max();
  for (GrowingMatrix& matrix : matrices_) {
    MERCER_RETURN_IF_ERROR(matrix.buffer.Reserve(Bytes(rows_ + 1, matrix.width)));
    matrix.row = reinterpret_cast<double*>(matrix.buffer.data()) + rows_ * matrix.width;
    capacity_ =
        std::min(capacity_, static_cast<Index>(matrix.buffer.capacity() / Bytes(1, matrix.width)));
  }
  return absl::OkStatus();
}

absl::Status RowTable::BeginRow() {
  if (rows_ == capacity_) {
    MERCER_RETURN_IF_ERROR(Grow());
  } else {
    for (GrowingMatrix& matrix : matrices_) {
      matrix.row += matrix.width;
    }
  }
  ++rows_;
  return absl::OkStatus();
}

SharedMatrix RowTable::TakeMatrix(size_t i) {
  GrowingMatrix& matrix = matrices_[i];
  matrix.buffer.ShrinkToFit(Bytes(rows_, matrix.width));
  const auto owner = std::make_shared<PageBuffer>(std::move(matrix.buffer));
  return SharedMatrix(owner, reinterpret_cast<const double*>(owner->data()), rows_, matrix.width);
}

Vector RowTable::TakeColumn(size_t i) {
  constexpr size_t kPiece = size_t{1} << 20;
  PageBuffer buffer = std::move(matrices_[i].buffer);
  Vector column(rows_);
  char* out = reinterpret_cast<char*>(column.data());
  const size_t size = Bytes(rows_, 1);
  for (size_t begin = 0; begin < size; begin += kPiece) {
    const size_t end = std::min(size, begin + kPiece);
    std::memcpy(out + begin, buffer.data() + begin, end - begin);
    buffer.Discard(begin, end);
  }
  return column;
}

}  // namespace mercer
