#include "client/cpp/table_rows.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"

#include "client/cpp/blank_rest.h"
#include "core/base/status/errors.h"
#include "core/base/status/status_macros.h"
#include "core/data/table/reader_errors.h"
#include "core/io/text/csv_cells.h"
#include "core/io/text/csv_layout.h"
#include "core/io/text/record_reader.h"

namespace mercer::client {
namespace {

bool Contains(const std::vector<std::string>& list, const std::string& text) {
  return std::find(list.begin(), list.end(), text) != list.end();
}

class CsvRowReader : public RowReader {
 public:
  CsvRowReader(std::unique_ptr<ByteSource> source, const CsvRowsOptions& options)
      : options_(options),
        source_(std::move(source)),
        reader_(*source_, /*quotes=*/true, options.delimiter) {}

  absl::Status ReadHeader() {
    std::string_view first;
    MERCER_ASSIGN_OR_RETURN(const bool any, reader_.Next(&first));
    if (!any || first.empty()) {
      return HeaderError("", any ? "the first line is blank" : "the file is empty");
    }
    CsvOptions csv;
    csv.delimiter = options_.delimiter;
    csv.has_header = options_.has_header;
    MERCER_ASSIGN_OR_RETURN(names_, ReadCsvNames(first, csv));
    if (options_.has_header) {
      reader_.set_num_header_records(1);
    } else {
      first_row_ = std::string(first);
    }
    for (const std::string& name : names_) {
      is_sent_.push_back(!Contains(options_.ignored, name));
    }
    kept_place_.assign(names_.size(), -1);
    for (size_t k = 0; k < options_.kept.size(); ++k) {
      const auto found = std::find(names_.begin(), names_.end(), options_.kept[k]);
      if (found == names_.end()) {
        return HeaderError(options_.kept[k],
                           absl::StrCat("there is no column '", options_.kept[k], "' to be kept"));
      }
      kept_place_[static_cast<size_t>(found - names_.begin())] = static_cast<int>(k);
    }
    return absl::OkStatus();
  }

  void Begin(v1::Rows& batch) override {
    columns_.clear();
    for (size_t c = 0; c < names_.size(); ++c) {
      columns_.push_back(nullptr);
      if (is_sent_[c]) {
        v1::TypedColumn& column = *batch.add_columns();
        column.set_name(names_[c]);
        columns_.back() = column.mutable_texts();
      }
    }
  }

  absl::StatusOr<size_t> Add(v1::Rows&) override {
    if (first_row_.has_value()) {
      const std::string first = *std::exchange(first_row_, std::nullopt);
      return AddRecord(first);
    }
    std::string_view record;
    MERCER_ASSIGN_OR_RETURN(const bool any, reader_.Next(&record));
    if (!any) {
      return 0;
    }
    if (record.empty() && names_.size() > 1) {
      MERCER_RETURN_IF_ERROR(ExpectBlankRest(reader_));
      return 0;
    }
    return AddRecord(record);
  }

  absl::Status End(v1::Rows&) override { return absl::OkStatus(); }

 private:
  // Returns its bytes.
  absl::StatusOr<size_t> AddRecord(std::string_view record) {
    if (!IsCleanText(record)) {  // a message could not carry it
      return RowError(reader_.row(), "is not UTF-8 text without control characters");
    }
    CsvCells cells(record, options_.delimiter);
    size_t column = 0;
    std::vector<std::string> kept(options_.kept.size());
    for (; !cells.AtEnd(); ++column) {
      const absl::StatusOr<CsvCell> cell = cells.Next();
      if (!cell.ok()) {
        return RowError(reader_.row(), std::string(cell.status().message()));
      }
      if (column < columns_.size() && columns_[column] != nullptr) {
        columns_[column]->add_values(IsMissing(*cell) ? "" : std::string(cell->text));
      }
      if (column < kept_place_.size() && kept_place_[column] >= 0) {
        kept[static_cast<size_t>(kept_place_[column])] = std::string(cell->text);
      }
    }
    if (column != names_.size()) {
      return RowError(reader_.row(), absl::StrCat("has ", column, " cells, the ",
                                                  options_.has_header ? "header" : "first row",
                                                  " has ", names_.size()));
    }
    if (options_.keep) {
      options_.keep(std::move(kept));
    }
    return record.size() + 2 * names_.size();  // a key and a length before each cell
  }

  bool IsMissing(const CsvCell& cell) const {
    return !cell.quoted && Contains(options_.missing, std::string(cell.text));
  }

