// Columns that grow row by row, as the message Rows has them.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"

#include "core/base/hash_table.h"
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

  void BeginRow() { ++rows_; }
  // Of the current row. A number is not NaN. Errors: BAD_CELL: the row has the column already; BAD_ROW.
  absl::Status AddNumber(std::string_view column, double value);
  // The empty text is missing.
  absl::Status AddText(std::string_view column, std::string text);
  // The column is there, in this row a missing cell.
  absl::Status AddMissing(std::string_view column);

  int64_t rows() const { return rows_; }
  // What the cells so far take at most, here and in the message.
  size_t memory_bytes() const { return memory_bytes_; }
  // Errors: BAD_ROW: too many cells are missing.
  absl::Status MoveTo(v1::Rows& rows) &&;

 private:
  struct Column {
    std::string name;
    bool is_text = false;
    std::vector<double> numbers;  // NaN: missing
    std::vector<std::string> texts;
    int64_t size() const { return static_cast<int64_t>(is_text ? texts.size() : numbers.size()); }
    void Resize(int64_t rows);
    void BecomeText();
  };

  // The column, filled up to the row before the current one.
  absl::Status Find(std::string_view name, Column** column);
  absl::Status CountMissing(int64_t cells);

  HashMap<std::string, size_t> index_;
  std::vector<Column> columns_;
  int64_t rows_ = 0;
  int64_t cells_ = 0;    // that were given
  int64_t missing_ = 0;  // that were filled up
  size_t memory_bytes_ = 0;
};

}  // namespace mercer::gateway
