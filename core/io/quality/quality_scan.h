// The first pass over the columns and rows, from which all else of quality.h follows.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <vector>

#include "absl/status/status.h"

#include "core/data/table/block_rows.h"
#include "core/data/table/dataset.h"
#include "core/io/quality/column_scan.h"
#include "core/io/quality/quality.h"

namespace mercer::quality {

using CancelCheck = std::function<bool()>;

// How many columns of a block are looked at.
inline Index ScannedColumns(const FeatureBlock& block) {
  return std::min(block.num_columns(), DataQuality::kMaxColumns);
}

struct Scan {
  std::vector<std::vector<ColumnScan>> blocks;
  std::vector<ColumnScan> role_columns;
  std::vector<uint64_t> row_hashes;  // of the features; of the first rows
};

// How many rows of `dataset` are hashed.
inline size_t HashedRows(Index rows) {
  return static_cast<size_t>(std::min(rows, DataQuality::kMaxHashedRows));
}

absl::Status Cancelled();

// Calls visit(row, column, value) for every cell of a dense block and every stored value of a
// sparse one, row by row, and begin_row(row) before, which answers whether to go on. Errors:
// kCancelled.
template <typename BeginRow, typename Visit>
absl::Status ForEachCell(const FeatureBlock& block, const CancelCheck& is_cancelled,
                         const BeginRow& begin_row, const Visit& visit) {
  const Index width = ScannedColumns(block);
  const Index rows = block.is_sparse ? block.sparse.rows() : block.values.rows();
  const Index poll = RowsPerPoll(block.is_sparse ? 64 : width);
  for (Index row = 0; row < rows; ++row) {
    if (row % poll == 0 && is_cancelled()) {
      return Cancelled();
    }
    if (!begin_row(row)) {
      return absl::OkStatus();
    }
    if (!block.is_sparse) {
      const double* values = block.values.view().data() + row * block.values.cols();
      for (Index column = 0; column < width; ++column) {
        visit(row, column, values[column]);
      }
      continue;
    }
    const auto begin = static_cast<size_t>(block.sparse.row_starts[static_cast<size_t>(row)]);
    const auto end = static_cast<size_t>(block.sparse.row_starts[static_cast<size_t>(row) + 1]);
    for (size_t entry = begin; entry < end; ++entry) {
      if (block.sparse.column_indices[entry] < width) {
        visit(row, Index{block.sparse.column_indices[entry]}, block.sparse.values[entry]);
      }
    }
  }
  return absl::OkStatus();
}

// Errors: kCancelled.
absl::Status ScanDataset(const Dataset& dataset, const CancelCheck& is_cancelled, Scan& scan);
// The part of ScanDataset that is about columns with a role.
absl::Status ScanRoleColumns(const Dataset& dataset, const CancelCheck& is_cancelled, Scan& scan);

// The parts of the answer that need further passes.
absl::Status FindNearlyConstant(const Dataset& dataset, const Scan& scan,
                                const CancelCheck& is_cancelled, DataQuality& quality);
absl::Status FindEqualColumns(const Dataset& dataset, const Scan& scan,
                              const CancelCheck& is_cancelled, DataQuality& quality);
absl::Status FindDuplicateRows(const Dataset& dataset, Scan& scan, const CancelCheck& is_cancelled,
                               DataQuality& quality);
absl::Status FindUnreadable(const Dataset& dataset, const CancelCheck& is_cancelled,
                            DataQuality& quality);
absl::Status FindLeaks(const Dataset& dataset, const Scan& scan, const CancelCheck& is_cancelled,
                       DataQuality& quality);

}  // namespace mercer::quality
