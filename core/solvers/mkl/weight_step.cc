#include "core/solvers/mkl/weight_step.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "core/base/status/status_macros.h"
#include "core/objectives/lp_weights.h"
#include "core/solvers/mkl/weight_hessian.h"

namespace mercer {
namespace {

constexpr double kNegligibleWeight = 1e-9;  // at p = 1, against the largest weight

// Kernels whose weight the next step may change: all of them, or at p = 1 those at work and those
// that should be.
std::vector<Index> Candidates(const WeightStepInput& input) {
  double active_energy = 0;
  for (Index k = 0; k < input.weights.size(); ++k) {
    if (input.weights(k) > 0) {
      active_energy = std::max(active_energy, input.energies(k));
    }
  }
  std::vector<Index> candidates;
  for (Index k = 0; k < input.weights.size(); ++k) {
    if (input.p > 1.0 || input.weights(k) > 0 || input.energies(k) > active_energy) {
      candidates.push_back(k);
    }
  }
  return candidates;
}

Vector Normalized(const Vector& weights, double p) {
  const double norm = LpNorm(weights, p);
  return norm > 0 ? Vector(weights / norm) : weights;
}

}  // namespace

Vector ClosedFormStep(const WeightStepInput& input) {
  const Vector norms = input.weights.array() * input.energies.array().max(0.0).sqrt();
  return WeightsFromNorms(norms, input.p, input.weights);
}

Vector OverRelaxedStep(const WeightStepInput& input) {
  Vector weights = OverRelaxedWeights(input.weights, input.energies, input.p);
  if (input.p > 1.0) {
    return weights;
  }
  const double largest = weights.maxCoeff();
  for (const Index k : Candidates(input)) {
    if (input.weights(k) == 0) {
      weights(k) = 1e-2 * largest;
    } else if (weights(k) < 1e-8 * largest && input.energies(k) < 0.9 * input.energies.maxCoeff()) {
      weights(k) = 0;
    }
  }
  return Normalized(weights, input.p);
}

// The minimiser, over weights of norm 1, of a quadratic model of the optimum as a function of the
// weights. Where there is no model, for want of curved samples, for too many kernels or because the
// Hessian cannot be factored, the over-relaxed step is taken.
absl::StatusOr<Vector> NewtonStep(const WeightStepInput& input, RunContext& context) {
  const std::vector<Index> candidates = Candidates(input);
  const Index count = static_cast<Index>(candidates.size());
  if (input.curved.rows.size() < 2 || candidates.size() > kMaxModelKernels) {
    return OverRelaxedStep(input);
  }
  Matrix products(static_cast<Index>(input.curved.rows.size()), count);
  MERCER_RETURN_IF_ERROR(
      input.family.Products(input.dual, candidates, input.curved.rows, products, context));
  MERCER_ASSIGN_OR_RETURN(std::optional<Matrix> hessian,
                          WeightHessian(input.kernel, input.curved, products, context));
  if (!hessian.has_value()) {
    return OverRelaxedStep(input);
  }
  WeightModel model;
  model.hessian = *std::move(hessian);
  model.start.resize(count);
  model.energies.resize(count);
  for (Index j = 0; j < count; ++j) {
    model.start(j) = input.weights(candidates[static_cast<size_t>(j)]);
    model.energies(j) = input.energies(candidates[static_cast<size_t>(j)]);
  }
  MERCER_ASSIGN_OR_RETURN(const std::optional<Vector> minimiser,
                          MinimizeWeightModel(model, input.p, context));
  if (!minimiser.has_value()) {
    return OverRelaxedStep(input);
  }
  Vector weights = Vector::Zero(input.weights.size());
  const double floor = input.p == 1.0 ? kNegligibleWeight * minimiser->maxCoeff() : 0.0;
  for (Index j = 0; j < count; ++j) {
    weights(candidates[static_cast<size_t>(j)]) = (*minimiser)(j) > floor ? (*minimiser)(j) : 0.0;
  }
  return Normalized(weights, input.p);
}

}  // namespace mercer
