#include "server/translation/dataset_translator.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

#include "core/base/encoding/bytes.h"
#include "core/base/status/errors.h"
#include "core/base/status/shorten.h"
#include "core/base/status/status_macros.h"
#include "core/data/table/block_rows.h"
#include "core/io/quality/dense_scan.h"
#include "core/training/targets/label_names.h"
#include "server/translation/enum_translator.h"
#include "server/translation/resource_names.h"
#include "server/translation/times.h"
#include "server/translation/whole_message.h"

namespace mercer::server {
namespace {

constexpr Index kMaxDescribedColumns = 10'000;
constexpr size_t kMaxValueCounts = 1000;
constexpr size_t kMaxValueBytes = 200;
// Of the columns' statistics and counts. Whatever the columns hold, the description fits an answer.
constexpr size_t kMaxReplyBytes = size_t{4} << 20;

static_assert(Agree(v1::COLUMN_ROLE_FEATURE, ColumnRole::kFeature));
static_assert(Agree(v1::COLUMN_ROLE_IGNORED, ColumnRole::kIgnored));
static_assert(Agree(v1::SQUARE_KIND_DISTANCE, SquareKind::kDistance));

using CancelCheck = std::function<bool()>;
using ConstRows = Eigen::Map<const RowMatrix>;

// What is known of a column after two passes over its cells.
struct Summary {
  const quality::ColumnScan* scan = nullptr;
  double known = 0;
  double squares = 0;           // of the numbers' distances from the mean
  std::vector<int64_t> counts;  // of the categories

