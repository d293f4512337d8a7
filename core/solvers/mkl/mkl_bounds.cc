#include "core/solvers/mkl/mkl_bounds.h"

#include <algorithm>
#include <cmath>

#include "core/base/status/status_macros.h"
#include "core/objectives/dual_ray.h"
#include "core/objectives/lp_weights.h"

namespace mercer {

double PointBounds::RelativeGap() const {
  return (primal - dual) / std::max({std::abs(primal), std::abs(dual), 1e-300});
}

absl::StatusOr<PointBounds> BoundPoint(const PointView& point, const RunContext& context) {
  PointBounds bounds;
  const Vector energies = point.energies.cwiseMax(0.0);
  const Vector norms = point.weights.array() * energies.array().sqrt();
  const double half_norm = HalfSquaredBlockNorm(norms, point.p);
  for (const double scale : {1.0, point.function_scale}) {
    const Vector scores = scale * point.scores;
    MERCER_ASSIGN_OR_RETURN(const BiasInterval minimisers,
                            point.loss.ExactBias(point.targets, point.costs, scores, context));
    const double bias = minimisers.chosen;
    const double primal =
        scale * scale * half_norm + point.loss.TotalValue(point.targets, point.costs, scores, bias);
    if (primal < bounds.primal) {
      bounds.primal = primal;
      bounds.function_scale = scale;
      bounds.bias = bias;
    }
  }
  const double norm = LpNorm(energies, DualExponent(point.p));
  MERCER_ASSIGN_OR_RETURN(
      const DualRay ray,
      MaximizeOnDualRay(point.loss, point.targets, point.costs, point.dual, norm, context));
  bounds.dual_scale = ray.scale;
  bounds.dual = ray.value;
  bounds.weight_gap = 0.5 * std::max(0.0, norm - point.weights.dot(energies));
  return bounds;
}

}  // namespace mercer
