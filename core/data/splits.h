// Hold-out and k-fold splits. Deterministic functions of (seed, shape, classes).
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"

#include "core/base/types.h"

namespace mercer {

struct Split {
  std::vector<Index> training;  // ascending
  std::vector<Index> held_out;  // ascending
};

// Holds out round(fraction * rows) rows at random. With `classes` (one code per row; empty for
// none) each class is divided in the same proportion, at least one row of each class staying in
// training. Errors: kInvalidArgument when fraction is outside (0, 1) or a part would be empty.
absl::StatusOr<Split> HoldOutSplit(Index rows, double fraction, const std::vector<int>& classes,
                                   uint64_t seed);

// `folds` splits; every row is held out exactly once; class proportions kept when `classes` is
// given. Errors: kInvalidArgument unless 2 <= folds <= rows.
absl::StatusOr<std::vector<Split>> KFoldSplits(Index rows, int folds,
                                               const std::vector<int>& classes, uint64_t seed);

}  // namespace mercer
