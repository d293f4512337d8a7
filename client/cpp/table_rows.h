// Rows to predict, batch by batch, from CSV and svmlight files.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

#include "core/data/readers.h"
#include "mercer/v1/prediction_service.pb.h"

namespace mercer::client {

struct RowsOptions {
  char delimiter = ',';
  std::vector<std::string> ignored = {};  // columns that are not sent
  // Cells that mean "missing", besides the empty cell.
  std::vector<std::string> missing = {"NA", "NaN", "nan", "?"};
  int batch_rows = 1000;
};

// Reads the rows of a CSV file with a header. Cells travel as text: the model knows which columns
// are numbers.
class CsvRows {
 public:
  // Reads the header. Errors: those of the source, BAD_HEADER.
  static absl::StatusOr<CsvRows> Open(std::unique_ptr<ByteSource> source,
                                      const RowsOptions& options);
  CsvRows(CsvRows&&) noexcept;
  CsvRows& operator=(CsvRows&&) noexcept;
  ~CsvRows();

  // At most batch_rows rows; without columns at the end. Errors: BAD_ROW.
  absl::StatusOr<v1::Rows> Next();
  // Rows that Next() has returned so far.
  int64_t rows() const;

 private:
  struct State;
  explicit CsvRows(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// All rows of an svmlight file; labels are dropped. Errors: those of ReadSvmlight.
absl::StatusOr<v1::Rows> ReadSvmlightRows(ByteSource& source);

// A square matrix in a text file of numbers separated by `delimiter`, without a header, as doubles
// in little-endian byte order, row by row. Errors: BAD_CELL, BAD_ROW.
struct SquareValues {
  int64_t rows = 0;
  int64_t columns = 0;
  std::string bytes;
};
absl::StatusOr<SquareValues> ReadSquareText(ByteSource& source, char delimiter);

}  // namespace mercer::client
