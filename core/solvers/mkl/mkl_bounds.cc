#include "core/solvers/mkl/mkl_bounds.h"

#include <algorithm>
#include <cmath>

#include "core/base/status/status_macros.h"
#include "core/objectives/dual_ray.h"
#include "core/solvers/svm/svm_certificate.h"

namespace mercer {

namespace {

// Takes `scale` times the function with its best bias into account.
absl::Status TryMultiple(const PointView& point, double half_norm, double scale,
                         const RunContext& context, PointBounds& bounds) {
  const Vector scores = scale * point.scores;
  MERCER_ASSIGN_OR_RETURN(const BiasInterval minimisers,
                          point.loss.ExactBias(point.targets, point.costs, scores, context));
  const double bias = minimisers.chosen;
  MERCER_ASSIGN_OR_RETURN(const double risk,
                          point.loss.TotalValue(point.targets, point.costs, scores, bias, context));
  const double primal = scale * scale * half_norm + risk;
  if (primal < bounds.primal) {
    bounds.primal = primal;
    bounds.function_scale = scale;
    bounds.bias = bias;
  }
  return absl::OkStatus();
}

}  // namespace

double PointBounds::RelativeGap() const {
  const double size = std::max({std::abs(primal), std::abs(dual), 1e-300});
  return std::isfinite(size) ? (primal - dual) / size : kInfinity;
}

absl::StatusOr<PointBounds> BoundPoint(const PointView& point, const RunContext& context) {
  PointBounds bounds;
  const Vector energies = point.energies.cwiseMax(0.0);
  const Vector norms = point.weights.array() * energies.array().sqrt();
  const double half_norm = point.regularizer.HalfSquaredNorm(norms);
  MERCER_RETURN_IF_ERROR(TryMultiple(point, half_norm, 1.0, context, bounds));
  MERCER_RETURN_IF_ERROR(TryMultiple(point, half_norm, point.function_scale, context, bounds));
  // The scale of a machine's certificate goes by its quadratic form, which is below the squared
  // norm as long as weights that maximise the optimum do not.
  if (point.regularizer.has_maximisers() && point.loss.is_piecewise_linear()) {
    const Vector values = bounds.function_scale * point.scores.array() + bounds.bias;
    const double squared = 2.0 * half_norm * bounds.function_scale * bounds.function_scale;
    MERCER_ASSIGN_OR_RETURN(
        const double scale,
        BestPrimalScale(point.loss, point.targets, point.costs, values, squared, context));
    MERCER_RETURN_IF_ERROR(
        TryMultiple(point, half_norm, scale * bounds.function_scale, context, bounds));
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
