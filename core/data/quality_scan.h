// The first pass over the columns and rows, from which all else of quality.h follows.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <vector>

#include "absl/status/status.h"

#include "core/data/block_rows.h"
#include "core/data/dataset.h"
#include "core/data/quality.h"

namespace mercer::quality {

using CancelCheck = std::function<bool()>;

inline bool SameValue(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

// 64 well mixed bits (the finaliser of SplitMix64).
inline uint64_t Mix(uint64_t bits) {
  bits = (bits ^ (bits >> 30)) * 0xBF58476D1CE4E5B9u;
  bits = (bits ^ (bits >> 27)) * 0x94D049BB133111EBu;
  return bits ^ (bits >> 31);
}
// 0 for a zero, so that stored and implied zeros are alike.
inline uint64_t ValueHash(double value) {
  if (value == 0) {
    return 0;
  }
  return std::isnan(value) ? 0x9E3779B97F4A7C15u : Mix(std::bit_cast<uint64_t>(value));
}
// The weight of a value in the sum over a row or column.
inline uint64_t PlaceWeight(Index place) { return Mix(static_cast<uint64_t>(place) + 1) | 1; }

// What one pass says of a column.
struct ColumnScan {
  int64_t missing = 0;
  std::vector<int64_t> missing_rows;
  int64_t nonzeros = 0;  // known ones
  // Boyer and Moore's majority vote among the known values that are not zero: if one value has more than half of them, it
  // is the candidate, with at least as many votes as its surplus.
  double candidate = 0;
  int64_t votes = 0;
  double min = kInfinity;  // of the values visited
  double max = -kInfinity;
  uint64_t hash = 0;  // equal columns have equal ones

  void Visit(Index row, double value) {
    if (std::isnan(value)) {
      VisitMissing(row);
      return;
    }
    min = std::min(min, value);
    max = std::max(max, value);
    if (value != 0) {
      ++nonzeros;
      if (votes == 0) {
        candidate = value;
      }
      votes += value == candidate ? 1 : -1;
    }
  }
  // The values that a sparse block does not store.
  void AddZeros() {
    min = std::min(min, 0.0);
    max = std::max(max, 0.0);
  }
  bool constant() const { return min >= max; }

 private:
  void VisitMissing(Index row) {
    ++missing;
    if (missing_rows.size() < DataQuality::kMaxListedRows) {
      missing_rows.push_back(row + 1);
    }
  }
};

// How many columns of a block are looked at.
inline Index ScannedColumns(const FeatureBlock& block) {
  return std::min(block.num_columns(), DataQuality::kMaxColumns);
}

struct Scan {
  std::vector<std::vector<ColumnScan>> blocks;
  std::vector<ColumnScan> role_columns;
  std::vector<uint64_t> row_hashes;  // of the features; of the first rows
};

absl::Status Cancelled();

// Calls visit(row, column, value) for every cell of a dense block and every stored value of a sparse one, row by row, and
// begin_row(row) before, which answers whether to go on. Errors: kCancelled.
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

// The parts of the answer that need further passes.
absl::Status FindNearlyConstant(const Dataset& dataset, const Scan& scan,
                                const CancelCheck& is_cancelled, DataQuality& quality);
absl::Status FindEqualColumns(const Dataset& dataset, const Scan& scan,
                              const CancelCheck& is_cancelled, DataQuality& quality);
absl::Status FindDuplicateRows(const Dataset& dataset, Scan& scan, const CancelCheck& is_cancelled,
                               DataQuality& quality);
absl::Status FindLeaks(const Dataset& dataset, const Scan& scan, const CancelCheck& is_cancelled,
                       DataQuality& quality);

}  // namespace mercer::quality
