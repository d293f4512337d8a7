// Hold-out and k-fold splits. Deterministic functions of (seed, shape, classes, groups).
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"

#include "core/base/numeric/types.h"
#include "core/base/process/run_context.h"

namespace mercer {

struct Split {
  std::vector<Index> training;  // ascending
  std::vector<Index> held_out;  // ascending
};

// Holds out round(fraction * rows) rows at random. With `classes` (one code per row; empty for
// none) each class is divided in the same proportion, at least one row of each class staying in
// training. Errors: kInvalidArgument when fraction is outside (0, 1) or a part would be empty;
// kCancelled.
absl::StatusOr<Split> HoldOutSplit(Index rows, double fraction, const std::vector<int>& classes,
                                   uint64_t seed, const RunContext& context);

// `folds` splits; every row is held out exactly once; class proportions kept when `classes` is
// given. Errors: kInvalidArgument unless 2 <= folds <= rows; kCancelled.
absl::StatusOr<std::vector<Split>> KFoldSplits(Index rows, int folds,
                                               const std::vector<int>& classes, uint64_t seed,
                                               const RunContext& context);

// The same for rows that belong together: `groups` holds one code (from 0, none left out) per row,
// and the rows of one group stay in one part. Shares of rows and classes are as near to those asked
// for as one pass over the groups, the largest first, brings them; every class that can keep a
// group in training keeps one. Errors: kInvalidArgument when fraction is outside (0, 1) or the
// groups cannot fill both parts; kCancelled.
absl::StatusOr<Split> GroupHoldOutSplit(const std::vector<int>& groups, double fraction,
                                        const std::vector<int>& classes, uint64_t seed,
                                        const RunContext& context);
// The same with groups that stay together. Errors: kInvalidArgument unless 2 <= folds <= number of
// groups; kCancelled.
absl::StatusOr<std::vector<Split>> GroupKFoldSplits(const std::vector<int>& groups, int folds,
                                                    const std::vector<int>& classes, uint64_t seed,
                                                    const RunContext& context);

// One split for each fold 0 .. folds - 1: its rows are held out, all others train. Takes as long as
// the product of rows and folds. Errors: kCancelled.
absl::StatusOr<std::vector<Split>> SplitsOfFolds(const std::vector<int>& fold_of_row, int folds,
                                                 const RunContext& context);

}  // namespace mercer
