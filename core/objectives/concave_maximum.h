// The maximum of a concave function of one variable, from its values alone.
#pragma once

#include <functional>

namespace mercer {

struct ConcaveMaximum {
  double at = 0;
  double value = 0;  // of the function there
};

// The maximum of `value_at` over [low, high], low <= guess <= high, all finite: parabolas through
// the three best points, golden sections where they do not help (R. P. Brent, Algorithms for
// Minimization without Derivatives, chapter 5). A maximum at the upper end is seen at once. To half
// the digits of the argument, which give all of those of the value: 8 to 30 evaluations of a smooth
// function when high - low is of the size of the argument, 100 at the most. The function may be
// -infinity, or NaN, beyond some point below which it is finite.
ConcaveMaximum MaximizeConcave(double low, double guess, double high,
                               const std::function<double(double)>& value_at);

}  // namespace mercer
