// Rows of a feature block as plain arrays, whether the block is dense or sparse.
#pragma once

#include <algorithm>
#include <vector>

#include "core/data/table/dataset.h"

namespace mercer {

// How many rows of `width` columns a pass may go through between two looks at cancellation: some
// milliseconds of work.
inline Index RowsPerPoll(Index width) {
  constexpr Index kCells = Index{1} << 18;
  return std::max<Index>(1, kCells / std::max<Index>(1, width));
}

class BlockRows {
 public:
  // The first `width` columns; a sparse block has no entries beyond them. `block` must outlive
  // this.
  BlockRows(const FeatureBlock& block, Index width)
      : block_(block), expanded_(block.is_sparse ? static_cast<size_t>(width) : 0, 0.0) {}

  // The values of row `row`. Valid until the next call.
  const double* Row(Index row) {
    if (!block_.is_sparse) {
      return block_.values.view().data() + row * block_.values.cols();
    }
    const SparseRows& sparse = block_.sparse;
    for (int64_t entry = begin_; entry < end_; ++entry) {
      expanded_[static_cast<size_t>(sparse.column_indices[static_cast<size_t>(entry)])] = 0;
    }
    begin_ = sparse.row_starts[static_cast<size_t>(row)];
    end_ = sparse.row_starts[static_cast<size_t>(row) + 1];
    for (int64_t entry = begin_; entry < end_; ++entry) {
      expanded_[static_cast<size_t>(sparse.column_indices[static_cast<size_t>(entry)])] =
          sparse.values[static_cast<size_t>(entry)];
    }
    return expanded_.data();
  }

 private:
  const FeatureBlock& block_;
  std::vector<double> expanded_;  // zero except at the entries [begin_, end_)
  int64_t begin_ = 0;
  int64_t end_ = 0;
};

}  // namespace mercer
