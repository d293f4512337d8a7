#include "core/learners/lp_mkl/bounds.h"

#include <algorithm>
#include <cmath>

#include "core/objectives/lp_weights.h"
#include "core/training/certificate.h"

namespace mercer::lp_mkl {

double LargestDualScale(const Loss& loss, const Vector& targets, const Vector& costs,
                        const Vector& dual) {
  double largest = kInfinity;
  for (Index i = 0; i < dual.size(); ++i) {
    const Interval box = loss.DualBox(targets(i), costs(i));
    if (dual(i) != 0) {
      largest = std::min(largest, (dual(i) > 0 ? box.high : box.low) / dual(i));
    }
  }
  return std::isfinite(largest) ? std::max(largest, 1.0) : 1.0;
}

double PointBounds::RelativeGap() const { return mercer::RelativeGap(primal, dual); }

PointBounds BoundPoint(const PointView& point) {
  PointBounds bounds;
  const Vector energies = point.energies.cwiseMax(0.0);
  const Vector norms = point.weights.array() * energies.array().sqrt();
  const double half_norm = HalfSquaredBlockNorm(norms, point.p);
  for (const double scale : {1.0, point.function_scale}) {
    const Vector scores = scale * point.scores;
    const double bias = point.loss.ExactBias(point.targets, point.costs, scores).chosen;
    const double primal =
        scale * scale * half_norm + point.loss.TotalValue(point.targets, point.costs, scores, bias);
    if (primal < bounds.primal) {
      bounds.primal = primal;
      bounds.function_scale = scale;
      bounds.bias = bias;
    }
  }
  // Of a piecewise linear loss the dual's linear part scales with the dual.
  const double linear = point.loss.DualValue(point.targets, point.costs, point.dual);
  const double norm = LpNorm(energies, DualExponent(point.p));
  bounds.dual_scale = BestRayScale(
      linear, norm, LargestDualScale(point.loss, point.targets, point.costs, point.dual));
  bounds.dual = bounds.dual_scale * linear - 0.5 * bounds.dual_scale * bounds.dual_scale * norm;
  bounds.weight_gap = 0.5 * std::max(0.0, norm - point.weights.dot(energies));
  return bounds;
}

}  // namespace mercer::lp_mkl
