#include "server/gateway/rows/row_columns.h"

#include <cmath>
#include <limits>
#include <utility>

#include "core/base/memory/memory_reserve.h"
#include "core/base/status/status_macros.h"
#include "core/data/table/reader_errors.h"
#include "core/training/targets/label_names.h"

namespace mercer::gateway {
namespace {

constexpr double kMissing = std::numeric_limits<double>::quiet_NaN();
// In a list that doubles as it grows: for a while the old one is there, too.
constexpr size_t kNumberBytes = 3 * sizeof(double);
// The empty text is an object of its own: 32 bytes, which the heap makes 48.
constexpr size_t kTextBytes = 3 * sizeof(void*) + 48;
// A number's text.
constexpr size_t kDigits = 24;
constexpr size_t kColumnBytes = 400;
constexpr size_t kBytesAhead = size_t{64} << 10;

int64_t CellsOf(const v1::TypedColumn& column) {
  return column.has_texts() ? column.texts().values_size() : column.numbers().values_size();
}

size_t CellBytes(const v1::TypedColumn& column) {
  return column.has_texts() ? kTextBytes : kNumberBytes;
}

void AddMissingCells(v1::TypedColumn& column, int64_t cells) {
  for (int64_t i = 0; i < cells; ++i) {
    column.has_texts() ? void(column.mutable_texts()->add_values())
                       : column.mutable_numbers()->add_values(kMissing);
  }
}

}  // namespace

absl::Status RowColumns::Take(size_t bytes, size_t least) {
  unasked_bytes_ += bytes;
  if (unasked_bytes_ < least) {
    return absl::OkStatus();
  }
  // A message cannot be left half made (server/translation/whole_message.h): what comes next must be there.
  RequireMemory(static_cast<int64_t>(unasked_bytes_ + kBytesAhead));
  return check_(std::exchange(unasked_bytes_, 0));
}

absl::Status RowColumns::BecomeText(v1::TypedColumn& column) {
  MERCER_RETURN_IF_ERROR(Take(static_cast<size_t>(rows_) * (kTextBytes + 2 * kDigits)));
  const v1::TypedColumn::Numbers numbers = std::move(*column.mutable_numbers());
  auto& texts = *column.mutable_texts();
  for (const double number : numbers.values()) {
    *texts.add_values() = std::isnan(number) ? "" : FormatLabel(number);
  }
  return absl::OkStatus();
}

absl::Status RowColumns::FillUp(v1::TypedColumn& column, int64_t rows) {
  const int64_t lacking = rows - CellsOf(column);
  MERCER_RETURN_IF_ERROR(CountMissing(lacking));
  MERCER_RETURN_IF_ERROR(Take(static_cast<size_t>(lacking) * CellBytes(column)));
  AddMissingCells(column, lacking);
  return absl::OkStatus();
}

absl::Status RowColumns::Find(std::string_view name, v1::TypedColumn** column) {
  const auto [entry, is_new] = index_.emplace(std::string(name), columns_.size());
  if (is_new) {
    columns_.Add()->set_name(std::string(name));
    MERCER_RETURN_IF_ERROR(Take(kColumnBytes + 2 * name.size()));
  }
  v1::TypedColumn& found = columns_[entry->second];
  if (CellsOf(found) == rows_) {
    return CellError(rows_, name, "the row has this column twice");
  }
  ++cells_;
  MERCER_RETURN_IF_ERROR(FillUp(found, rows_ - 1));
  *column = &found;
  return Take(CellBytes(found));
}

absl::Status RowColumns::CountMissing(int64_t cells) {
  missing_ += cells;
  return missing_ <= kMaxMissing + kMissingPerCell * cells_
             ? absl::OkStatus()
             : RowError(rows_,
                        "far more cells are missing than there are: the rows have too "
                        "few columns in common");
}

absl::Status RowColumns::AddNumber(std::string_view column, double value) {
  v1::TypedColumn* found = nullptr;
  MERCER_RETURN_IF_ERROR(Find(column, &found));
  if (!found->has_texts()) {
    found->mutable_numbers()->add_values(value);
    return absl::OkStatus();
  }
  *found->mutable_texts()->add_values() = FormatLabel(value);
  return Take(2 * kDigits);
}

absl::Status RowColumns::AddText(std::string_view column, std::string text) {
  v1::TypedColumn* found = nullptr;
  MERCER_RETURN_IF_ERROR(Find(column, &found));
  if (!found->has_texts()) {
    MERCER_RETURN_IF_ERROR(BecomeText(*found));
  }
  const size_t size = text.size();
  *found->mutable_texts()->add_values() = std::move(text);
  return Take(2 * size);
}

absl::Status RowColumns::AddMissing(std::string_view column) {
  v1::TypedColumn* found = nullptr;
  MERCER_RETURN_IF_ERROR(Find(column, &found));
  AddMissingCells(*found, 1);
  return absl::OkStatus();
}

absl::Status RowColumns::MoveTo(v1::Rows& rows) && {
  for (v1::TypedColumn& column : columns_) {
    MERCER_RETURN_IF_ERROR(FillUp(column, rows_));
  }
  rows.mutable_columns()->Swap(&columns_);
  return Take(0, /*least=*/0);
}

}  // namespace mercer::gateway
