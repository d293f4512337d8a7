// The best point of a run of multiple kernel learning, and the best bounds of all its points.
#pragma once

#include <algorithm>
#include <cmath>

#include "core/base/encoding/saved_fields.h"
#include "core/solvers/mkl/mkl_bounds.h"

namespace mercer {

// How many rows and kernels a state of multiple kernel learning is about.
struct MklSizes {
  Index rows;
  Index kernels;
};

struct BestPoint {
  Vector weights;
  Vector dual;  // coefficients of the function: a feasible dual times a scale
  double bias = 0;
  double gap = kInfinity;     // relative, of this very point
  double primal = kInfinity;  // best bounds of all points
  double lower = -kInfinity;

  // Takes a point into account; true when its gap is clearly below that of all before.
  bool Improve(const PointBounds& bounds, const Vector& of_weights, const Vector& of_dual) {
    constexpr double kClearly = 0.98;
    primal = std::min(primal, bounds.primal);
    lower = std::max(lower, bounds.dual);
    const double found = bounds.RelativeGap();
    if (!(found < gap)) {
      return false;
    }
    const bool clearly = found < kClearly * gap;
    Take(bounds, of_weights, of_dual);
    return clearly;
  }
  // Puts a point in the place of the best one; the bounds stay.
  void Take(const PointBounds& bounds, const Vector& of_weights, const Vector& of_dual) {
    gap = bounds.RelativeGap();
    weights = of_weights;
    dual = bounds.function_scale * of_dual;
    bias = bounds.bias;
  }

  static void VisitArrays(auto& visit, auto& self, const MklSizes& of) {
    visit(SizedOrEmpty(self.weights, of.kernels), SizedOrEmpty(self.dual, of.rows));
  }
  static void VisitNumbers(auto& visit, auto& self) {
    visit(self.bias, self.gap, self.primal, self.lower);
    visit.Require([&] {
      const bool whole = self.weights.size() > 0 && self.dual.size() > 0;
      return whole || !std::isfinite(self.gap);
    });
  }
};

}  // namespace mercer
