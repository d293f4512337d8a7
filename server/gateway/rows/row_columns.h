// Columns that grow row by row, as the message Rows has them.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"

#include "core/base/numeric/hash_table.h"
#include "mercer/v1/prediction_service.pb.h"

namespace mercer::gateway {

// Asked before so many further bytes of memory are taken. Errors: whatever ends the request.
using MemoryCheck = std::function<absl::Status(size_t bytes)>;

// Cells of rows whose columns become known as they come. Cells that a row lacks are missing.
class RowColumns {
 public:
  // Rows of ever other columns would make a table far larger than they are: so many cells may be missing, and a few more for each
  // that is there.
  static constexpr int64_t kMaxMissing = 1'000'000;
  static constexpr int64_t kMissingPerCell = 16;

  // All that the cells take, here and in the message, is asked for first.
  explicit RowColumns(MemoryCheck check) : check_(std::move(check)) {}

  void BeginRow() { ++rows_; }
  // Of the current row. A number is not NaN. Errors: BAD_CELL: the row has the column already; BAD_ROW; those of the memory check.
  absl::Status AddNumber(std::string_view column, double value);
  // The empty text is missing.
  absl::Status AddText(std::string_view column, std::string text);
  // The column is there, in this row a missing cell.
  absl::Status AddMissing(std::string_view column);

  int64_t rows() const { return rows_; }
  // `rows` is empty. Errors: BAD_ROW: too many cells are missing; those of the memory check.
  absl::Status MoveTo(v1::Rows& rows) &&;

 private:
  // The column, filled up to the row before the current one; memory for one more cell is asked for.
  absl::Status Find(std::string_view name, v1::TypedColumn** column);
  absl::Status FillUp(v1::TypedColumn& column, int64_t rows);
  absl::Status BecomeText(v1::TypedColumn& column);
  absl::Status CountMissing(int64_t cells);
  // Asks whenever `least` bytes have come together since the last question.
  absl::Status Take(size_t bytes, size_t least = 4096);

  const MemoryCheck check_;
  HashMap<std::string, int> index_;
  google::protobuf::RepeatedPtrField<v1::TypedColumn> columns_;
  int64_t rows_ = 0;
  int64_t cells_ = 0;    // that were given
  int64_t missing_ = 0;  // that were filled up
  size_t unasked_bytes_ = 0;
};

}  // namespace mercer::gateway
