#include "core/data/splits/splits.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "absl/strings/str_cat.h"

#include "core/base/numeric/random.h"
#include "core/base/process/paced_check.h"
#include "core/base/process/polled_sort.h"
#include "core/base/status/status_macros.h"

namespace mercer {
namespace {

// Of PacedCheck: to put a row into a list takes as long as to compute so many numbers.
constexpr Index kNumbersPerListedRow = 16;

absl::Status CheckClasses(Index rows, const std::vector<int>& classes) {
  if (!classes.empty() && static_cast<Index>(classes.size()) != rows) {
    return absl::InvalidArgumentError(
        absl::StrCat(classes.size(), " class codes for ", rows, " rows"));
  }
  return absl::OkStatus();
}

// The rows of each class in ascending order of the codes, each list shuffled; one list when there
// are no classes.
absl::StatusOr<std::vector<std::vector<Index>>> ShuffledClasses(Index rows,
                                                                const std::vector<int>& classes,
                                                                uint64_t seed,
                                                                std::string_view purpose,
                                                                const RunContext& context) {
  PacedCheck check(context);
  std::map<int, std::vector<Index>> by_code;
  for (Index row = 0; row < rows; ++row) {
    MERCER_RETURN_IF_ERROR(check.After(kNumbersPerListedRow));
    by_code[classes.empty() ? 0 : classes[static_cast<size_t>(row)]].push_back(row);
  }
  std::vector<std::vector<Index>> lists;
  for (auto& [code, members] : by_code) {
    RandomStream stream(seed, purpose, lists.size());
    MERCER_RETURN_IF_ERROR(ShufflePolled(members, stream, context));
    lists.push_back(std::move(members));
  }
  return lists;
}

// How many rows of each class to hold out: `total` in proportion, by largest remainders (ties: the
// first class), and at most all rows of a class but one.
std::vector<Index> HeldOutCounts(const std::vector<std::vector<Index>>& classes, Index rows,
                                 Index total) {
  std::vector<Index> counts;
  std::vector<double> remainders;
  for (const std::vector<Index>& members : classes) {
    const auto size = static_cast<Index>(members.size());
    const double quota =
        static_cast<double>(total) * static_cast<double>(size) / static_cast<double>(rows);
    counts.push_back(std::min(static_cast<Index>(quota), size - 1));
    remainders.push_back(quota - static_cast<double>(counts.back()));
  }
  std::vector<size_t> order(classes.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return remainders[a] > remainders[b]; });
  Index missing = total - std::accumulate(counts.begin(), counts.end(), Index{0});
  bool progress = true;
  while (missing > 0 && progress) {
    progress = false;
    for (const size_t c : order) {
      if (missing > 0 && counts[c] + 1 < static_cast<Index>(classes[c].size())) {
        ++counts[c];
        --missing;
        progress = true;
      }
    }
  }
  return counts;
}

// The split that holds out the first `counts[c]` rows of each list.
absl::StatusOr<Split> TakeFirst(const std::vector<std::vector<Index>>& lists,
                                const std::vector<Index>& counts, Index rows,
                                const RunContext& context) {
  PacedCheck check(context);
  std::vector<bool> is_held_out(static_cast<size_t>(rows), false);
  for (size_t c = 0; c < lists.size(); ++c) {
    for (Index i = 0; i < counts[c]; ++i) {
      MERCER_RETURN_IF_ERROR(check.After(kNumbersPerListedRow));
      is_held_out[static_cast<size_t>(lists[c][static_cast<size_t>(i)])] = true;
    }
  }
  Split split;
  for (Index row = 0; row < rows; ++row) {
    MERCER_RETURN_IF_ERROR(check.After(kNumbersPerListedRow));
    (is_held_out[static_cast<size_t>(row)] ? split.held_out : split.training).push_back(row);
  }
  return split;
}

}  // namespace

absl::StatusOr<Split> HoldOutSplit(Index rows, double fraction, const std::vector<int>& classes,
                                   uint64_t seed, const RunContext& context) {
  MERCER_RETURN_IF_ERROR(CheckClasses(rows, classes));
  if (!(fraction > 0 && fraction < 1)) {
    return absl::InvalidArgumentError(
        absl::StrCat("the held-out fraction must be in (0, 1), is ", fraction));
  }
  const auto total = static_cast<Index>(std::llround(fraction * static_cast<double>(rows)));
  MERCER_ASSIGN_OR_RETURN(const std::vector<std::vector<Index>> lists,
                          ShuffledClasses(rows, classes, seed, "holdout-split", context));
  const std::vector<Index> counts =
      classes.empty() ? std::vector<Index>(lists.size(), total) : HeldOutCounts(lists, rows, total);
  MERCER_ASSIGN_OR_RETURN(Split split, TakeFirst(lists, counts, rows, context));
  if (split.held_out.empty() || split.training.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("holding out ", fraction, " of ", rows, " rows leaves ", split.training.size(),
                     " for training and ", split.held_out.size(), " held out"));
  }
  return split;
}

absl::StatusOr<std::vector<Split>> KFoldSplits(Index rows, int folds,
                                               const std::vector<int>& classes, uint64_t seed,
                                               const RunContext& context) {
  MERCER_RETURN_IF_ERROR(CheckClasses(rows, classes));
  if (folds < 2 || folds > rows) {
    return absl::InvalidArgumentError(
        absl::StrCat("the number of folds must be in [2, ", rows, "], is ", folds));
  }
  // Dealing the classes one after the other, as cards, keeps both the folds and the classes within
  // one row of equal shares.
  std::vector<int> fold_of_row(static_cast<size_t>(rows));
  int next_fold = 0;
  PacedCheck check(context);
  MERCER_ASSIGN_OR_RETURN(const std::vector<std::vector<Index>> lists,
                          ShuffledClasses(rows, classes, seed, "k-fold-splits", context));
  for (const std::vector<Index>& members : lists) {
    for (const Index row : members) {
      MERCER_RETURN_IF_ERROR(check.After(kNumbersPerListedRow));
      fold_of_row[static_cast<size_t>(row)] = next_fold;
      next_fold = (next_fold + 1) % folds;
    }
  }
  return SplitsOfFolds(fold_of_row, folds, context);
}

absl::StatusOr<std::vector<Split>> SplitsOfFolds(const std::vector<int>& fold_of_row, int folds,
                                                 const RunContext& context) {
  std::vector<Split> splits(static_cast<size_t>(folds));
  std::vector<size_t> sizes(splits.size(), 0);
  for (const int fold : fold_of_row) {
    ++sizes[static_cast<size_t>(fold)];
  }
  // One list after the other: side by side they would miss the processor's caches at every row.
  for (size_t fold = 0; fold < splits.size(); ++fold) {
    MERCER_RETURN_IF_ERROR(context.CheckCancelled());
    Split& split = splits[fold];
    split.held_out.reserve(sizes[fold]);
    split.training.reserve(fold_of_row.size() - sizes[fold]);
    for (size_t row = 0; row < fold_of_row.size(); ++row) {
      (static_cast<size_t>(fold_of_row[row]) == fold ? split.held_out : split.training)
          .push_back(static_cast<Index>(row));
    }
  }
  return splits;
}

}  // namespace mercer
