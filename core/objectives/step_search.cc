#include "core/objectives/step_search.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numeric>

#include "core/base/process/row_sums.h"
#include "core/base/status/status_macros.h"

namespace mercer {
namespace {

// What the steps say of a place.
struct StepsAt {
  StepsAt& operator+=(const StepsAt& other) {
    risen += other.risen;
    last = std::max(last, other.last);
    next = std::min(next, other.next);
    return *this;
  }

  double risen = 0;          // the sum of the jumps up to it
  double last = -kInfinity;  // the last step up to it
  double next = kInfinity;   // the first one behind it
};

absl::StatusOr<StepsAt> SumSteps(const RowSteps& steps, double place, const RunContext& context) {
  const auto add = [&](Index begin, Index end, StepsAt& sum) {
    for (Index k = 0; k < steps.places.cols(); ++k) {
      for (Index i = begin; i < end; ++i) {
        const double one = steps.places(i, k);
        const bool counts = one <= place;
        sum.risen += counts ? steps.jumps(i, k) : 0.0;
        sum.last = counts ? std::max(sum.last, one) : sum.last;
        sum.next = counts ? sum.next : std::min(sum.next, one);
      }
    }
  };
  return SumOverRows(steps.places.rows(), kRowBlock, StepsAt(), context, add);
}

// The place of a number among all numbers, and back.
int64_t Rank(double number) {
  const auto bits = std::bit_cast<int64_t>(number);
  return bits < 0 ? std::numeric_limits<int64_t>::min() - bits : bits;
}
double NumberOfRank(int64_t rank) {
  return std::bit_cast<double>(rank < 0 ? std::numeric_limits<int64_t>::min() - rank : rank);
}

}  // namespace

// The first place lies in [low, high], which are places of steps. A place between them cuts off a
// part: by turns where a straight line from end to end would be 0, in the middle, and where as many
// numbers lie on one side as on the other, so that it ends after some 250 times at the latest.
absl::StatusOr<FoundStep> FindStep(const RowSteps& steps,
                                   const std::function<double(double risen, double place)>& value,
                                   const RunContext& context, double from) {
  constexpr double kMost = std::numeric_limits<double>::max();
  MERCER_ASSIGN_OR_RETURN(const StepsAt all, SumSteps(steps, kMost, context));
  if (all.last == -kInfinity || !(value(all.risen, all.last) >= 0)) {
    return FoundStep{kInfinity, all.risen, all.risen};
  }
  StepsAt below{.risen = 0, .last = 0, .next = steps.places.minCoeff()};
  if (from > below.next) {
    MERCER_ASSIGN_OR_RETURN(below, SumSteps(steps, from, context));
  }
  double low = below.next;
  double high = all.last;
  double before = below.risen;
  double risen = all.risen;
  double low_value = value(before, low);
  double high_value = value(risen, high);
  for (int trial = std::isfinite(from) ? 0 : 1; low < high; ++trial) {
    double guess = low - low_value / (high_value - low_value) * (high - low);
    if (trial == 0) {
      guess = low;
    } else if (trial % 2 == 0) {
      guess = trial % 4 == 2 ? std::midpoint(low, high)
                             : NumberOfRank(std::midpoint(Rank(low), Rank(high)));
    }
    MERCER_ASSIGN_OR_RETURN(const StepsAt at,
                            SumSteps(steps, guess >= low && guess < high ? guess : low, context));
    const double reached = value(at.risen, at.last);
    if (reached >= 0) {
      high = at.last;
      risen = at.risen;
      high_value = reached;
    } else {
      low = at.next;
      before = at.risen;
      low_value = value(before, low);
    }
  }
  return FoundStep{high, before, risen};
}

}  // namespace mercer
