#include "server/api/dataset_translator.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "absl/strings/str_cat.h"

#include "core/base/bytes.h"
#include "core/base/errors.h"
#include "core/base/shorten.h"
#include "core/training/output_coding.h"
#include "server/api/resource_names.h"
#include "server/api/times.h"

namespace mercer::server {
namespace {

constexpr Index kMaxDescribedColumns = 10'000;
constexpr size_t kMaxValueCounts = 1000;
constexpr size_t kMaxValueBytes = 200;
// Of the columns' statistics and counts. Whatever the columns hold, the description fits an answer.
constexpr size_t kMaxDescriptionBytes = size_t{4} << 20;

static_assert(v1::COLUMN_ROLE_FEATURE == static_cast<int>(ColumnRole::kFeature) + 1);
static_assert(v1::COLUMN_ROLE_IGNORED == static_cast<int>(ColumnRole::kIgnored) + 1);
static_assert(v1::SQUARE_KIND_DISTANCE == static_cast<int>(SquareKind::kDistance) + 1);

v1::ColumnRole RoleToProto(ColumnRole role) {
  return static_cast<v1::ColumnRole>(static_cast<int>(role) + 1);
}

void DescribeNumbers(const ConstVectorRef& values, v1::Column& column) {
  double minimum = kInfinity;
  double maximum = -kInfinity;
  double sum = 0;
  int64_t known = 0;
  for (Index i = 0; i < values.size(); ++i) {
    if (std::isnan(values(i))) {
      continue;
    }
    minimum = std::min(minimum, values(i));
    maximum = std::max(maximum, values(i));
    sum += values(i);
    ++known;
  }
  v1::NumericStatistics& statistics = *column.mutable_statistics();
  if (known == 0) {
    return;
  }
  const double mean = sum / static_cast<double>(known);
  double squares = 0;
  for (Index i = 0; i < values.size(); ++i) {
    if (!std::isnan(values(i))) {
      squares += (values(i) - mean) * (values(i) - mean);
    }
  }
  statistics.set_min(minimum);
  statistics.set_max(maximum);
  statistics.set_mean(mean);
  statistics.set_standard_deviation(std::sqrt(squares / static_cast<double>(known)));
  statistics.set_constant(minimum == maximum);
}

void AddCount(const std::string& value, int64_t count, v1::Column& column) {
  v1::ValueCount& entry = *column.add_value_counts();
  entry.set_value(Shorten(value, kMaxValueBytes));
  entry.set_count(count);
}

void CountCategories(const ConstVectorRef& values, const std::vector<std::string>& categories,
                     v1::Column& column) {
  std::vector<int64_t> counts(categories.size(), 0);
  for (Index i = 0; i < values.size(); ++i) {
    if (!std::isnan(values(i))) {
      ++counts[static_cast<size_t>(values(i))];
    }
  }
  for (size_t i = 0; i < std::min(counts.size(), kMaxValueCounts); ++i) {
    AddCount(categories[i], counts[i], column);
  }
}

// The classes of a numeric target; nothing when it has too many different values to be one.
void CountNumbers(const ConstVectorRef& values, v1::Column& column) {
  std::map<double, int64_t> counts;
  for (Index i = 0; i < values.size(); ++i) {
    if (!std::isnan(values(i))) {
      ++counts[values(i)];
    }
    if (counts.size() > kMaxValueCounts) {
      return;
    }
  }
  for (const auto& [value, count] : counts) {
    AddCount(FormatLabel(value), count, column);
  }
}

void DescribeColumn(const ColumnSchema& schema, ColumnRole role, const ConstVectorRef& values,
                    v1::Column& column) {
  column.set_name(schema.name);
  column.set_role(RoleToProto(role));
  column.set_type(schema.categorical ? v1::COLUMN_TYPE_CATEGORICAL : v1::COLUMN_TYPE_NUMERIC);
  column.set_missing(values.array().isNaN().count());
  if (schema.categorical) {
    CountCategories(values, schema.categories, column);
    return;
  }
  DescribeNumbers(values, column);
  if (role == ColumnRole::kTarget || role == ColumnRole::kTask) {
    CountNumbers(values, column);
  }
}

// Adds the description unless it is too large; then the counts are the first to be left out. False
// when no column has room any more.
bool AddColumn(v1::Column column, size_t* free_bytes,
               google::protobuf::RepeatedPtrField<v1::Column>* columns) {
  if (column.ByteSizeLong() > *free_bytes) {
    column.clear_value_counts();
  }
  const size_t bytes = column.ByteSizeLong();
  if (bytes > *free_bytes) {
    return false;
  }
  *free_bytes -= bytes;
  *columns->Add() = std::move(column);
  return true;
}

void DescribeBlock(const FeatureBlock& block, size_t* free_bytes, v1::Block& message) {
  message.set_name(block.name);
  message.set_sparse(block.is_sparse);
  message.set_num_columns(block.num_columns());
  if (block.is_sparse) {
    message.set_stored_values(static_cast<int64_t>(block.sparse.values.size()));
    return;
  }
  const auto values = block.values.view();
  for (Index c = 0; c < std::min(values.cols(), kMaxDescribedColumns); ++c) {
    const Vector column = values.col(c);
    const size_t position = static_cast<size_t>(c);
    const ColumnSchema schema =
        position < block.columns.size() ? block.columns[position] : ColumnSchema();
    v1::Column described;
    DescribeColumn(schema, ColumnRole::kFeature, column, described);
    if (!AddColumn(std::move(described), free_bytes, message.mutable_columns())) {
      return;
    }
  }
}

}  // namespace

CsvOptions ReadCsvFormat(const v1::CsvFormat& format, const std::string& path,
                         FieldViolations& violations) {
  CsvOptions options;
  if (format.delimiter().size() > 1) {
    violations.Add(absl::StrCat(path, ".delimiter"), "must be one character");
  } else if (!format.delimiter().empty()) {
    options.delimiter = format.delimiter()[0];
  }
  if (options.delimiter == '"' || options.delimiter == '\n' || options.delimiter == '\r') {
    violations.Add(absl::StrCat(path, ".delimiter"), "must not be a quote or the end of a line");
  }
  options.has_header = !format.no_header();
  for (const auto& [column, role] : format.roles()) {
    if (role != v1::COLUMN_ROLE_UNSPECIFIED && v1::ColumnRole_IsValid(role)) {
      options.roles[column] = static_cast<ColumnRole>(role - 1);
    }
  }
  options.categorical.assign(format.categorical().begin(), format.categorical().end());
  options.numeric.assign(format.numeric().begin(), format.numeric().end());
  if (!format.missing().empty()) {
    options.missing.assign(format.missing().begin(), format.missing().end());
  }
  options.allow_missing = format.allow_missing();
  for (int i = 0; i < format.blocks_size(); ++i) {
    const v1::BlockColumns& block = format.blocks(i);
    if (block.name().empty()) {
      violations.Add(absl::StrCat(path, ".blocks[", i, "].name"), "is missing");
    }
    options.blocks.push_back({block.name(), {block.columns().begin(), block.columns().end()}});
  }
  return options;
}

SvmlightOptions ReadSvmlightFormat(const v1::SvmlightFormat& format, const std::string& path,
                                   FieldViolations& violations) {
  SvmlightOptions options;
  if (format.num_columns() < 0 || format.num_columns() > kMaxSvmlightColumns) {
    violations.Add(
        absl::StrCat(path, ".num_columns"),
        absl::StrCat("must be in [0, ", kMaxSvmlightColumns, "], is ", format.num_columns()));
  }
  options.num_columns = format.num_columns();
  if (!format.target_name().empty()) {
    options.target_name = format.target_name();
  }
  return options;
}

v1::Dataset DescribeDataset(const Dataset& dataset) {
  v1::Dataset description;
  description.set_rows(dataset.rows);
  size_t free_bytes = kMaxDescriptionBytes;
  // Clients choose a target by them: they come first.
  for (const RoleColumn& column : dataset.role_columns) {
    v1::Column described;
    DescribeColumn(column.schema, column.role, column.values, described);
    AddColumn(std::move(described), &free_bytes, description.mutable_role_columns());
  }
  int64_t columns = 0;
  for (const FeatureBlock& block : dataset.blocks) {
    DescribeBlock(block, &free_bytes, *description.add_blocks());
    columns += block.num_columns();
  }
  description.set_num_columns(columns);
  for (const SquareBlock& square : dataset.squares) {
    v1::Square& message = *description.add_squares();
    message.set_name(square.name);
    message.set_kind(static_cast<v1::SquareKind>(static_cast<int>(square.kind) + 1));
    message.set_columns(square.values.cols());
  }
  return description;
}

std::string EncodeDatasetInfo(const DatasetInfo& info) {
  ByteWriter writer;
  writer.WriteString(info.description.SerializeAsString());
  writer.WriteString(info.request_id);
  writer.WriteString(info.upload_digest);
  writer.WriteString(info.upload_id);
  return std::move(writer).Take();
}

absl::StatusOr<DatasetInfo> DecodeDatasetInfo(std::string_view bytes) {
  ByteReader reader(bytes);
  DatasetInfo info;
  const std::string description = reader.ReadString();
  info.request_id = reader.ReadString();
  info.upload_digest = reader.ReadString();
  if (reader.ok() && !reader.AtEnd()) {  // earlier versions wrote none
    info.upload_id = reader.ReadString();
  }
  if (!reader.ok() || !info.description.ParseFromString(description)) {
    return WithReason(absl::DataLossError("a stored data set's description cannot be read"),
                      "STORED_INFO_DAMAGED");
  }
  return info;
}

absl::StatusOr<v1::Dataset> WriteDataset(const DatasetRecord& record, v1::DatasetView view) {
  absl::StatusOr<DatasetInfo> info = DecodeDatasetInfo(record.info);
  if (!info.ok()) {
    return info.status();
  }
  v1::Dataset dataset = std::move(info->description);
  dataset.set_name(DatasetName(record.id));
  dataset.set_display_name(record.display_name);
  SetTimestamp(record.create_time, dataset.mutable_create_time());
  for (const auto& [key, value] : record.labels) {
    (*dataset.mutable_labels())[key] = value;
  }
  dataset.set_rows(record.rows);
  dataset.set_size_bytes(record.size_bytes);
  dataset.set_digest(record.blob);
  if (view == v1::DATASET_VIEW_BASIC) {
    for (v1::Block& block : *dataset.mutable_blocks()) {
      block.clear_columns();
    }
    for (v1::Column& column : *dataset.mutable_role_columns()) {
      column.clear_statistics();
      column.clear_value_counts();
    }
    dataset.clear_quality();
  }
  return dataset;
}

}  // namespace mercer::server
