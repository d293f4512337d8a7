#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

#include "core/base/status/status_macros.h"
#include "core/data/table/reader_errors.h"
#include "core/io/text/csv_cells.h"
#include "core/io/text/csv_layout.h"
#include "core/io/text/readers.h"
#include "core/io/text/record_reader.h"
#include "server/gateway/rows/row_texts.h"

namespace mercer::gateway {
namespace {

char GuessDelimiter(std::string_view first_line) {
  constexpr std::string_view kDelimiters = ",;\t";
  const auto count = [&](char c) { return std::count(first_line.begin(), first_line.end(), c); };
  return *std::max_element(kDelimiters.begin(), kDelimiters.end(),
                           [&](char a, char b) { return count(a) < count(b); });
}

class CsvTableReader {
 public:
  CsvTableReader(std::string body, const MemoryCheck& check)
      : delimiter_(GuessDelimiter(std::string_view(body).substr(0, body.find('\n')))),
        source_(MakeMemorySource(std::move(body))),
        records_(*source_, /*quotes=*/true, delimiter_),
        columns_(check) {}

  absl::Status Read(v1::Rows& rows) {
    MERCER_RETURN_IF_ERROR(ReadHeader());
    bool at_end = false;
    for (;;) {
      std::string_view record;
      MERCER_ASSIGN_OR_RETURN(const bool any, records_.Next(&record));
      if (!any) {
        return std::move(columns_).MoveTo(rows);
      }
      if (record.empty() && names_.size() > 1) {
        at_end = true;  // blank lines
      } else if (at_end) {
        return RowError(records_.row(), "comes after a blank line");
      } else {
        MERCER_RETURN_IF_ERROR(ReadRecord(record));
      }
    }
  }

 private:
  absl::Status ReadHeader() {
    std::string_view record;
    MERCER_ASSIGN_OR_RETURN(const bool any, records_.Next(&record));
    if (!any || record.empty()) {
      return HeaderError("", "the first line must name the columns");
    }
    CsvOptions options;
    options.delimiter = delimiter_;
    MERCER_ASSIGN_OR_RETURN(names_, ReadCsvNames(record, options));
    missing_ = options.missing;
    records_.set_num_header_records(1);
    return absl::OkStatus();
  }

  absl::Status ReadRecord(std::string_view record) {
    const Index row = records_.row();
    if (!IsCleanText(record)) {  // a message could not carry it
      return RowError(row, "is not UTF-8 text without control characters");
    }
    columns_.BeginRow();
    size_t column = 0;
    for (CsvCells cells(record, delimiter_); !cells.AtEnd(); ++column) {
      const absl::StatusOr<CsvCell> cell = cells.Next();
      if (!cell.ok()) {
        return RowError(row, std::string(cell.status().message()));
      }
      if (column < names_.size()) {
        MERCER_RETURN_IF_ERROR(
            columns_.AddText(names_[column], IsMissing(*cell) ? "" : std::string(cell->text)));
      }
    }
    if (column != names_.size()) {
      return RowError(row, absl::StrCat("has ", column, " cells, the header has ", names_.size()));
    }
    return absl::OkStatus();
  }

  bool IsMissing(const CsvCell& cell) const {
    return !cell.quoted && std::find(missing_.begin(), missing_.end(), cell.text) != missing_.end();
  }

  const char delimiter_;
  const std::unique_ptr<ByteSource> source_;
  RecordReader records_;
  std::vector<std::string> names_;
  std::vector<std::string> missing_;
  RowColumns columns_;
};

}  // namespace

absl::Status ReadCsvRows(std::string body, const MemoryCheck& check, v1::Rows& rows) {
  return CsvTableReader(std::move(body), check).Read(rows);
}

}  // namespace mercer::gateway
