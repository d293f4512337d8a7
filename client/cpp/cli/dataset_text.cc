#include "client/cpp/cli/dataset_text.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

#include "client/cpp/cli/text.h"
#include "client/cpp/field_text.h"

namespace mercer::client {
namespace {

constexpr int kMaxShownValues = 8;

std::string Counts(const v1::Column& column) {
  std::string text;
  const int shown = std::min(kMaxShownValues, column.value_counts_size());
  for (int i = 0; i < shown; ++i) {
    const v1::ValueCount& count = column.value_counts(i);
    absl::StrAppend(&text, i == 0 ? "" : ", ", count.value(), " (", count.count(), ")");
  }
  if (shown < column.value_counts_size()) {
    absl::StrAppend(&text, ", ", column.value_counts_size() - shown, " more");
  }
  return text;
}

void AddColumn(const v1::Column& column, const std::string& where, Table& table) {
  const bool numeric = column.type() == v1::COLUMN_TYPE_NUMERIC;
  const v1::NumericStatistics& statistics = column.statistics();
  const auto number = [&](double value) { return numeric ? FormatNumber(value) : ""; };
  table.AddRow({column.name(), where, EnumWord(*v1::ColumnType_descriptor(), column.type()),
                absl::StrCat(column.missing()), number(statistics.min()), number(statistics.max()),
                number(statistics.mean()), number(statistics.standard_deviation()),
                statistics.constant() ? "constant" : Counts(column)});
}

}  // namespace

std::string FormatDatasetSummary(const v1::Dataset& dataset) {
  std::string text =
      absl::StrCat(dataset.name(), "  ", dataset.rows(), " rows, ", dataset.num_columns(),
                   " feature columns, ", FormatBytes(dataset.size_bytes()), "\n");
  for (const v1::Block& block : dataset.blocks()) {
    absl::StrAppend(
        &text, "  block   ", block.name(), ": ", block.num_columns(), " columns",
        block.sparse() ? absl::StrCat(", sparse with ", block.stored_values(), " values") : "",
        "\n");
  }
  for (const v1::Square& square : dataset.squares()) {
    absl::StrAppend(&text, "  square  ", square.name(), ": ", dataset.rows(), " x ",
                    square.columns(), ", ", EnumWord(*v1::SquareKind_descriptor(), square.kind()),
                    "\n");
  }
  for (const v1::Column& column : dataset.role_columns()) {
    const std::string counts = Counts(column);
    absl::StrAppend(&text, "  ", Pad(EnumWord(*v1::ColumnRole_descriptor(), column.role()), 7), " ",
                    column.name(), counts.empty() ? "" : ": ", counts, "\n");
  }
  return text;
}

std::string FormatDatasetColumns(const v1::Dataset& dataset, const Terminal& terminal) {
  Table table({"COLUMN", "BLOCK", "TYPE", "MISSING", "MIN", "MAX", "MEAN", "STD", "VALUES"});
  for (const v1::Block& block : dataset.blocks()) {
    for (const v1::Column& column : block.columns()) {
      AddColumn(column, block.name(), table);
    }
  }
  for (const v1::Column& column : dataset.role_columns()) {
    AddColumn(column, absl::StrCat("(", EnumWord(*v1::ColumnRole_descriptor(), column.role()), ")"),
              table);
  }
  return table.ToString(TableWidth(terminal));
}

}  // namespace mercer::client