  double mean() const { return scan->sum / known; }
};

// Calls visit(first row, number of rows) for pieces of all rows: the table may be a file that is larger than the memory.
// Errors: kCancelled.
template <typename Visit>
absl::Status ForEachPiece(Index rows, Index width, const CancelCheck& is_cancelled,
                          const Visit& visit) {
  const Index piece = RowsPerPoll(width);
  for (Index row = 0; row < rows; row += piece) {
    if (is_cancelled()) {
      return absl::CancelledError("the client has gone");
    }
    visit(row, std::min(piece, rows - row));
  }
  return absl::OkStatus();
}

// Of the columns that have schemas, the first ones. Errors: kCancelled.
absl::StatusOr<std::vector<Summary>> Summarize(const ConstRows& values,
                                               const std::vector<const ColumnSchema*>& schemas,
                                               const quality::ColumnScan* scans,
                                               const CancelCheck& is_cancelled) {
  std::vector<Summary> summaries(schemas.size());
  std::vector<double> means(schemas.size(), 0.0);
  std::vector<size_t> categorical;
  for (size_t c = 0; c < schemas.size(); ++c) {
    summaries[c].scan = &scans[c];
    summaries[c].known = static_cast<double>(values.rows() - scans[c].missing);
    means[c] = summaries[c].known > 0 ? summaries[c].mean() : 0.0;
    if (schemas[c]->categorical) {
      categorical.push_back(c);
      summaries[c].counts.assign(schemas[c]->categories.size(), 0);
    }
  }
  std::vector<double> squares(schemas.size(), 0.0);
  const auto width = static_cast<Index>(schemas.size());
  MERCER_RETURN_IF_ERROR(
      ForEachPiece(values.rows(), width, is_cancelled, [&](Index row, Index count) {
        const double* cells = values.data() + row * values.cols();
        quality::AddSquares(cells, count, values.cols(), means, squares);
        for (Index r = 0; r < count && !categorical.empty(); ++r, cells += values.cols()) {
          for (const size_t c : categorical) {
            if (!std::isnan(cells[c])) {
              ++summaries[c].counts[static_cast<size_t>(cells[c])];
            }
          }
        }
      }));
  for (size_t c = 0; c < schemas.size(); ++c) {
    summaries[c].squares = squares[c];
  }
  return summaries;
}

void DescribeNumbers(const Summary& summary, v1::NumericStatistics& statistics) {
  if (summary.known == 0) {
    return;
  }
  statistics.set_min(summary.scan->min);
  statistics.set_max(summary.scan->max);
  statistics.set_mean(summary.mean());
  statistics.set_standard_deviation(std::sqrt(summary.squares / summary.known));
  statistics.set_constant(summary.scan->min == summary.scan->max);
}

void AddCount(const std::string& value, int64_t count, v1::Column& column) {
  v1::ValueCount& entry = *column.add_value_counts();
  entry.set_value(Shorten(value, kMaxValueBytes));
  entry.set_count(count);
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

v1::Column DescribeColumn(const ColumnSchema& schema, ColumnRole role, const Summary& summary) {
  v1::Column column;
  column.set_name(schema.name);
  column.set_role(ToApiEnum<v1::ColumnRole>(role));
  column.set_type(schema.categorical ? v1::COLUMN_TYPE_CATEGORICAL : v1::COLUMN_TYPE_NUMERIC);
  column.set_missing(summary.scan->missing);
  if (!schema.categorical) {
    DescribeNumbers(summary, *column.mutable_statistics());
    return column;
  }
  for (size_t i = 0; i < std::min(summary.counts.size(), kMaxValueCounts); ++i) {
    AddCount(schema.categories[i], summary.counts[i], column);
  }
  return column;
}

absl::StatusOr<v1::Column> DescribeRoleColumn(const RoleColumn& column,
                                              const quality::ColumnScan& scan,
                                              const CancelCheck& is_cancelled) {
  const ConstRows values(column.values.data(), column.values.size(), 1);
  MERCER_ASSIGN_OR_RETURN(const std::vector<Summary> summaries,
                          Summarize(values, {&column.schema}, &scan, is_cancelled));
  v1::Column described = DescribeColumn(column.schema, column.role, summaries.front());
  const bool has_classes = column.role == ColumnRole::kTarget || column.role == ColumnRole::kTask;
  if (has_classes && !column.schema.categorical) {
    CountNumbers(column.values, described);
  }
  return described;
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

absl::Status DescribeBlock(const FeatureBlock& block, const std::vector<quality::ColumnScan>& scans,
                           const CancelCheck& is_cancelled, size_t* free_bytes,
                           v1::Block& message) {
  message.set_name(block.name);
  message.set_sparse(block.is_sparse);
  message.set_num_columns(block.num_columns());
  if (block.is_sparse) {
    message.set_stored_values(static_cast<int64_t>(block.sparse.values.size()));
    return absl::OkStatus();
  }
  const ConstRows values = block.values.view();
  const ColumnSchema unnamed;
  std::vector<const ColumnSchema*> schemas(
      static_cast<size_t>(std::min(values.cols(), kMaxDescribedColumns)), &unnamed);
  for (size_t c = 0; c < std::min(schemas.size(), block.columns.size()); ++c) {
    schemas[c] = &block.columns[c];
  }
  MERCER_ASSIGN_OR_RETURN(const std::vector<Summary> summaries,
                          Summarize(values, schemas, scans.data(), is_cancelled));
  for (size_t c = 0; c < schemas.size(); ++c) {
    if (!AddColumn(DescribeColumn(*schemas[c], ColumnRole::kFeature, summaries[c]), free_bytes,
                   message.mutable_columns())) {
      return absl::OkStatus();
    }
  }
  return absl::OkStatus();
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
  violations.Check(
      options.delimiter != '"' && options.delimiter != '\n' && options.delimiter != '\r',
      absl::StrCat(path, ".delimiter"), "must not be a quote or the end of a line");
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
    options.usual_marks = false;
  }
  options.allow_missing = format.allow_missing();
  for (int i = 0; i < format.blocks_size(); ++i) {
    const v1::BlockColumns& block = format.blocks(i);
    violations.Check(!block.name().empty(), absl::StrCat(path, ".blocks[", i, "].name"),
                     "is missing");
    options.blocks.push_back({block.name(), {block.columns().begin(), block.columns().end()}});
  }
  return options;
}

SvmlightOptions ReadSvmlightFormat(const v1::SvmlightFormat& format, const std::string& path,
                                   FieldViolations& violations) {
  SvmlightOptions options;
  violations.Check(
      format.num_columns() >= 0 && format.num_columns() <= kMaxSvmlightColumns,
      absl::StrCat(path, ".num_columns"),
      absl::StrCat("must be in [0, ", kMaxSvmlightColumns, "], is ", format.num_columns()));
  options.num_columns = format.num_columns();
  if (!format.target_name().empty()) {
    options.target_name = format.target_name();
  }
  return options;
}

absl::StatusOr<CsvLayout> ReadDenseLayout(const v1::DenseFormat& format) {
  CsvOptions options;
  std::vector<std::string> names;
  for (const v1::DenseColumn& column : format.columns()) {
    names.push_back(column.name());
    if (column.role() > v1::COLUMN_ROLE_FEATURE) {
      options.roles[column.name()] = static_cast<ColumnRole>(column.role() - 1);
    }
  }
  for (const v1::BlockColumns& block : format.blocks()) {
    options.blocks.push_back({block.name(), {block.columns().begin(), block.columns().end()}});
  }
  return MakeCsvLayout(names, options);
}

std::vector<ColumnSchema> ReadDenseSchemas(const v1::DenseFormat& format) {
  std::vector<ColumnSchema> schemas;
  for (const v1::DenseColumn& column : format.columns()) {
    schemas.push_back({column.name(),
                       !column.categories().empty(),
                       {column.categories().begin(), column.categories().end()}});
  }
  return schemas;
}

absl::StatusOr<v1::Dataset> DescribeDataset(const Dataset& dataset, const quality::Scan& scan,
                                            const std::function<bool()>& is_cancelled) {
  const ScopedAllocations scope(Allocations::kNeeded);  // see whole_message.h
  v1::Dataset description;
  description.set_rows(dataset.rows);
  size_t free_bytes = kMaxReplyBytes;
  // Clients choose a target by them: they come first.
  for (size_t c = 0; c < dataset.role_columns.size(); ++c) {
    MERCER_ASSIGN_OR_RETURN(
        v1::Column described,
        DescribeRoleColumn(dataset.role_columns[c], scan.role_columns[c], is_cancelled));
    AddColumn(std::move(described), &free_bytes, description.mutable_role_columns());
  }
  int64_t columns = 0;
  for (size_t b = 0; b < dataset.blocks.size(); ++b) {
    MERCER_RETURN_IF_ERROR(DescribeBlock(dataset.blocks[b], scan.blocks[b], is_cancelled,
                                         &free_bytes, *description.add_blocks()));
    columns += dataset.blocks[b].num_columns();
  }
  description.set_num_columns(columns);
  for (const SquareBlock& square : dataset.squares) {
    v1::Square& message = *description.add_squares();
    message.set_name(square.name);
    message.set_kind(ToApiEnum<v1::SquareKind>(square.kind));
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
  if (!reader.ok() || !ParseWhole(description, info.description)) {
    return WithReason(absl::DataLossError("a stored data set's description cannot be read"),
                      "STORED_INFO_DAMAGED");
  }
  return info;
}

absl::StatusOr<v1::Dataset> WriteDataset(const DatasetRecord& record, v1::DatasetView view) {
  const ScopedAllocations scope(Allocations::kNeeded);  // see whole_message.h
  MERCER_ASSIGN_OR_RETURN(DatasetInfo info, DecodeDatasetInfo(record.info));
  v1::Dataset dataset = std::move(info.description);
  dataset.set_name(DatasetName(record.id));
  dataset.set_display_name(record.display_name);
  SetTimestamp(record.create_time, dataset.mutable_create_time());
  PutAll(record.labels, *dataset.mutable_labels());
  dataset.set_rows(record.rows);
  dataset.set_size_bytes(record.size_bytes);
  dataset.set_digest(record.blob);
  dataset.set_owner(record.owner);
  dataset.set_etag(DatasetEtag(record));
  if (view != v1::DATASET_VIEW_FULL) {
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
