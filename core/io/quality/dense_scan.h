// The first pass over the numbers of a dense block, many columns at a time with the instructions of
// this processor.
//
// Columns are lanes and rows come in their order, so the answer has the same bits on every
// processor, and however the rows are cut into calls.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "core/base/numeric/types.h"
#include "core/io/quality/column_scan.h"

namespace mercer::quality {

struct ScannedPiece;

// Not thread-safe.
class DenseScan {
 public:
  // Scans the first `width` columns of a block; `first_place` is the number of columns of the
  // blocks before it, since hashes depend on a column's place in the data set.
  DenseScan(Index width, Index first_place);

  // The next `count` rows, each `stride` numbers behind the one before. Adds the features' share to
  // the rows' hashes; null: they are not wanted.
  void Add(const double* rows, Index count, Index stride, uint64_t* row_hashes);
  const std::vector<ColumnScan>& columns() const { return columns_; }
  // The figures of the columns. Only the destructor may be called afterwards.
  std::vector<ColumnScan> TakeColumns() { return std::move(columns_); }

 private:
  // The columns from `first` on, cell by cell.
  void ScanRest(ScannedPiece& piece, Index first);

  Index next_row_ = 0;
  std::vector<ColumnScan> columns_;
  std::vector<uint32_t> low_keys_;  // of the columns
  std::vector<uint32_t> high_keys_;
};

// squares[c] += (value - means[c])^2 for the known values of the first columns, as many as there
// are means; row after row.
void AddSquares(const double* rows, Index count, Index stride, const std::vector<double>& means,
                std::vector<double>& squares);

}  // namespace mercer::quality
