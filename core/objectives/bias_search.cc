#include "core/objectives/bias_search.h"

#include <cmath>

#include "core/base/process/paced_check.h"
#include "core/base/process/polled_sort.h"
#include "core/base/status/status_macros.h"

namespace mercer {

BiasInterval MakeBiasInterval(double low, double high) {
  if (std::isfinite(low) && std::isfinite(high)) {
    return {low, high, low + 0.5 * (high - low)};
  }
  return {low, high, std::isfinite(low) ? low : (std::isfinite(high) ? high : 0.0)};
}

absl::StatusOr<BiasInterval> MinimizePiecewiseLinear(double slope, std::vector<SlopeJump> jumps,
                                                     const RunContext& context) {
  const auto less = [](const SlopeJump& a, const SlopeJump& b) { return a.at < b.at; };
  MERCER_RETURN_IF_ERROR(SortPolled(jumps, less, context));
  PacedCheck check(context);
  double total = std::abs(slope);
  for (const SlopeJump& jump : jumps) {
    MERCER_RETURN_IF_ERROR(check.After(1));
    total += jump.jump;
  }
  const double zero = 1e-13 * total;
  double low = -kInfinity;  // meaningful once the slope has reached zero
  for (const SlopeJump& jump : jumps) {
    MERCER_RETURN_IF_ERROR(check.After(1));
    if (slope < -zero && slope + jump.jump >= -zero) {
      low = jump.at;
    }
    slope += jump.jump;
    if (slope > zero) {
      return MakeBiasInterval(low, jump.at);
    }
  }
  return MakeBiasInterval(low, kInfinity);
}

}  // namespace mercer
