#include "core/objectives/bias_search.h"

#include <cmath>

#include "core/base/process/row_vectors.h"
#include "core/base/status/status_macros.h"

namespace mercer {

BiasInterval MakeBiasInterval(double low, double high) {
  if (std::isfinite(low) && std::isfinite(high)) {
    return {low, high, low + 0.5 * (high - low)};
  }
  return {low, high, std::isfinite(low) ? low : (std::isfinite(high) ? high : 0.0)};
}

absl::StatusOr<BiasInterval> MinimizePiecewiseLinear(double slope, const RowSteps& jumps,
                                                     const RunContext& context) {
  double total = std::abs(slope);
  for (Index k = 0; k < jumps.jumps.cols(); ++k) {
    total += SumOfRows(jumps.jumps.col(k));
  }
  const double zero = 1e-13 * total;
  double low = -kInfinity;
  if (slope < -zero) {
    const auto reaches_zero = [&](double risen, double /*place*/) { return slope + risen + zero; };
    MERCER_ASSIGN_OR_RETURN(const FoundStep first, FindStep(jumps, reaches_zero, context));
    low = std::isfinite(first.place) ? first.place : low;
    if (slope + first.risen > zero) {
      return MakeBiasInterval(low, low);
    }
  }
  const auto exceeds_zero = [&](double risen, double /*place*/) { return slope + risen - zero; };
  MERCER_ASSIGN_OR_RETURN(const FoundStep last, FindStep(jumps, exceeds_zero, context, low));
  return MakeBiasInterval(low, last.place);
}

}  // namespace mercer
