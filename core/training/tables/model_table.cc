#include "core/training/tables/model_table.h"

#include <algorithm>
#include <set>

#include "absl/strings/str_cat.h"

namespace mercer {
namespace {

// Null: there is none of that name.
const ModelTable* FindTable(const std::vector<ModelTable>& tables, const std::string& name) {
  const auto found = std::find_if(tables.begin(), tables.end(),
                                  [&](const ModelTable& table) { return table.name == name; });
  return found == tables.end() ? nullptr : &*found;
}

// Whether the tables of all parts go side by side.
bool IsInEveryPart(const ModelTable& table, const std::vector<std::vector<ModelTable>>& parts) {
  return std::all_of(parts.begin(), parts.end(), [&](const std::vector<ModelTable>& part) {
    const ModelTable* const same = FindTable(part, table.name);
    return same != nullptr && same->columns.empty() && same->rows == table.rows;
  });
}

ModelTable SideBySide(const std::string& name, const std::vector<std::vector<ModelTable>>& parts) {
  ModelTable joined = *FindTable(parts[0], name);
  joined.values.resize(joined.values.rows(), static_cast<Index>(parts.size()));
  for (size_t output = 0; output < parts.size(); ++output) {
    const Matrix& values = FindTable(parts[output], name)->values;
    joined.values.col(static_cast<Index>(output)) = values.col(0);
  }
  return joined;
}

ModelTable OfOneOutput(ModelTable table, size_t output) {
  const std::string number = absl::StrCat(output + 1);
  absl::StrAppend(&table.name, ".", number);
  absl::StrAppend(&table.title, ", output ", number);
  if (table.columns.empty()) {
    table.columns = {absl::StrCat("output ", number)};
  }
  return table;
}

}  // namespace

absl::Status CheckTables(const std::vector<ModelTable>& tables, Index num_outputs) {
  std::set<std::string> names;
  for (const ModelTable& table : tables) {
    if (table.name.empty() || !names.insert(table.name).second) {
      return absl::DataLossError("a table has no name of its own");
    }
    const Index num_columns =
        table.columns.empty() ? num_outputs : static_cast<Index>(table.columns.size());
    if (table.values.rows() != static_cast<Index>(table.rows.size()) ||
        table.values.cols() != num_columns || !table.values.allFinite()) {
      return absl::DataLossError("the values of a table do not fit its rows and columns");
    }
  }
  return absl::OkStatus();
}

std::vector<ModelTable> MergeTables(const std::vector<std::vector<ModelTable>>& parts) {
  std::vector<ModelTable> merged;
  for (size_t output = 0; output < parts.size(); ++output) {
    for (const ModelTable& table : parts[output]) {
      if (!IsInEveryPart(table, parts)) {
        merged.push_back(OfOneOutput(table, output));
      } else if (output == 0) {
        merged.push_back(SideBySide(table.name, parts));
      }
    }
  }
  return merged;
}

}  // namespace mercer
