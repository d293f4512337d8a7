#include <algorithm>
#include <charconv>
#include <cmath>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"

#include "core/base/status/status_macros.h"
#include "core/data/table/page_array.h"
#include "core/data/table/reader_errors.h"
#include "core/io/text/number_parser.h"
#include "core/io/text/readers.h"
#include "core/io/text/record_reader.h"

namespace mercer {
namespace {

// The columns of a row's entries, as the bytes of the steps from one to the next: seven bits each,
// the lowest first, the highest bit set when more follow. A step of zero ends the row. A file with
// every cell set then takes one byte per cell beside its value.
class ColumnSteps {
 public:
  absl::Status Add(Index step) {
    for (; step >= 128; step >>= 7) {
      MERCER_RETURN_IF_ERROR(bytes_.Add(static_cast<uint8_t>(128 | (step & 127))));
    }
    return bytes_.Add(static_cast<uint8_t>(step));
  }
  Index TakeNext() {
    Index step = 0;
    uint8_t byte = 128;
    for (int shift = 0; byte >= 128; shift += 7) {
      byte = bytes_.TakeNext();
      step |= static_cast<Index>(byte & 127) << shift;
    }
    return step;
  }

 private:
  PageArray<uint8_t> bytes_;
};

bool IsSpace(char c) { return c == ' ' || c == '\t' || c == '\r'; }

class SvmlightParser {
 public:
  explicit SvmlightParser(const SvmlightOptions& options) : options_(options) {}

  absl::Status ParseLine(std::string_view line);
  absl::StatusOr<Dataset> Finish() &&;

 private:
  absl::Status ParseEntry(std::string_view token);
  absl::Status ParseQuery(std::string_view token);
  absl::StatusOr<double> ParseFinite(std::string_view token, std::string_view column) const;
  absl::Status CheckMemory(double bytes) const;
  double SparseBytes() const;
  absl::StatusOr<FeatureBlock> TakeBlock();
  SparseRows TakeSparse(Index columns);
  absl::StatusOr<SharedMatrix> TakeDense(Index columns);

  // The next word of `*rest`, empty at its end.
  static std::string_view NextToken(std::string_view* rest);

