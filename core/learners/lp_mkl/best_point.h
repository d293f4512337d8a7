// The best point of a run of lp-norm MKL, and the best bounds of all its points.
#pragma once

#include <cmath>

#include "core/training/contract/resumable_learner.h"

namespace mercer::lp_mkl {

struct BestPoint {
  Vector weights;
  Vector dual;  // coefficients of the function: a feasible dual times a scale
  double bias = 0;
  double gap = kInfinity;     // relative, of this very point
  double primal = kInfinity;  // best bounds of all points
  double lower = -kInfinity;

  static void VisitArrays(auto& visit, auto& self, const StateSizes& of) {
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

}  // namespace mercer::lp_mkl
