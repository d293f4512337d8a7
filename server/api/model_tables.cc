#include "server/api/model_tables.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"

#include "server/api/answer_size.h"
#include "server/api/matrix_translator.h"

namespace mercer::server {
namespace {

using TableNames = google::protobuf::RepeatedPtrField<std::string>;

static_assert(v1::TABLE_DRAWING_NUMBERS == static_cast<int>(TableDrawing::kNumbers) + 1);
static_assert(v1::TABLE_DRAWING_CURVE == static_cast<int>(TableDrawing::kCurve) + 1);

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
  message.set_drawing(static_cast<v1::TableDrawing>(static_cast<int>(table.drawing) + 1));
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
void NameColumns(const v1::Model& model, v1::ModelTable& table) {
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
    table.add_columns(columns == 1 ? "all outputs" : absl::StrCat(column));
  }
}

// Leaves it out when it does not fit into what is left of the room.
void AddTable(v1::ModelTable table, size_t& room, v1::Model& model) {
  const size_t bytes = table.ByteSizeLong();
  if (bytes <= room) {
    room -= bytes;
    *model.add_tables() = std::move(table);
  }
}

}  // namespace

void WriteTables(const std::vector<ModelTable>& tables, v1::Model* message) {
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

void CompleteTables(v1::Model* message) {
  google::protobuf::RepeatedPtrField<v1::ModelTable> stored;
  stored.Swap(message->mutable_tables());
  size_t room = kMaxTableBytes;
  const auto add = [&](v1::ModelTable table) {
    NameColumns(*message, table);
    AddTable(std::move(table), room, *message);
  };
  const v1::KernelWeights& kernels = message->kernel_weights();
  if (!kernels.kernels().empty() && kernels.ByteSizeLong() <= room) {
    v1::ModelTable table = MakeWeightTable("kernel_weights", "kernel weights", "kernels",
                                           kernels.kernels(), kernels.weights());
    *table.mutable_row_groups() = kernels.groups();
    add(std::move(table));
  }
  const v1::FeatureWeights& features = message->feature_weights();
  if (!features.features().empty() && features.ByteSizeLong() <= room) {
    add(MakeWeightTable("feature_weights", "chosen features", "features", features.features(),
                        features.weights()));
  }
  for (v1::ModelTable& table : stored) {
    add(std::move(table));
  }
}

}  // namespace mercer::server
