#include "server/translation/quality_translator.h"

#include "core/base/status/shorten.h"
#include "core/base/status/status_macros.h"
#include "core/training/targets/label_names.h"
#include "server/translation/dataset_translator.h"

namespace mercer::server {
namespace {

constexpr size_t kMaxNameBytes = 200;

// Null in sparse blocks.
const ColumnSchema* SchemaOf(const Dataset& dataset, const ColumnPlace& place) {
  const auto column = static_cast<size_t>(place.column);
  if (place.block == kRoleColumns) {
    return &dataset.role_columns[column].schema;
  }
  const FeatureBlock& block = dataset.blocks[static_cast<size_t>(place.block)];
  return column < block.columns.size() ? &block.columns[column] : nullptr;
}

void WritePlace(const Dataset& dataset, const ColumnPlace& place, v1::ColumnPlace& message) {
  if (place.block != kRoleColumns) {
    message.set_block(
        Shorten(dataset.blocks[static_cast<size_t>(place.block)].name, kMaxNameBytes));
  }
  message.set_position(place.column + 1);
  if (const ColumnSchema* schema = SchemaOf(dataset, place); schema != nullptr) {
    message.set_name(Shorten(schema->name, kMaxNameBytes));
  }
}

std::string ValueText(const ColumnSchema* schema, double value) {
  const bool is_code = schema != nullptr && schema->categorical;
  return is_code ? Shorten(schema->categories[static_cast<size_t>(value)], kMaxNameBytes)
                 : FormatLabel(value);
}

void WriteCells(const Dataset& dataset, const DataQuality& quality, v1::DataQuality& message) {
  message.set_num_missing_columns(quality.num_missing_columns);
  message.set_num_missing_cells(quality.num_missing_cells);
  for (const DataQuality::Missing& missing : quality.missing) {
    v1::MissingCells& entry = *message.add_missing();
    WritePlace(dataset, missing.column, *entry.mutable_column());
    entry.set_count(missing.count);
    entry.mutable_rows()->Assign(missing.rows.begin(), missing.rows.end());
  }
  message.set_num_constant_columns(quality.num_constant);
  for (const ColumnPlace& place : quality.constant) {
    WritePlace(dataset, place, *message.add_constant_columns());
  }
  message.set_num_nearly_constant_columns(quality.num_nearly_constant);
  for (const DataQuality::NearlyConstant& column : quality.nearly_constant) {
    v1::NearlyConstantColumn& entry = *message.add_nearly_constant_columns();
    WritePlace(dataset, column.column, *entry.mutable_column());
    entry.set_value(ValueText(SchemaOf(dataset, column.column), column.value));
    entry.set_exceptions(column.exceptions);
  }
}

void WriteRepetitions(const Dataset& dataset, const DataQuality& quality,
                      v1::DataQuality& message) {
  message.set_num_duplicate_rows(quality.num_duplicate_rows);
  message.set_num_conflicting_rows(quality.num_conflicting_rows);
  for (const DataQuality::DuplicateRow& row : quality.duplicate_rows) {
    v1::DuplicateRow& entry = *message.add_duplicate_rows();
    entry.set_row(row.row);
    entry.set_equal_to(row.equal_to);
    entry.set_conflicting(row.conflicting);
  }
  message.set_num_equal_columns(quality.num_equal_columns);
  for (const DataQuality::EqualColumns& columns : quality.equal_columns) {
    v1::EqualColumns& entry = *message.add_equal_columns();
    WritePlace(dataset, columns.column, *entry.mutable_column());
    WritePlace(dataset, columns.equal_to, *entry.mutable_equal_to());
  }
}

void WriteUnreadable(const Dataset& dataset, const DataQuality& quality, v1::DataQuality& message) {
  message.set_num_identifier_columns(quality.num_identifiers);
  for (const ColumnPlace& place : quality.identifiers) {
    WritePlace(dataset, place, *message.add_identifier_columns());
  }
  message.set_num_text_columns(quality.num_text_columns);
  for (const DataQuality::TextColumn& column : quality.text_columns) {
    v1::TextColumn& entry = *message.add_text_columns();
    WritePlace(dataset, column.column, *entry.mutable_column());
    entry.set_holds(TextKindName(column.kind));
  }
}

void WriteScale(const Dataset& dataset, const DataQuality::Scale& scale, v1::ColumnScale& message) {
  WritePlace(dataset, scale.column, *message.mutable_column());
  message.set_range(scale.range);
}

void WriteQuality(const Dataset& dataset, const DataQuality& quality, v1::DataQuality& message) {
  WriteCells(dataset, quality, message);
  WriteRepetitions(dataset, quality, message);
  WriteUnreadable(dataset, quality, message);
  message.set_num_leaking_columns(quality.num_leaks);
  for (const DataQuality::Leak& leak : quality.leaks) {
    v1::LeakingColumn& entry = *message.add_leaking_columns();
    WritePlace(dataset, leak.column, *entry.mutable_column());
    WritePlace(dataset, {kRoleColumns, leak.target}, *entry.mutable_target());
    entry.set_equal(leak.equal);
  }
  if (quality.scales.has_value()) {
    WriteScale(dataset, quality.scales->first, *message.mutable_smallest_scale());
    WriteScale(dataset, quality.scales->second, *message.mutable_largest_scale());
  }
}

}  // namespace

absl::StatusOr<v1::Dataset> DescribeWithQuality(const Dataset& dataset, quality::Scan& scan,
                                                const std::function<bool()>& is_cancelled) {
  MERCER_ASSIGN_OR_RETURN(const DataQuality quality, AssessQuality(dataset, scan, is_cancelled));
  MERCER_ASSIGN_OR_RETURN(v1::Dataset description, DescribeDataset(dataset, scan, is_cancelled));
  WriteQuality(dataset, quality, *description.mutable_quality());
  return description;
}

}  // namespace mercer::server
