// Rows to predict, batch by batch, from CSV files, svmlight files and text files of square matrices.
//
//   RowBatches batches;
//   batches.Add("new.csv", std::move(*OpenCsvRows(source, options)));
//   batches.Add("video.txt", OpenSquareRows("video", std::move(distances), ','));
//   client.Predict(header, [&] { return batches.Next(); }, sink);
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "core/io/text/readers.h"
#include "mercer/v1/prediction_service.pb.h"

namespace mercer::client {

// Reads the rows of one file, one after the other. Errors name the row, counted from 1 in the whole
// file. Not thread-safe.
class RowReader {
 public:
  virtual ~RowReader() = default;
  // The following rows go to `batch`, which other readers share.
  virtual void Begin(v1::Rows& batch) = 0;
  // Adds the next row to `batch`. Returns about how many bytes it takes there, 0 at the end of the file.
  virtual absl::StatusOr<size_t> Add(v1::Rows& batch) = 0;
  // Completes `batch`.
  virtual absl::Status End(v1::Rows& batch) = 0;
};

// As a delimiter: the one that the first line tells.
inline constexpr char kGuessDelimiter = '\0';

// What separates the cells of a line: the comma, the semicolon, the tab or the bar, whichever there are most of outside quotes;
// the comma where there is none.
char GuessDelimiter(std::string_view line);
// The first line of a file, without its end; at most 1 MiB of it. Errors: those of the source.
absl::StatusOr<std::string> ReadFirstLine(ByteSource& source);

struct CsvRowsOptions {
  char delimiter = ',';                   // or kGuessDelimiter
  bool has_header = true;                 // without a header columns are named c1, c2, ...
  std::vector<std::string> ignored = {};  // columns that are not sent
  std::vector<std::string> kept = {};     // columns whose cells `keep` is told, sent or not
  std::function<void(std::vector<std::string>)> keep = {};  // of each row, in the order of `kept`
  // Cells that mean "missing", besides the empty cell.
  std::vector<std::string> missing = {"NA", "NaN", "nan", "?"};
};

// A CSV file, whose first line is read at once. Cells travel as text: the model knows which
// columns are numbers. Errors: those of the source, BAD_HEADER (also: no column that is
// to be kept); later BAD_ROW.
absl::StatusOr<std::unique_ptr<RowReader>> OpenCsvRows(std::unique_ptr<ByteSource> source,
                                                       const CsvRowsOptions& options);
// An svmlight file; labels are dropped. Errors: those of ReadSvmlight.
std::unique_ptr<RowReader> OpenSvmlightRows(std::unique_ptr<ByteSource> source);
// A text file of numbers without a header: kernel values or distances between the rows to predict
// and all training rows. Errors: BAD_ROW.
std::unique_ptr<RowReader> OpenSquareRows(std::string name, std::unique_ptr<ByteSource> source,
                                          char delimiter);

// A batch ends with the row that reaches one of these.
struct BatchLimits {
  int64_t rows = 1000;
  size_t bytes = size_t{1} << 20;
};

// The rows of one or several files side by side.
class RowBatches {
 public:
  explicit RowBatches(const BatchLimits& limits = {}) : limits_(limits) {}

  // `file` names the reader in errors.
  void Add(std::string file, std::unique_ptr<RowReader> reader);
  // The next rows, at least one; a message without any part at the end. Errors: those of the
  // readers; BAD_SHAPE when the files do not have the same number of rows.
  absl::StatusOr<v1::Rows> Next();

 private:
  struct Part {
    std::string file;
    std::unique_ptr<RowReader> reader;
  };

  // Adds a row from every file; returns its bytes, 0 when all files have ended.
  absl::StatusOr<size_t> AddRow(v1::Rows& batch);

  BatchLimits limits_;
  std::vector<Part> parts_;
  int64_t rows_ = 0;  // complete ones, of all batches
};

// A square matrix in a text file of numbers separated by `delimiter`, without a header, as doubles
// in little-endian byte order, row by row. Errors: BAD_ROW.
struct SquareValues {
  int64_t rows = 0;
  int64_t columns = 0;
  std::string bytes;
};
absl::StatusOr<SquareValues> ReadSquareText(ByteSource& source, char delimiter);

}  // namespace mercer::client
