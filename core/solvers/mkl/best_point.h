// The best point of a run of multiple kernel learning, and the best bounds of all its points.
#pragma once

#include <algorithm>
#include <cmath>

#include "core/base/encoding/saved_fields.h"
#include "core/solvers/mkl/mkl_bounds.h"

namespace mercer {

// How many rows, of all machines together, kernels and machines a state of multiple kernel learning
// is about.
struct MklSizes {
  Index rows;
  Index kernels;
  Index machines = 1;
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
    gap = found;
    weights = of_weights;
    dual = bounds.function_scale * of_dual;
    bias = bounds.bias;
    return clearly;
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

// The best function of a run and the best dual, which may come from different points: the gap
// between them is that of the run.
struct BestPair {
  Vector weights;
  Vector dual;                // coefficients of the function: a feasible dual times a scale
  Vector biases;              // of each machine
  double primal = kInfinity;  // of the function
  double upper = kInfinity;   // the least of all functions
  Vector lower_dual;
  double lower = -kInfinity;

  bool has_function() const { return weights.size() > 0; }
  double RelativeGap() const { return PointBounds{.primal = primal, .dual = lower}.RelativeGap(); }
  // `function`: the coefficients of the function that the bounds are about.
  void Improve(const PointBounds& bounds, const Vector& of_weights, const Vector& function,
               const Vector& of_dual) {
    ImproveFunction(bounds, of_weights, function);
    if (bounds.dual > lower) {
      lower = bounds.dual;
      lower_dual = bounds.dual_scale * of_dual;
    }
  }
  void ImproveFunction(const PointBounds& bounds, const Vector& of_weights,
                       const Vector& function) {
    if (bounds.primal < primal) {
      TakeFunction(bounds, of_weights, function);
    }
  }
  // Also one that is worse.
  void TakeFunction(const PointBounds& bounds, const Vector& of_weights, const Vector& function) {
    primal = bounds.primal;
    upper = std::min(upper, primal);
    weights = of_weights;
    dual = bounds.function_scale * function;
    biases = bounds.biases;
  }

  static void VisitFields(auto& visit, auto& self, const MklSizes& of) {
    visit(SizedOrEmpty(self.weights, of.kernels), SizedOrEmpty(self.dual, of.rows),
          SizedOrEmpty(self.biases, of.machines), self.primal, self.upper,
          SizedOrEmpty(self.lower_dual, of.rows), self.lower);
    visit.Require([&] {
      if (!self.has_function()) {
        return self.dual.size() == 0 && self.lower_dual.size() == 0 && self.primal == kInfinity &&
               self.upper == kInfinity && self.lower == -kInfinity && self.biases.size() == 0;
      }
      const bool whole =
          self.dual.size() > 0 && self.lower_dual.size() > 0 && self.biases.size() > 0;
      return whole && self.weights.allFinite() && self.dual.allFinite() &&
             self.lower_dual.allFinite() && self.biases.allFinite() && std::isfinite(self.primal) &&
             std::isfinite(self.upper) && std::isfinite(self.lower);
    });
  }
};

}  // namespace mercer
