#include "core/objectives/concave_maximum.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/base/numeric/types.h"

namespace mercer {
namespace {

constexpr double kGoldenPart = 0.3819660112501051;  // of the longer part
constexpr double kTolerance = 1e-8;                 // of the argument
constexpr double kToleranceOfRange = 1e-16;         // where that is about 0
constexpr int kMostEvaluations = 100;

// Brent's names: `best`, `second` and `third` are the points of the largest values so far, the
// maximum is between `low` and `high`.
class BrentSearch {
 public:
  BrentSearch(double low, ConcaveMaximum first, double high)
      : low_(low),
        high_(high),
        least_(kToleranceOfRange * (high - low)),
        best_(first),
        second_(first),
        third_(first) {}

  // Whether the maximum is known to within twice the tolerance.
  bool Ended() const { return std::max(best_.at - low_, high_ - best_.at) <= 2 * Tolerance(); }

  double Next() {
    const double longer = 2 * best_.at < low_ + high_ ? high_ - best_.at : low_ - best_.at;
    double step = ParabolaStep();
    const double before_last = std::exchange(before_last_step_, step_);
    if (!(std::abs(step) < 0.5 * std::abs(before_last)) || best_.at + step <= low_ ||
        best_.at + step >= high_) {
      before_last_step_ = longer;
      step = kGoldenPart * longer;
    }
    // At the vertex a look to each side, the longer one first, shows that the maximum is between.
    // (Brent's own look goes to the side of the parabola's vertex, and the other end of the bracket
    // stays far away.)
    step_ = std::abs(step) >= Tolerance() ? step : std::copysign(Tolerance(), longer);
    return best_.at + step_;
  }

  void Take(ConcaveMaximum point) {
    if (point.value == -kInfinity && best_.value == -kInfinity) {
      high_ = std::min(point.at, best_.at);  // it is finite below
      best_.at = high_;
      return;
    }
    if (point.value >= best_.value) {
      (point.at >= best_.at ? low_ : high_) = best_.at;
      third_ = second_;
      second_ = best_;
      best_ = point;
      return;
    }
    (point.at < best_.at ? low_ : high_) = point.at;
    if (point.value >= second_.value || second_.at == best_.at) {
      third_ = second_;
      second_ = point;
    } else if (point.value >= third_.value || third_.at == best_.at || third_.at == second_.at) {
      third_ = point;
    }
  }

  const ConcaveMaximum& best() const { return best_; }

 private:
  double Tolerance() const { return kTolerance * std::abs(best_.at) + least_; }

  // The step to the vertex of the parabola through the three points.
  double ParabolaStep() const {
    const double r = (best_.at - second_.at) * (best_.value - third_.value);
    const double q = (best_.at - third_.at) * (best_.value - second_.value);
    const double numerator = (best_.at - third_.at) * q - (best_.at - second_.at) * r;
    const double step = -numerator / (2 * (q - r));
    return std::isfinite(step) ? step : kInfinity;
  }

  double low_;
  double high_;
  const double least_;
  ConcaveMaximum best_;
  ConcaveMaximum second_;
  ConcaveMaximum third_;
  double step_ = 0;
  double before_last_step_ = 0;
};

}  // namespace

ConcaveMaximum MaximizeConcave(double low, double guess, double high,
                               const std::function<double(double)>& value_at) {
  const auto at = [&](double point) {
    const double value = value_at(point);
    return ConcaveMaximum{point, std::isnan(value) ? -kInfinity : value};
  };
  const ConcaveMaximum end = at(high);
  const ConcaveMaximum before_end = at(high - kTolerance * (high - low));
  if (end.value >= before_end.value && end.value > -kInfinity) {
    return end;  // what is concave and grows to its end is largest there
  }
  BrentSearch search(low, at(guess), high);
  for (int evaluation = 3; evaluation < kMostEvaluations && !search.Ended(); ++evaluation) {
    search.Take(at(search.Next()));
  }
  return search.best().value >= end.value ? search.best() : end;
}

}  // namespace mercer
