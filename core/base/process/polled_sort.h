// Sorts and shuffles what may be many millions of values, and ends early when its run must.
#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "absl/status/status.h"

#include "core/base/process/paced_check.h"
#include "core/base/process/run_context.h"
#include "core/base/status/status_macros.h"

namespace mercer {

// Merges what is sorted from `begin` and from `middle` on, as std::inplace_merge does: a long merge
// is two shorter ones, once the parts that belong to the second one have changed places. Errors:
// kCancelled, with the values in any order.
template <typename Iterator, typename Less>
absl::Status MergePolled(Iterator begin, Iterator middle, Iterator end, const Less& less,
                         const RunContext& context) {
  constexpr std::ptrdiff_t kPiece = std::ptrdiff_t{1} << 21;
  MERCER_RETURN_IF_ERROR(context.CheckCancelled());
  if (end - begin <= kPiece) {
    std::inplace_merge(begin, middle, end, less);
    return absl::OkStatus();
  }
  Iterator low = begin + (middle - begin) / 2;
  Iterator high = middle + (end - middle) / 2;
  if (middle - begin >= end - middle) {
    high = std::lower_bound(middle, end, *low, less);  // equal values of the left stay before
  } else {
    low = std::upper_bound(begin, middle, *high, less);
  }
  const Iterator second = std::rotate(low, middle, high);
  MERCER_RETURN_IF_ERROR(MergePolled(begin, low, second, less, context));
  return MergePolled(second, high, end, less, context);
}

// Sorts as std::sort does, but by short pieces that are merged pair by pair, so that a long sort
// can be cancelled. The order of equal values depends on nothing but the input. Errors: kCancelled,
// with the values in any order.
template <typename Value, typename Less>
absl::Status SortPolled(std::vector<Value>& values, const Less& less, const RunContext& context) {
  constexpr size_t kPiece = size_t{1} << 16;  // some milliseconds
  const size_t size = values.size();
  const auto at = [&](size_t i) {
    return values.begin() + static_cast<std::ptrdiff_t>(std::min(i, size));
  };
  for (size_t begin = 0; begin < size; begin += kPiece) {
    MERCER_RETURN_IF_ERROR(context.CheckCancelled());
    std::sort(at(begin), at(begin + kPiece), less);
  }
  for (size_t sorted = kPiece; sorted < size; sorted *= 2) {
    for (size_t begin = 0; begin + sorted < size; begin += 2 * sorted) {
      MERCER_RETURN_IF_ERROR(
          MergePolled(at(begin), at(begin + sorted), at(begin + 2 * sorted), less, context));
    }
  }
  return context.CheckCancelled();
}

// Shuffles as RandomStream::Shuffle does. Errors: kCancelled, with the values in any order.
template <typename Value, typename Stream>
absl::Status ShufflePolled(std::vector<Value>& values, Stream& stream, const RunContext& context) {
  constexpr Index kNumbersPerSwap = 32;
  PacedCheck check(context);
  for (size_t i = values.size(); i > 1; --i) {
    MERCER_RETURN_IF_ERROR(check.After(kNumbersPerSwap));
    std::swap(values[i - 1], values[stream.Below(i)]);
  }
  return absl::OkStatus();
}

}  // namespace mercer
