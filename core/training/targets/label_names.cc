#include "core/training/targets/label_names.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>
#include <unordered_map>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace mercer {
namespace {

std::string LabelText(const ColumnSchema& schema, double value) {
  return schema.categorical ? schema.categories[static_cast<size_t>(value)] : FormatLabel(value);
}

}  // namespace

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

std::vector<std::string> SortedLabels(const RoleColumn& column, const std::vector<Index>& rows) {
  std::set<double> values;  // codes of categories, or the labels themselves
  for (const Index row : rows) {
    values.insert(column.values(row) + 0.0);  // -0 and 0 are one label
  }
  std::vector<std::string> labels;
  for (const double value : values) {
    labels.push_back(LabelText(column.schema, value));
  }
  if (column.schema.categorical) {
    std::sort(labels.begin(), labels.end());
  }
  return labels;
}

std::vector<int> LabelPositions(const RoleColumn& column, const std::vector<std::string>& names) {
  std::unordered_map<std::string, int> by_text;
  for (size_t i = 0; i < names.size(); ++i) {
    by_text.emplace(names[i], static_cast<int>(i));
  }
  std::map<double, int> by_value;  // so that each distinct label is formatted once
  std::vector<int> positions(static_cast<size_t>(column.values.size()), -1);
  for (Index row = 0; row < column.values.size(); ++row) {
    const double value = column.values(row) + 0.0;
    if (std::isnan(value)) {
      continue;
    }
    const auto [known, inserted] = by_value.try_emplace(value, -1);
    if (inserted) {
      const auto found = by_text.find(LabelText(column.schema, value));
      known->second = found == by_text.end() ? -1 : found->second;
    }
    positions[static_cast<size_t>(row)] = known->second;
  }
  return positions;
}

}  // namespace mercer
