#include "core/data/table/row_identifier.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"

#include "core/data/table/text_kind.h"

namespace mercer {
namespace {

constexpr Index kMinRows = 20;
constexpr Index kFirstRows = 512;       // that most columns are ruled out by
constexpr Index kMostRows = 1'000'000;  // that tell as much as all, and are sorted in a moment

bool IsNamedLikeIdentifier(const std::string& name) {
  const std::string lower = absl::AsciiStrToLower(name);
  return lower == "id" || lower == "index" || absl::EndsWith(lower, "_id") ||
         absl::EndsWith(lower, "-id") || absl::EndsWith(lower, " id") ||
         (name.size() > 2 && absl::EndsWith(name, "Id"));
}

// The first values, if all of them are whole numbers, each there once; else none.
std::vector<double> FirstDifferentWholeNumbers(const FeatureBlock& block, Index column,
                                               Index count) {
  std::vector<double> values;
  for (Index row = 0; row < count; ++row) {
    const double value = block.values.view()(row, column);
    if (!std::isfinite(value) || value != std::rint(value)) {
      return {};
    }
    values.push_back(value);
  }
  std::vector<double> sorted = values;
  std::sort(sorted.begin(), sorted.end());
  const bool different = std::adjacent_find(sorted.begin(), sorted.end()) == sorted.end();
  return different ? values : std::vector<double>();
}

bool NumbersTheRows(const FeatureBlock& block, Index column, const std::string& name) {
  const Index rows = std::min(block.values.rows(), kMostRows);
  if (FirstDifferentWholeNumbers(block, column, std::min(rows, kFirstRows)).empty()) {
    return false;
  }
  const std::vector<double> values = FirstDifferentWholeNumbers(block, column, rows);
  if (values.empty()) {
    return false;
  }
  const auto [least, most] = std::minmax_element(values.begin(), values.end());
  return std::is_sorted(values.begin(), values.end()) ||
         std::is_sorted(values.rbegin(), values.rend()) ||
         *most - *least < 1.05 * static_cast<double>(rows) || IsNamedLikeIdentifier(name);
}

}  // namespace

bool MayHoldIdentifiers(const Dataset& dataset) {
  Index features = 0;
  for (const FeatureBlock& block : dataset.blocks) {
    features += block.num_columns();
  }
  return dataset.rows >= kMinRows && features >= 2;
}

bool LooksLikeIdentifier(const FeatureBlock& block, size_t column) {
  const ColumnSchema& schema = block.columns[column];
  if (schema.categorical) {
    const Index rows = block.values.rows();
    return DifferInMostRows(schema.categories, rows) &&
           KindOfTexts(schema.categories, rows) == TextKind::kCategories;
  }
  return NumbersTheRows(block, static_cast<Index>(column), schema.name);
}

}  // namespace mercer
