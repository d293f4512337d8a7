// From one table of numbers, a mapped file, to the blocks and columns of a data set.
//
// A large block goes to a file of its own, whose mapping the data set holds: the memory of the process that this takes does
// not grow with the table, but for its columns with a role (pages of mapped files are the system's to take back).
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

#include "core/data/table/dataset.h"
#include "core/io/text/csv_layout.h"

namespace mercer::server {

// Blocks and columns without their numbers, those of the columns with a role not set. `schemas`: of each column of the table;
// `order[b]`: the table's columns of block b, by their position in it.
Dataset ShapeOfTable(const CsvLayout& layout, std::vector<ColumnSchema> schemas, Index rows,
                     std::vector<std::vector<Index>>* order);

// `schemas`: of each column of the table. `path`: files of this name, and more behind it, may be made; none stays. Errors:
// kCancelled, those of the file system.
absl::StatusOr<Dataset> SplitTable(const SharedMatrix& table, const CsvLayout& layout,
                                   std::vector<ColumnSchema> schemas, const std::string& path,
                                   const std::function<bool()>& is_cancelled);

// Numbers of single precision in double precision. `path`, errors: as above.
absl::StatusOr<SharedMatrix> WidenNumbers(const float* numbers, Index rows, Index columns,
                                          const std::string& path,
                                          const std::function<bool()>& is_cancelled);
// How much memory that takes at most.
int64_t WidenBytes(int64_t float_bytes);

// How much memory the splitting, and what is found out of the data set afterwards, takes at most, for a table of so many bytes.
int64_t SplitBytes(int64_t table_bytes, int64_t columns, int64_t role_columns);

}  // namespace mercer::server
