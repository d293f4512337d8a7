#include "server/gateway/row_columns.h"

#include <cmath>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"

#include "core/base/status_macros.h"
#include "core/data/reader_errors.h"
#include "core/training/label_names.h"

namespace mercer::gateway {
namespace {

constexpr double kMissing = std::numeric_limits<double>::quiet_NaN();
// In a vector that grows, and in the message.
constexpr size_t kNumberBytes = 3 * sizeof(double);
constexpr size_t kTextBytes = 3 * sizeof(std::string);
constexpr size_t kColumnBytes = 400;

}  // namespace

void RowColumns::Column::Resize(int64_t rows) {
  const auto size = static_cast<size_t>(rows);
  is_text ? texts.resize(size) : numbers.resize(size, kMissing);
}

void RowColumns::Column::BecomeText() {
  is_text = true;
  for (const double number : numbers) {
    texts.push_back(std::isnan(number) ? "" : FormatLabel(number));
  }
  numbers = {};
}

absl::Status RowColumns::Find(std::string_view name, Column** column) {
  const auto [entry, is_new] = index_.emplace(std::string(name), columns_.size());
  if (is_new) {
    columns_.emplace_back().name = std::string(name);
    memory_bytes_ += kColumnBytes + 2 * name.size();
  }
  Column& found = columns_[entry->second];
  if (found.size() == rows_) {
    return CellError(rows_, name, "the row has this column twice");
  }
  ++cells_;
  const int64_t lacking = rows_ - 1 - found.size();
  MERCER_RETURN_IF_ERROR(CountMissing(lacking));
  memory_bytes_ += static_cast<size_t>(lacking + 1) * (found.is_text ? kTextBytes : kNumberBytes);
  found.Resize(rows_ - 1);
  *column = &found;
  return absl::OkStatus();
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
  Column* found = nullptr;
  MERCER_RETURN_IF_ERROR(Find(column, &found));
  found->is_text ? found->texts.push_back(FormatLabel(value)) : found->numbers.push_back(value);
  return absl::OkStatus();
}

absl::Status RowColumns::AddText(std::string_view column, std::string text) {
  Column* found = nullptr;
  MERCER_RETURN_IF_ERROR(Find(column, &found));
  if (!found->is_text) {
    found->BecomeText();
    memory_bytes_ += found->texts.size() * kTextBytes;
  }
  memory_bytes_ += kTextBytes + 2 * text.size();
  found->texts.push_back(std::move(text));
  return absl::OkStatus();
}

absl::Status RowColumns::AddMissing(std::string_view column) {
  Column* found = nullptr;
  MERCER_RETURN_IF_ERROR(Find(column, &found));
  found->Resize(rows_);
  return absl::OkStatus();
}

absl::Status RowColumns::MoveTo(v1::Rows& rows) && {
  for (const Column& column : columns_) {
    MERCER_RETURN_IF_ERROR(CountMissing(rows_ - column.size()));
  }
  for (Column& column : columns_) {
    column.Resize(rows_);
    v1::TypedColumn& message = *rows.add_columns();
    message.set_name(std::move(column.name));
    if (column.is_text) {
      for (std::string& text : column.texts) {
        message.mutable_texts()->add_values(std::move(text));
      }
    } else {
      message.mutable_numbers()->mutable_values()->Add(column.numbers.begin(),
                                                       column.numbers.end());
    }
    column = {};
  }
  columns_.clear();
  return absl::OkStatus();
}

}  // namespace mercer::gateway
