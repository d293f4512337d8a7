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

constexpr int kMaxShownEntries = 5;

std::string NameOf(const v1::ColumnPlace& place) {
  const std::string name =
      place.name().empty() ? absl::StrCat("[", place.position(), "]") : place.name();
  return place.block().empty() ? name : absl::StrCat(place.block(), "/", name);
}

// "  <count> <what>: first; second; ..., n more"
template <typename Entries, typename Format>
std::string FormatEntries(int64_t count, const std::string& what, const Entries& entries,
                          const Format& format) {
  if (count == 0) {
    return "";
  }
  std::string text = absl::StrCat("  ", count, " ", what);
  const int shown = std::min(kMaxShownEntries, entries.size());
  for (int i = 0; i < shown; ++i) {
    absl::StrAppend(&text, i == 0 ? ": " : "; ", format(entries.Get(i)));
  }
  return absl::StrCat(text, shown < count ? absl::StrCat("; ", count - shown, " more") : "", "\n");
}

std::string FormatCells(const v1::DataQuality& quality) {
  std::string text = FormatEntries(
      quality.num_missing_columns(), "columns with missing cells", quality.missing(),
      [](const v1::MissingCells& missing) {
        std::string rows;
        for (const int64_t row : missing.rows()) {
          absl::StrAppend(&rows, rows.empty() ? "" : ", ", row);
        }
        return absl::StrCat(NameOf(missing.column()), " ", missing.count(), " (rows ", rows,
                            missing.rows_size() < missing.count() ? ", ..." : "", ")");
      });
  absl::StrAppend(&text, FormatEntries(quality.num_constant_columns(), "constant columns",
                                       quality.constant_columns(), NameOf));
  absl::StrAppend(&text, FormatEntries(quality.num_nearly_constant_columns(),
                                       "nearly constant columns", quality.nearly_constant_columns(),
                                       [](const v1::NearlyConstantColumn& column) {
                                         return absl::StrCat(NameOf(column.column()), " is ",
                                                             column.value(), " but in ",
                                                             column.exceptions(), " rows");
                                       }));
  return text;
}

std::string FormatUnreadable(const v1::DataQuality& quality) {
  return absl::StrCat(
      FormatEntries(quality.num_identifier_columns(),
                    "columns that look like identifiers of the rows; upload them as ignored",
                    quality.identifier_columns(), NameOf),
      FormatEntries(quality.num_text_columns(),
                    "columns that are read as texts, each value a category of its own",
                    quality.text_columns(), [](const v1::TextColumn& column) {
                      return absl::StrCat(NameOf(column.column()), " holds ", column.holds());
                    }));
}

std::string FormatRows(const v1::DataQuality& quality) {
  const std::string conflicts =
      quality.num_conflicting_rows() == 0
          ? ""
          : absl::StrCat(", ", quality.num_conflicting_rows(), " of them with another target");
  return FormatEntries(quality.num_duplicate_rows(), "rows that repeat an earlier one" + conflicts,
                       quality.duplicate_rows(), [](const v1::DuplicateRow& row) {
                         return absl::StrCat(row.row(), " = ", row.equal_to());
                       });
}

std::string FormatRelations(const v1::DataQuality& quality) {
  std::string text = FormatEntries(quality.num_equal_columns(), "columns that repeat another one",
                                   quality.equal_columns(), [](const v1::EqualColumns& columns) {
                                     return absl::StrCat(NameOf(columns.column()), " = ",
                                                         NameOf(columns.equal_to()));
                                   });
  absl::StrAppend(&text,
                  FormatEntries(quality.num_leaking_columns(), "columns that tell the target",
                                quality.leaking_columns(), [](const v1::LeakingColumn& leak) {
                                  return absl::StrCat(NameOf(leak.column()),
                                                      leak.equal() ? " equals " : " gives away ",
                                                      NameOf(leak.target()));
                                }));
  if (quality.has_smallest_scale()) {
    absl::StrAppend(&text, "  scales differ widely: ", NameOf(quality.smallest_scale().column()),
                    " spans ", FormatNumber(quality.smallest_scale().range()), ", ",
                    NameOf(quality.largest_scale().column()), " ",
                    FormatNumber(quality.largest_scale().range()), "\n");
  }
  return text;
}

}  // namespace

std::string FormatDatasetSummary(const v1::Dataset& dataset) {
  std::string text =
      absl::StrCat(dataset.name(), "  ", dataset.rows(), " rows, ", dataset.num_columns(),
                   " feature columns, ", FormatBytes(dataset.size_bytes()), "\n");
  if (const std::string owner = OwnerText(dataset.owner()); !owner.empty()) {
    absl::StrAppend(&text, "  owner   ", owner, "\n");
  }
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

std::string FormatDatasetQuality(const v1::Dataset& dataset) {
  if (!dataset.has_quality()) {
    return "quality  not known: the data set was stored by an earlier version\n";
  }
  const v1::DataQuality& quality = dataset.quality();
  std::string text = FormatCells(quality) + FormatUnreadable(quality) + FormatRows(quality) +
                     FormatRelations(quality);
  return text.empty() ? "quality  nothing to remark\n" : "quality\n" + text;
}

}  // namespace mercer::client
