// Consecutive indices.
#pragma once

#include <algorithm>
#include <numeric>
#include <vector>

#include "core/base/numeric/types.h"

namespace mercer {

// begin, begin + 1, ..., end - 1; none when end <= begin.
inline std::vector<Index> IndexRange(Index begin, Index end) {
  std::vector<Index> range(static_cast<size_t>(std::max<Index>(0, end - begin)));
  std::iota(range.begin(), range.end(), begin);
  return range;
}

}  // namespace mercer
