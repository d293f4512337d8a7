#include "core/solvers/mkl/mkl_bounds.h"

#include <algorithm>
#include <cmath>

#include "core/base/status/status_macros.h"
#include "core/objectives/dual_ray.h"

namespace mercer {

double PointBounds::RelativeGap() const {
  const double size = std::max({std::abs(primal), std::abs(dual), 1e-300});
  return std::isfinite(size) ? (primal - dual) / size : kInfinity;
}

absl::StatusOr<PointBounds> BoundPoint(const PointView& point, const RunContext& context) {
  PointBounds bounds;
  const Vector energies = point.energies.cwiseMax(0.0);
  const Vector norms = point.weights.array() * energies.array().sqrt();
  const double half_norm = point.regularizer.HalfSquaredNorm(norms);
  for (const double scale : {1.0, point.function_scale}) {
    const Vector scores = scale * point.scores;
    MERCER_ASSIGN_OR_RETURN(const BiasInterval minimisers,
                            point.loss.ExactBias(point.targets, point.costs, scores, context));
    const double bias = minimisers.chosen;
    MERCER_ASSIGN_OR_RETURN(const double risk, point.loss.TotalValue(point.targets, point.costs,
                                                                     scores, bias, context));
    const double primal = scale * scale * half_norm + risk;
    if (primal < bounds.primal) {
      bounds.primal = primal;
      bounds.function_scale = scale;
      bounds.bias = bias;
    }
  }
  const double support = point.regularizer.Support(energies);
  MERCER_ASSIGN_OR_RETURN(
      const DualRay ray,
      MaximizeOnDualRay(point.loss, point.targets, point.costs, point.dual, support, context));
  bounds.dual_scale = ray.scale;
  bounds.dual = ray.value;
  const double quadratic = point.weights.dot(energies);
  bounds.weight_gap = 0.5 * std::max(0.0, support - quadratic);
  if (point.regularizer.has_maximisers()) {
    bounds.weight_gap += std::max(0.0, half_norm - 0.5 * quadratic);
  }
  return bounds;
}

}  // namespace mercer