  CsvRowsOptions options_;
  std::unique_ptr<ByteSource> source_;
  RecordReader reader_;
  std::vector<std::string> names_;
  std::optional<std::string> first_row_;  // of a file without a header
  std::vector<bool> is_sent_;
  std::vector<int> kept_place_;  // of each column among those that are kept; -1: it is not
  std::vector<v1::TypedColumn::Texts*> columns_;  // of the current batch; null for ignored ones
};

constexpr size_t kMaxHeadBytes = size_t{1} << 20;

// Bytes up to the first end of a line and a little more, fewer where the source ends.
absl::StatusOr<std::string> ReadHead(ByteSource& source) {
  std::string head;
  while (head.size() < kMaxHeadBytes && head.find('\n') == std::string::npos) {
    char buffer[4096];
    MERCER_ASSIGN_OR_RETURN(const size_t count, source.Read(buffer, sizeof(buffer)));
    if (count == 0) {
      break;
    }
    head.append(buffer, count);
  }
  return head;
}

// What was read of `rest` already, then `rest`.
class ContinuedSource : public ByteSource {
 public:
  ContinuedSource(std::string head, std::unique_ptr<ByteSource> rest)
      : head_(MakeMemorySource(std::move(head))), rest_(std::move(rest)) {}

  absl::StatusOr<size_t> Read(char* buffer, size_t capacity) override {
    MERCER_ASSIGN_OR_RETURN(const size_t count, head_->Read(buffer, capacity));
    return count > 0 ? count : rest_->Read(buffer, capacity);
  }

 private:
  std::unique_ptr<ByteSource> head_;
  std::unique_ptr<ByteSource> rest_;
};

absl::Status OtherNumberOfRows(const std::string& file, const std::string& what) {
  return WithReason(absl::InvalidArgumentError(absl::StrCat("'", file, "' ", what)), "BAD_SHAPE",
                    {{"file", file}});
}

}  // namespace

char GuessDelimiter(std::string_view line) {
  constexpr std::string_view kDelimiters = ",;\t|";  // of those with the same number the first
  size_t counts[kDelimiters.size()] = {};
  bool quoted = false;
  for (const char c : line) {
    quoted = (c == '"') != quoted;
    const size_t which = kDelimiters.find(c);
    if (!quoted && which != std::string_view::npos) {
      ++counts[which];
    }
  }
  return kDelimiters[static_cast<size_t>(std::max_element(std::begin(counts), std::end(counts)) -
                                         std::begin(counts))];
}

absl::StatusOr<std::string> ReadFirstLine(ByteSource& source) {
  MERCER_ASSIGN_OR_RETURN(const std::string head, ReadHead(source));
  return head.substr(0, head.find_first_of("\r\n"));
}

absl::StatusOr<std::unique_ptr<RowReader>> OpenCsvRows(std::unique_ptr<ByteSource> source,
                                                       const CsvRowsOptions& options) {
  CsvRowsOptions known = options;
  if (known.delimiter == kGuessDelimiter) {
    MERCER_ASSIGN_OR_RETURN(std::string head, ReadHead(*source));
    known.delimiter = GuessDelimiter(std::string_view(head).substr(0, head.find('\n')));
    source = std::make_unique<ContinuedSource>(std::move(head), std::move(source));
  }
  auto reader = std::make_unique<CsvRowReader>(std::move(source), known);
  MERCER_RETURN_IF_ERROR(reader->ReadHeader());
  return reader;
}

void RowBatches::Add(std::string file, std::unique_ptr<RowReader> reader) {
  parts_.push_back({std::move(file), std::move(reader)});
}

absl::StatusOr<v1::Rows> RowBatches::Next() {
  v1::Rows batch;
  for (const Part& part : parts_) {
    part.reader->Begin(batch);
  }
  size_t bytes = batch.ByteSizeLong();  // the names of the columns
  int64_t count = 0;
  while (count < limits_.rows && (count == 0 || bytes < limits_.bytes)) {
    MERCER_ASSIGN_OR_RETURN(const size_t row_bytes, AddRow(batch));
    if (row_bytes == 0) {
      break;
    }
    bytes += row_bytes;
    ++count;
    ++rows_;
  }
  if (count == 0) {
    return v1::Rows();
  }
  for (const Part& part : parts_) {
    MERCER_RETURN_IF_ERROR(part.reader->End(batch));
  }
  return batch;
}

absl::StatusOr<size_t> RowBatches::AddRow(v1::Rows& batch) {
  size_t bytes = 0;
  for (const Part& part : parts_) {
    MERCER_ASSIGN_OR_RETURN(const size_t more, part.reader->Add(batch));
    const bool is_first = &part == parts_.data();
    if (!is_first && more == 0 && bytes > 0) {
      return OtherNumberOfRows(
          part.file, absl::StrCat("ends after ", rows_, " rows, '", parts_[0].file, "' has more"));
    }
    if (!is_first && more > 0 && bytes == 0) {
      return OtherNumberOfRows(
          part.file, absl::StrCat("has more than the ", rows_, " rows of '", parts_[0].file, "'"));
    }
    bytes += more;
  }
  return bytes;
}

}  // namespace mercer::client
