#include "server/translation/model_tables.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

#include "core/training/recipe/recipe.h"
#include "core/training/targets/label_names.h"
#include "server/translation/answer_size.h"
#include "server/translation/enum_translator.h"
#include "server/translation/matrix_translator.h"

namespace mercer::server {
namespace {

using TableNames = google::protobuf::RepeatedPtrField<std::string>;

static_assert(Agree(v1::TABLE_DRAWING_NUMBERS, TableDrawing::kNumbers));
static_assert(Agree(v1::TABLE_DRAWING_CURVE, TableDrawing::kCurve));

// Without the values.
v1::ModelTable WriteTableHead(const ModelTable& table) {
  v1::ModelTable message;
  message.set_name(table.name);
  message.set_title(table.title);
  message.set_row_axis(table.row_axis);
  message.set_column_axis(table.column_axis);
  message.mutable_rows()->Assign(table.rows.begin(), table.rows.end());
  message.mutable_columns()->Assign(table.columns.begin(), table.columns.end());
  message.set_unit(table.unit);
  message.set_drawing(ToApiEnum<v1::TableDrawing>(table.drawing));
  return message;
}

v1::ModelTable MakeWeightTable(const std::string& name, const std::string& title,
                               const std::string& row_axis, const TableNames& rows,
                               const v1::Matrix& weights) {
  v1::ModelTable message;
  message.set_name(name);
  message.set_title(title);
  message.set_row_axis(row_axis);
  *message.mutable_rows() = rows;
  *message.mutable_values() = weights;
  message.set_drawing(v1::TABLE_DRAWING_BARS);
  return message;
}

// Columns without names are the outputs; weights that all of them share are one column.
void NameColumns(const v1::ModelVersion& model, v1::ModelTable& table) {
  if (table.columns_size() > 0) {
    return;
  }
  table.set_column_axis(model.has_tasks() ? "tasks" : "outputs");
  const TableNames& outputs = model.coding().output_names();
  // A stored summary may say anything; there are no more columns than values.
  const int64_t columns = std::min<int64_t>(table.values().columns(), table.values().values_size());
  if (columns == outputs.size()) {
    *table.mutable_columns() = outputs;
    return;
  }
  for (int64_t column = 1; column <= columns; ++column) {
    *table.add_columns() = columns == 1 ? "all outputs" : absl::StrCat(column);
  }
}

// Models of before had the results of a path as metrics, "path.2.accuracy": they become the table that
// models have since.
constexpr char kPathPrefix[] = "path.";

// The number of the value, from 1, and the name of the metric; 0 for a metric of another kind.
std::pair<int, std::string> PlaceInPath(const std::string& name) {
  constexpr size_t kBegin = std::size(kPathPrefix) - 1;
  const size_t dot = name.find('.', kBegin);
  int value = 0;
  const bool is_one = absl::StartsWith(name, kPathPrefix) && dot != std::string::npos &&
                      absl::SimpleAtoi(name.substr(kBegin, dot - kBegin), &value) && value >= 1;
  return {is_one ? value : 0, is_one ? name.substr(dot + 1) : ""};
}

// Takes what `named`, metrics or spreads, says of the values of a path out of it: by the number of the
// value and the name of the metric.
template <typename Named, typename ValueOf>
std::map<int, std::map<std::string, double>> TakePath(Named& named, const ValueOf& value_of) {
  std::map<int, std::map<std::string, double>> values;
  for (const auto& one : named) {
    const auto [value, name] = PlaceInPath(one.name());
    if (value > 0) {
      values[value][name] = value_of(one);
    }
  }
  named.erase(std::remove_if(named.begin(), named.end(),
                             [](const auto& one) { return PlaceInPath(one.name()).first > 0; }),
              named.end());
  return values;
}

// Values are told by the metrics that all of them have.
std::optional<v1::ModelTable> TakePathTable(v1::ModelVersion& message) {
  std::map<int, std::map<std::string, double>> values =
      TakePath(*message.mutable_metrics(), [](const v1::Metric& metric) { return metric.value(); });
  if (values.empty()) {
    return std::nullopt;
  }
  if (message.has_held_out()) {
    for (const auto& [value, spreads] :
         TakePath(*message.mutable_held_out()->mutable_spreads(),
                  [](const v1::MetricSpread& spread) { return spread.standard_deviation(); })) {
      for (const auto& [name, deviation] : spreads) {
        if (name == "accuracy" || name == "rmse") {
          values[value][absl::StrCat(name, kDeviationSuffix)] = deviation;
        }
      }
    }
  }
  v1::ModelTable table;
  table.set_name(kPathTable);
  table.set_row_axis(message.lineage().request().path().option());
  table.set_title(absl::StrCat("values of ", table.row_axis()));
  for (const v1::Metric& metric : message.metrics()) {
    const auto best = values.find(static_cast<int>(metric.value()));
    if (metric.name() == "path.best" && best != values.end()) {
      table.set_title(absl::StrCat(table.title(), ", of which ",
                                   absl::StrFormat("%.6g", best->second["value"]), " is best"));
    }
  }
  table.set_column_axis("metrics");
  table.set_drawing(v1::TABLE_DRAWING_CURVE);
  for (const auto& of_first : values.begin()->second) {
    const std::string& name = of_first.first;
    if (name != "value" && std::all_of(values.begin(), values.end(), [&](const auto& one) {
          return one.second.count(name) > 0;
        })) {
      table.add_columns(name);
    }
  }
  table.mutable_values()->set_rows(static_cast<int64_t>(values.size()));
  table.mutable_values()->set_columns(table.columns_size());
  for (auto& [number, found] : values) {
    *table.add_rows() = FormatLabel(found["value"]);
    for (const std::string& name : table.columns()) {
      table.mutable_values()->add_values(found[name]);
    }
  }
  return table;
}

// Leaves it out when it does not fit into what is left of the room.
void AddTable(v1::ModelTable table, size_t& room, v1::ModelVersion& model) {
  const size_t bytes = table.ByteSizeLong();
  if (bytes <= room) {
    room -= bytes;
    *model.add_tables() = std::move(table);
  }
}

}  // namespace

void WriteTables(const std::vector<ModelTable>& tables, v1::ModelVersion* message) {
  size_t room = kMaxTableBytes;
  for (const ModelTable& table : tables) {
    if (static_cast<size_t>(table.values.size()) > room / sizeof(double)) {
      continue;
    }
    v1::ModelTable written = WriteTableHead(table);
    WriteMatrix(table.values, written.mutable_values()).IgnoreError();  // it fits
    AddTable(std::move(written), room, *message);
  }
}

void CompleteTables(v1::ModelVersion* message) {
  google::protobuf::RepeatedPtrField<v1::ModelTable> stored;
  stored.Swap(message->mutable_tables());
  size_t room = kMaxTableBytes;
  const auto add = [&](v1::ModelTable table) {
    NameColumns(*message, table);
    AddTable(std::move(table), room, *message);
  };
  std::optional<v1::ModelTable> path = TakePathTable(*message);
  const v1::KernelWeights& kernels = message->kernel_weights();
  if (!kernels.kernels().empty() && kernels.ByteSizeLong() <= std::min(room, kMaxCopiedBytes)) {
    v1::ModelTable table = MakeWeightTable("kernel_weights", "kernel weights", "kernels",
                                           kernels.kernels(), kernels.weights());
    *table.mutable_row_groups() = kernels.groups();
    add(std::move(table));
  }
  const v1::FeatureWeights& features = message->feature_weights();
  if (!features.features().empty() && features.ByteSizeLong() <= std::min(room, kMaxCopiedBytes)) {
    add(MakeWeightTable("feature_weights", "chosen features", "features", features.features(),
                        features.weights()));
  }
  if (path.has_value()) {
    add(*std::move(path));
  }
  for (v1::ModelTable& table : stored) {
    add(std::move(table));
  }
}

void LeaveOutPath(v1::ModelVersion* message) { TakePathTable(*message); }

}  // namespace mercer::server
