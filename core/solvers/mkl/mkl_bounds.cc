#include "core/solvers/mkl/mkl_bounds.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "core/base/status/status_macros.h"
#include "core/objectives/dual_ray.h"
#include "core/solvers/svm/svm_certificate.h"

namespace mercer {

namespace {

std::vector<SampleRange> MachinesOf(const PointView& point) {
  return point.machines.empty() ? std::vector<SampleRange>{{0, point.targets.size()}}
                                : point.machines;
}

// Takes `scale` times the function with its best biases into account.
absl::Status TryMultiple(const PointView& point, double half_norm, double scale,
                         const RunContext& context, PointBounds& bounds) {
  const Vector scores = scale * point.scores;
  const std::vector<SampleRange> machines = MachinesOf(point);
  Vector biases(static_cast<Index>(machines.size()));
  double risk = 0;
  for (Index m = 0; m < biases.size(); ++m) {
    const auto [first, size] = machines[static_cast<size_t>(m)];
    const auto targets = point.targets.segment(first, size);
    const auto costs = point.costs.segment(first, size);
    const auto of_machine = scores.segment(first, size);
    MERCER_ASSIGN_OR_RETURN(const BiasInterval minimisers,
                            point.loss.ExactBias(targets, costs, of_machine, context));
    biases(m) = minimisers.chosen;
    MERCER_ASSIGN_OR_RETURN(const double of_this,
                            point.loss.TotalValue(targets, costs, of_machine, biases(m), context));
    risk += of_this;
  }
  const double primal = scale * scale * half_norm + risk;
  if (primal < bounds.primal) {
    bounds.primal = primal;
    bounds.function_scale = scale;
    bounds.bias = biases(0);
    bounds.biases = std::move(biases);
  }
  return absl::OkStatus();
}

// The function and its bias at all samples.
Vector ValuesOf(const PointView& point, const PointBounds& bounds) {
  Vector values = bounds.function_scale * point.scores;
  const std::vector<SampleRange> machines = MachinesOf(point);
  for (size_t m = 0; m < machines.size(); ++m) {
    values.segment(machines[m].first, machines[m].size).array() +=
        bounds.biases(static_cast<Index>(m));
  }
  return values;
}

double HalfSquaredNorm(const PointView& point, const Vector& energies) {
  const Vector norms = point.weights.array() * energies.array().sqrt();
  return point.regularizer.HalfSquaredNorm(norms);
}

}  // namespace

double PointBounds::RelativeGap() const {
  const double size = std::max({std::abs(primal), std::abs(dual), 1e-300});
  return std::isfinite(size) ? (primal - dual) / size : kInfinity;
}

absl::StatusOr<PointBounds> BoundPoint(const PointView& point, const RunContext& context) {
  PointBounds bounds;
  bounds.biases = Vector::Zero(static_cast<Index>(MachinesOf(point).size()));
  const Vector energies = point.energies.cwiseMax(0.0);
  const double half_norm_of_dual = HalfSquaredNorm(point, energies);
  const double half_norm = point.function_energies.size() == 0
                               ? half_norm_of_dual
                               : HalfSquaredNorm(point, point.function_energies.cwiseMax(0.0));
  MERCER_RETURN_IF_ERROR(TryMultiple(point, half_norm, 1.0, context, bounds));
  MERCER_RETURN_IF_ERROR(TryMultiple(point, half_norm, point.function_scale, context, bounds));
  // The scale of a machine's certificate goes by its quadratic form, which is below the squared
  // norm as long as weights that maximise the optimum do not.
  if (point.regularizer.has_maximisers() && point.loss.is_piecewise_linear()) {
    const Vector values = ValuesOf(point, bounds);
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
    bounds.weight_gap += std::max(0.0, half_norm_of_dual - 0.5 * quadratic);
  }
  return bounds;
}

}  // namespace mercer
