#include "core/training/targets/label_names.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <set>
#include <string_view>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

#include "core/base/process/paced_check.h"
#include "core/base/process/polled_sort.h"
#include "core/base/status/status_macros.h"

namespace mercer {
namespace {

// Of PacedCheck: to look a label up, and to write or read one, takes as long as to compute so many
// numbers.
constexpr Index kNumbersPerLookup = 64;
constexpr Index kNumbersPerText = 4096;

std::string LabelText(const ColumnSchema& schema, double value) {
  return schema.categorical ? schema.categories[static_cast<size_t>(value)] : FormatLabel(value);
}

// Keys and what they stand for, sorted: other than the nodes of a tree, millions of them are freed
// at once.
template <typename Key>
using SortedTable = std::vector<std::pair<Key, int>>;

// The entry of the key; null: there is none. Of several, the first.
template <typename Key>
const int* FindIn(const SortedTable<Key>& table, const Key& key) {
  const auto found =
      std::lower_bound(table.begin(), table.end(), key,
                       [](const auto& entry, const Key& wanted) { return entry.first < wanted; });
  return found != table.end() && found->first == key ? &found->second : nullptr;
}

// The positions in `names` of the numbers among them that are labels.
absl::StatusOr<SortedTable<double>> PositionsOfNumbers(const std::vector<std::string>& names,
                                                       const RunContext& context) {
  SortedTable<double> known;
  PacedCheck check(context);
  for (size_t i = 0; i < names.size(); ++i) {
    MERCER_RETURN_IF_ERROR(check.After(kNumbersPerText));
    double value = 0;
    if (absl::SimpleAtod(names[i], &value) && !std::isnan(value) &&
        FormatLabel(value) == names[i]) {
      known.emplace_back(value, static_cast<int>(i));
    }
  }
  MERCER_RETURN_IF_ERROR(SortPolled(known, std::less<>(), context));
  return known;
}

// The positions in `names` of categories, by their codes.
absl::StatusOr<SortedTable<double>> PositionsOfCategories(
    const std::vector<std::string>& categories, const std::vector<std::string>& names,
    const RunContext& context) {
  SortedTable<std::string_view> by_text;
  for (size_t i = 0; i < names.size(); ++i) {
    by_text.emplace_back(names[i], static_cast<int>(i));
  }
  MERCER_RETURN_IF_ERROR(SortPolled(by_text, std::less<>(), context));
  SortedTable<double> known;
  PacedCheck check(context);
  for (size_t code = 0; code < categories.size(); ++code) {
    MERCER_RETURN_IF_ERROR(check.After(kNumbersPerLookup));
    const int* const position = FindIn<std::string_view>(by_text, categories[code]);
    if (position != nullptr) {
      known.emplace_back(static_cast<double>(code), *position);
    }
  }
  return known;
}

}  // namespace

std::vector<Index> LabelledRows(const RoleColumn& column) {
  std::vector<Index> rows;
  for (Index row = 0; row < column.values.size(); ++row) {
    if (!std::isnan(column.values(row))) {
      rows.push_back(row);
    }
  }
  return rows;
}

std::string FormatLabel(double label) {
  if (label == std::floor(label) && std::abs(label) < 1e15) {
    return absl::StrCat(static_cast<int64_t>(label));
  }
  std::array<char, 32> text;  // absl::StrFormat ends the process when it finds no memory
  for (int digits = 1; digits <= 17; ++digits) {
    absl::SNPrintF(text.data(), text.size(), "%.*g", digits, label);
    double back = 0;
    if (absl::SimpleAtod(text.data(), &back) && back == label) {
      break;
    }
  }
  return text.data();
}

// Each piece of the rows by a tree, which is small, and what the pieces have left by a sort: what is
// freed at the end are no millions of nodes.
absl::StatusOr<std::vector<double>> DifferentValues(const RoleColumn& column,
                                                    const std::vector<Index>& rows,
                                                    const RunContext& context) {
  constexpr size_t kPiece = size_t{1} << 16;  // some milliseconds
  std::vector<double> values;                 // codes of categories, or the labels themselves
  for (size_t begin = 0; begin < rows.size(); begin += kPiece) {
    MERCER_RETURN_IF_ERROR(context.CheckCancelled());
    std::set<double> piece;
    for (size_t i = begin; i < std::min(begin + kPiece, rows.size()); ++i) {
      piece.insert(column.values(rows[i]) + 0.0);  // -0 and 0 are one label
    }
    values.insert(values.end(), piece.begin(), piece.end());
  }
  MERCER_RETURN_IF_ERROR(SortPolled(values, std::less<>(), context));
  values.erase(std::unique(values.begin(), values.end()), values.end());
  return values;
}

absl::StatusOr<std::vector<std::string>> SortedLabels(const ColumnSchema& schema,
                                                      const std::vector<double>& values,
                                                      const RunContext& context) {
  std::vector<std::string> labels;
  PacedCheck check(context);
  for (const double value : values) {
    MERCER_RETURN_IF_ERROR(check.After(kNumbersPerText));
    labels.push_back(LabelText(schema, value));
  }
  if (schema.categorical) {
    MERCER_RETURN_IF_ERROR(SortPolled(labels, std::less<>(), context));
  }
  return labels;
}

absl::StatusOr<std::vector<int>> LabelPositions(const RoleColumn& column,
                                                const std::vector<std::string>& names,
                                                const RunContext& context) {
  const ColumnSchema& schema = column.schema;
  MERCER_ASSIGN_OR_RETURN(const SortedTable<double> known,
                          schema.categorical
                              ? PositionsOfCategories(schema.categories, names, context)
                              : PositionsOfNumbers(names, context));
  std::vector<int> positions(static_cast<size_t>(column.values.size()), -1);
  PacedCheck check(context);
  for (Index row = 0; row < column.values.size(); ++row) {
    MERCER_RETURN_IF_ERROR(check.After(kNumbersPerLookup));
    const double value = column.values(row);
    const int* const position = std::isnan(value) ? nullptr : FindIn(known, value);
    if (position != nullptr) {
      positions[static_cast<size_t>(row)] = *position;
    }
  }
  return positions;
}

}  // namespace mercer