  const SvmlightOptions& options_;
  Index rows_ = 0;
  Index previous_index_ = 0;
  Index previous_kept_ = 0;  // the last index of the row with a value other than zero
  Index largest_index_ = 0;
  PageArray<double> labels_;
  PageArray<double> queries_;
  ColumnSteps steps_;
  PageArray<double> values_;
};

std::string_view SvmlightParser::NextToken(std::string_view* rest) {
  size_t begin = 0;
  while (begin < rest->size() && IsSpace((*rest)[begin])) {
    ++begin;
  }
  size_t end = begin;
  while (end < rest->size() && !IsSpace((*rest)[end])) {
    ++end;
  }
  const std::string_view token = rest->substr(begin, end - begin);
  rest->remove_prefix(end);
  return token;
}

absl::StatusOr<double> SvmlightParser::ParseFinite(std::string_view token,
                                                   std::string_view column) const {
  double value = 0;
  if (!ParseWholeNumber(token, &value)) {
    return CellError(rows_, column, absl::StrCat("not a number: ", Quoted(token)));
  }
  if (!std::isfinite(value)) {
    return CellError(rows_, column, absl::StrCat("not a finite number: ", Quoted(token)));
  }
  return value;
}

absl::Status SvmlightParser::ParseLine(std::string_view line) {
  line = line.substr(0, line.find('#'));
  std::string_view token = NextToken(&line);
  if (token.empty()) {
    return absl::OkStatus();
  }
  ++rows_;
  previous_index_ = 0;
  previous_kept_ = 0;
  MERCER_ASSIGN_OR_RETURN(const double label, ParseFinite(token, options_.target_name));
  MERCER_RETURN_IF_ERROR(labels_.Add(label));
  MERCER_RETURN_IF_ERROR(CheckMemory(SparseBytes()));
  token = NextToken(&line);
  if (token.substr(0, 4) == "qid:") {
    MERCER_RETURN_IF_ERROR(ParseQuery(token.substr(4)));
    token = NextToken(&line);
  }
  if (queries_.size() != 0 && queries_.size() != labels_.size()) {
    return RowError(rows_, "has no qid although rows before it have one");
  }
  for (; !token.empty(); token = NextToken(&line)) {
    MERCER_RETURN_IF_ERROR(ParseEntry(token));
  }
  return steps_.Add(0);
}

absl::Status SvmlightParser::ParseQuery(std::string_view token) {
  MERCER_ASSIGN_OR_RETURN(const double query, ParseFinite(token, "qid"));
  MERCER_RETURN_IF_ERROR(queries_.Add(query));
  return queries_.size() == labels_.size()
             ? absl::OkStatus()
             : RowError(rows_, "has a qid although rows before it have none");
}

absl::Status SvmlightParser::ParseEntry(std::string_view token) {
  Index index = 0;
  const char* end = token.data() + token.size();
  const auto [colon, error] = std::from_chars(token.data(), end, index);
  if (colon == end || *colon != ':' ||
      (error != std::errc() && error != std::errc::result_out_of_range)) {
    return RowError(rows_, absl::StrCat("not of the form index:value: ", Quoted(token)));
  }
  const std::string_view name(token.data(), static_cast<size_t>(colon - token.data()));
  const Index largest = options_.num_columns > 0 ? options_.num_columns : kMaxSvmlightColumns;
  if (error == std::errc::result_out_of_range || index > largest) {
    return CellError(rows_, name, absl::StrCat("the index is above ", largest));
  }
  if (index < 1) {
    return CellError(rows_, name, "indices begin with 1");
  }
  if (index <= previous_index_) {
    return CellError(
        rows_, name,
        index == previous_index_ ? "the index occurs twice" : "the indices do not ascend");
  }
  MERCER_ASSIGN_OR_RETURN(const double value, ParseFinite(token.substr(name.size() + 1), name));
  previous_index_ = index;
  largest_index_ = std::max(largest_index_, index);
  if (value == 0) {
    return absl::OkStatus();
  }
  MERCER_RETURN_IF_ERROR(steps_.Add(index - previous_kept_));
  previous_kept_ = index;
  MERCER_RETURN_IF_ERROR(values_.Add(value));
  return CheckMemory(SparseBytes());
}

absl::Status SvmlightParser::CheckMemory(double bytes) const {
  return bytes <= static_cast<double>(options_.max_bytes)
             ? absl::OkStatus()
             : absl::ResourceExhaustedError(absl::StrCat(rows_, " rows take more than ",
                                                         options_.max_bytes, " bytes of memory"));
}

// Label, query and start of each row, value and column of each entry.
double SvmlightParser::SparseBytes() const {
  return static_cast<double>(rows_) * (2 * sizeof(double) + sizeof(int64_t)) +
         static_cast<double>(values_.size()) * (sizeof(double) + sizeof(int32_t));
}

SparseRows SvmlightParser::TakeSparse(Index columns) {
  SparseRows sparse;
  sparse.columns = columns;
  sparse.row_starts.reserve(static_cast<size_t>(rows_) + 1);
  sparse.column_indices.reserve(values_.size());
  for (Index row = 0; row < rows_; ++row) {
    Index index = 0;
    for (Index step = steps_.TakeNext(); step != 0; step = steps_.TakeNext()) {
      index += step;
      sparse.column_indices.push_back(static_cast<int32_t>(index - 1));
    }
    sparse.row_starts.push_back(static_cast<int64_t>(sparse.column_indices.size()));
  }
  sparse.values.reserve(values_.size());
  for (size_t i = 0; i < values_.size(); ++i) {
    sparse.values.push_back(values_.TakeNext());
  }
  return sparse;
}

// The pages of the matrix come into being as those of the values go.
absl::StatusOr<SharedMatrix> SvmlightParser::TakeDense(Index columns) {
  if (columns == 0) {
    return SharedMatrix(RowMatrix(rows_, 0));
  }
  auto buffer = std::make_shared<PageBuffer>();
  const size_t bytes = static_cast<size_t>(rows_) * static_cast<size_t>(columns) * sizeof(double);
  MERCER_RETURN_IF_ERROR(buffer->Reserve(bytes));
  auto* const dense = reinterpret_cast<double*>(buffer->data());
  for (Index row = 0; row < rows_; ++row) {
    Index index = 0;
    for (Index step = steps_.TakeNext(); step != 0; step = steps_.TakeNext()) {
      index += step;
      dense[row * columns + index - 1] = values_.TakeNext();
    }
  }
  buffer->ShrinkToFit(bytes);
  return SharedMatrix(buffer, dense, rows_, columns);
}

absl::StatusOr<FeatureBlock> SvmlightParser::TakeBlock() {
  FeatureBlock block;
  block.name = kDefaultBlock;
  const Index columns = options_.num_columns > 0 ? options_.num_columns : largest_index_;
  const double num_cells = static_cast<double>(rows_) * static_cast<double>(columns);
  block.is_sparse = static_cast<double>(values_.size()) < num_cells / 4;
  if (block.is_sparse) {
    block.sparse = TakeSparse(columns);
    return block;
  }
  MERCER_RETURN_IF_ERROR(CheckMemory(num_cells * sizeof(double) +
                                     static_cast<double>(columns) * sizeof(ColumnSchema)));
  MERCER_ASSIGN_OR_RETURN(block.values, TakeDense(columns));
  for (Index column = 1; column <= columns; ++column) {
    block.columns.push_back({absl::StrCat(column), false, {}});
  }
  return block;
}

Vector TakeVector(PageArray<double>& values) {
  Vector taken(static_cast<Index>(values.size()));
  for (double& value : taken) {
    value = values.TakeNext();
  }
  return taken;
}

absl::StatusOr<Dataset> SvmlightParser::Finish() && {
  if (rows_ == 0) {
    return RowError(1, "the file has no rows");
  }
  Dataset dataset;
  dataset.rows = rows_;
  MERCER_ASSIGN_OR_RETURN(FeatureBlock block, TakeBlock());
  dataset.blocks.push_back(std::move(block));
  dataset.role_columns.push_back(
      {ColumnRole::kTarget, {options_.target_name, false, {}}, TakeVector(labels_)});
  if (queries_.size() > 0) {
    dataset.role_columns.push_back({ColumnRole::kGroup, {"qid", false, {}}, TakeVector(queries_)});
  }
  return dataset;
}

}  // namespace

absl::StatusOr<Dataset> ReadSvmlight(ByteSource& source, const SvmlightOptions& options) {
  if (options.num_columns < 0 || options.num_columns > kMaxSvmlightColumns) {
    return absl::InvalidArgumentError(absl::StrCat(
        "num_columns must be in [0, ", kMaxSvmlightColumns, "], is ", options.num_columns));
  }
  RecordReader lines(source, /*quotes=*/false, ' ');
  SvmlightParser parser(options);
  std::string_view line;
  bool more = true;
  while (more) {
    MERCER_ASSIGN_OR_RETURN(more, lines.Next(&line));
    if (more) {
      MERCER_RETURN_IF_ERROR(parser.ParseLine(line));
    }
  }
  return std::move(parser).Finish();
}

}  // namespace mercer
