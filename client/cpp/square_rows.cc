// Square matrices in text files: numbers without a header, a row per line.
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"

#include "client/cpp/blank_rest.h"
#include "client/cpp/table_rows.h"
#include "core/base/status/status_macros.h"
#include "core/data/table/reader_errors.h"
#include "core/io/text/csv_cells.h"
#include "core/io/text/number_parser.h"
#include "core/io/text/record_reader.h"

namespace mercer::client {
namespace {

class SquareLines {
 public:
  SquareLines(ByteSource& source, char delimiter)
      : delimiter_(delimiter), reader_(source, /*quotes=*/false, delimiter) {}

  // Appends the numbers of the next row to `bytes`; false at the end of the file, before which blank lines are allowed.
  absl::StatusOr<bool> Next(std::string& bytes) {
    std::string_view record;
    MERCER_ASSIGN_OR_RETURN(const bool any, reader_.Next(&record));
    if (any && record.empty()) {
      MERCER_RETURN_IF_ERROR(ExpectBlankRest(reader_));
      return false;
    }
    if (!any) {
      return false;
    }
    CsvCells cells(record, delimiter_);
    int64_t count = 0;
    for (; !cells.AtEnd(); ++count) {
      const absl::StatusOr<CsvCell> cell = cells.Next();
      if (!cell.ok()) {
        return RowError(reader_.row(), std::string(cell.status().message()));
      }
      double value = 0.0;
      if (!ParseWholeNumber(cell->text, &value)) {
        return RowError(reader_.row(),
                        absl::StrCat("column ", count + 1, ": not a number: ", Quoted(cell->text)));
      }
      char raw[sizeof(double)];
      std::memcpy(raw, &value, sizeof(double));
      bytes.append(raw, sizeof(double));
    }
    if (columns_ >= 0 && count != columns_) {
      return RowError(reader_.row(),
                      absl::StrCat("has ", count, " numbers, the first row has ", columns_));
    }
    columns_ = count;
    return true;
  }

  int64_t columns() const { return columns_ < 0 ? 0 : columns_; }

 private:
  char delimiter_;
  RecordReader reader_;
  int64_t columns_ = -1;  // none read yet
};

class SquareRowReader : public RowReader {
 public:
  SquareRowReader(std::string name, std::unique_ptr<ByteSource> source, char delimiter)
      : name_(std::move(name)), source_(std::move(source)), lines_(*source_, delimiter) {}

  void Begin(v1::Rows& batch) override {
    v1::SquareRows& square = *batch.add_squares();
    square.set_name(name_);
    values_ = square.mutable_values();
  }

  absl::StatusOr<size_t> Add(v1::Rows&) override {
    const size_t before = values_->raw().size();
    MERCER_ASSIGN_OR_RETURN(const bool any, lines_.Next(*values_->mutable_raw()));
    if (!any) {
      return 0;
    }
    values_->set_rows(values_->rows() + 1);
    values_->set_columns(lines_.columns());
    return values_->raw().size() - before;
  }

  absl::Status End(v1::Rows&) override { return absl::OkStatus(); }

 private:
  std::string name_;
  std::unique_ptr<ByteSource> source_;
  SquareLines lines_;
  v1::Matrix* values_ = nullptr;  // of the current batch
};

}  // namespace

std::unique_ptr<RowReader> OpenSquareRows(std::string name, std::unique_ptr<ByteSource> source,
                                          char delimiter) {
  return std::make_unique<SquareRowReader>(std::move(name), std::move(source), delimiter);
}

absl::StatusOr<SquareValues> ReadSquareText(ByteSource& source, char delimiter) {
  SquareLines lines(source, delimiter);
  SquareValues square;
  while (true) {
    MERCER_ASSIGN_OR_RETURN(const bool any, lines.Next(square.bytes));
    if (!any) {
      square.columns = lines.columns();
      return square;
    }
    ++square.rows;
  }
}

}  // namespace mercer::client
