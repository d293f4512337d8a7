// Readers of data files: CSV, svmlight, and plain binary matrices; gzip of all.
//
// A reader takes a ByteSource, so that files, uploads and memory look alike and nothing is read
// twice. All errors are kInvalidArgument with reason BAD_CELL, BAD_ROW, BAD_HEADER or BAD_GZIP and
// say the row (from 1, without the header) and the column by name.
#pragma once

#include <cstddef>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "core/data/table/dataset.h"

namespace mercer {

// Bytes in order. Not thread-safe.
class ByteSource {
 public:
  virtual ~ByteSource() = default;
  // Fills at most `capacity` bytes of `buffer`; returns the number, 0 at the end. Errors: whatever
  // the medium reports.
  virtual absl::StatusOr<size_t> Read(char* buffer, size_t capacity) = 0;
};

std::unique_ptr<ByteSource> MakeMemorySource(std::string bytes);
absl::StatusOr<std::unique_ptr<ByteSource>> OpenFileSource(const std::string& path);
// Inflates `inner` when it begins with gzip's magic bytes (several members allowed), else passes it
// through. A cut-off or damaged stream is kInvalidArgument with reason BAD_GZIP. More than
// `max_bytes` inflated bytes are kResourceExhausted.
std::unique_ptr<ByteSource> MakeInflatingSource(std::unique_ptr<ByteSource> inner,
                                                size_t max_bytes);

struct BlockColumns {
  std::string name;
  std::vector<std::string> columns;  // names, or ranges "first..last" in file order
};

struct CsvOptions {
  char delimiter = ',';
  bool has_header = true;  // without a header columns are named c1, c2, ...
  // Columns with a role other than feature, by name.
  std::map<std::string, ColumnRole> roles;
  // Columns that are categorical although every cell looks like a number (and the reverse is an
  // error at the bad cell).
  std::vector<std::string> categorical;
  std::vector<std::string> numeric;
  // Cells that mean "missing", besides the empty cell.
  std::vector<std::string> missing = {"NA", "NaN", "nan", "?"};
  // Whether in columns of numbers also StandsForNoNumber (number_parser.h) is missing.
  bool usual_marks = true;
  // False: a missing cell is an error. True: it becomes NaN, for preprocessing to impute.
  bool allow_missing = false;
  // Feature blocks; columns that none names go to the block "features". Empty: one block.
  std::vector<BlockColumns> blocks;
  size_t max_columns = 1'000'000;
  // Memory that numbers and names of categories may take; more are kResourceExhausted.
  size_t max_bytes = std::numeric_limits<size_t>::max();
};

// How many rows decide the column types that the options leave open (fewer when they exceed 16 MiB
// of text).
inline constexpr Index kTypeRows = 1000;

// Column types come from the first kTypeRows rows unless stated: a column is numeric when all its
// known cells are numbers, and one is, or none is known. A later text cell in a column taken for
// numeric is an error that says how to declare the column categorical. Quotes are those of RFC 4180. Spaces around an unquoted
// cell are dropped. Columns with the role kIgnored are not kept. Blank lines are allowed at the end
// only.
absl::StatusOr<Dataset> ReadCsv(ByteSource& source, const CsvOptions& options);

// Training makes blocks dense within 8 GiB and keeps 256 bytes for each column: more columns than
// this could be stored and never used.
inline constexpr Index kMaxSvmlightColumns = Index{1} << 25;

struct SvmlightOptions {
  // Number of columns, at most kMaxSvmlightColumns; 0 takes the largest index seen. A larger index
  // in the file is an error.
  Index num_columns = 0;
  std::string target_name = "label";
  // Memory that the numbers may take; more are kResourceExhausted.
  size_t max_bytes = std::numeric_limits<size_t>::max();
};

// "label index:value ...", indices from 1 and ascending, '#' starts a comment, "qid:n" becomes the
// group column. The block is stored sparse when fewer than a quarter of its cells are set, else
// dense.
absl::StatusOr<Dataset> ReadSvmlight(ByteSource& source, const SvmlightOptions& options);

// CSV of `dataset`'s columns, as ReadCsv reads it back (features first, then role columns). Square
// blocks are left out.
std::string WriteCsv(const Dataset& dataset, char delimiter = ',');

}  // namespace mercer
