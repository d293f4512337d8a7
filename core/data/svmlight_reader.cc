#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <list>

#include "absl/strings/str_cat.h"

#include "core/base/status_macros.h"
#include "core/data/number_parser.h"
#include "core/data/reader_errors.h"
#include "core/data/readers.h"
#include "core/data/record_reader.h"

namespace mercer {
namespace {

constexpr Index kMaxIndex = std::numeric_limits<int32_t>::max() - 1;

// A growing array in pieces: never copied while it grows, and given back piece by piece when it
// becomes a vector.
template <typename T>
class PiecewiseArray {
 public:
  void Add(T value) {
    if (pieces_.empty() || pieces_.back().size() == kPiece) {
      pieces_.emplace_back().reserve(kPiece);
    }
    pieces_.back().push_back(value);
    ++size_;
  }
  size_t size() const { return size_; }

  std::vector<T> Take() {
    std::vector<T> all;
    all.reserve(size_);
    for (; !pieces_.empty(); pieces_.pop_front()) {
      all.insert(all.end(), pieces_.front().begin(), pieces_.front().end());
    }
    return all;
  }

 private:
  static constexpr size_t kPiece = size_t{1} << 16;
  std::list<std::vector<T>> pieces_;
  size_t size_ = 0;
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
  absl::Status AddEntry(Index index, double value);
  absl::StatusOr<double> ParseFinite(std::string_view token, std::string_view column) const;
  FeatureBlock TakeBlock();

  // The next word of `*rest`, empty at its end.
  static std::string_view NextToken(std::string_view* rest);

  const SvmlightOptions& options_;
  Index rows_ = 0;
  Index previous_index_ = 0;
  Index largest_index_ = 0;
  PiecewiseArray<double> labels_;
  PiecewiseArray<double> queries_;
  PiecewiseArray<int64_t> row_ends_;
  PiecewiseArray<int32_t> indices_;
  PiecewiseArray<double> values_;
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
  MERCER_ASSIGN_OR_RETURN(const double label, ParseFinite(token, options_.target_name));
  labels_.Add(label);
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
  row_ends_.Add(static_cast<int64_t>(values_.size()));
  return absl::OkStatus();
}

absl::Status SvmlightParser::ParseQuery(std::string_view token) {
  MERCER_ASSIGN_OR_RETURN(const double query, ParseFinite(token, "qid"));
  queries_.Add(query);
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
  const Index largest = options_.num_columns > 0 ? options_.num_columns : kMaxIndex;
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
  if (value != 0) {
    indices_.Add(static_cast<int32_t>(index - 1));
    values_.Add(value);
  }
  return absl::OkStatus();
}

FeatureBlock SvmlightParser::TakeBlock() {
  FeatureBlock block;
  block.name = kDefaultBlock;
  const Index columns = options_.num_columns > 0 ? options_.num_columns : largest_index_;
  const double num_cells = static_cast<double>(rows_) * static_cast<double>(columns);
  block.is_sparse = static_cast<double>(values_.size()) < num_cells / 4;
  SparseRows sparse;
  sparse.columns = columns;
  sparse.row_starts.reserve(static_cast<size_t>(rows_) + 1);
  for (const int64_t end : row_ends_.Take()) {
    sparse.row_starts.push_back(end);
  }
  sparse.column_indices = indices_.Take();
  sparse.values = values_.Take();
  if (block.is_sparse) {
    block.sparse = std::move(sparse);
    return block;
  }
  RowMatrix dense = RowMatrix::Zero(rows_, columns);
  for (Index row = 0; row < rows_; ++row) {
    for (int64_t entry = sparse.row_starts[static_cast<size_t>(row)];
         entry < sparse.row_starts[static_cast<size_t>(row) + 1]; ++entry) {
      dense(row, sparse.column_indices[static_cast<size_t>(entry)]) =
          sparse.values[static_cast<size_t>(entry)];
    }
  }
  block.values = SharedMatrix(std::move(dense));
  for (Index column = 1; column <= columns; ++column) {
    block.columns.push_back({absl::StrCat(column), false, {}});
  }
  return block;
}

Vector ToVector(const std::vector<double>& values) {
  return Eigen::Map<const Vector>(values.data(), static_cast<Index>(values.size()));
}

absl::StatusOr<Dataset> SvmlightParser::Finish() && {
  if (rows_ == 0) {
    return RowError(1, "the file has no rows");
  }
  Dataset dataset;
  dataset.rows = rows_;
  dataset.blocks.push_back(TakeBlock());
  dataset.role_columns.push_back(
      {ColumnRole::kTarget, {options_.target_name, false, {}}, ToVector(labels_.Take())});
  if (queries_.size() > 0) {
    dataset.role_columns.push_back(
        {ColumnRole::kGroup, {"qid", false, {}}, ToVector(queries_.Take())});
  }
  return dataset;
}

}  // namespace

absl::StatusOr<Dataset> ReadSvmlight(ByteSource& source, const SvmlightOptions& options) {
  if (options.num_columns < 0 || options.num_columns > kMaxIndex) {
    return absl::InvalidArgumentError(
        absl::StrCat("num_columns must be in [0, ", kMaxIndex, "], is ", options.num_columns));
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
