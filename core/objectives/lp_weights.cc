#include "core/objectives/lp_weights.h"

#include <algorithm>
#include <cmath>

#include <Eigen/Cholesky>

#include "core/base/status_macros.h"

namespace mercer {
namespace {

// The barrier problem in units where the linear term has dual norm 1.
struct BarrierProblem {
  Vector start;
  Vector slope;  // of the model at `start`
  Matrix hessian;
  double p;

  // The model plus barrier at d; infinite outside.
  double Value(const Vector& d, double barrier) const {
    const double slack = 1.0 - d.array().pow(p).sum();
    if (!(slack > 0) || !(d.minCoeff() > 0)) {
      return kInfinity;
    }
    const Vector moved = d - start;
    return slope.dot(moved) + 0.5 * moved.dot(hessian * moved) -
           barrier * (d.array().log().sum() + std::log(slack));
  }
};

// One Newton step for the barrier problem at `d`; false when the centre is reached or no progress
// is possible.
bool BarrierStep(const BarrierProblem& problem, double barrier, Vector& d) {
  const double p = problem.p;
  const Vector powers = d.array().pow(p);
  const double slack = 1.0 - powers.sum();
  // In y = d^{-1} step: D H D + barrier (I + p(p-1) diag(d^p)/slack + p^2 d^p (d^p)'/slack^2).
  const Vector gradient = d.cwiseProduct(problem.slope + problem.hessian * (d - problem.start)) -
                          Vector::Constant(d.size(), barrier) + (barrier * p / slack) * powers;
  Matrix system = d.asDiagonal() * problem.hessian * d.asDiagonal();
  system.diagonal().array() += barrier + barrier * p * (p - 1) / slack * powers.array();
  system.noalias() += (barrier * p * p / (slack * slack)) * powers * powers.transpose();
  const Eigen::LLT<Matrix> factor(system);
  if (factor.info() != Eigen::Success) {
    return false;
  }
  const Vector direction = factor.solve(-gradient);
  const double decrement = -gradient.dot(direction);
  if (!(decrement > 1e-6 * barrier)) {
    return false;
  }
  const double lowest = direction.minCoeff();
  double length = lowest < 0 ? std::min(1.0, -0.95 / lowest) : 1.0;
  const double value = problem.Value(d, barrier);
  for (int trial = 0; trial < 40; ++trial, length *= 0.5) {
    const Vector next = d.array() * (1.0 + length * direction.array());
    if (problem.Value(next, barrier) <= value - 1e-4 * length * decrement) {
      d = next;
      return true;
    }
  }
  return false;
}

}  // namespace

double LpNorm(ConstVectorRef values, double p) {
  if (values.size() == 0) {
    return 0;
  }
  const double largest = values.maxCoeff();
  if (!(largest > 0) || std::isinf(p)) {
    return largest;
  }
  return largest * std::pow((values.array() / largest).pow(p).sum(), 1.0 / p);
}

double DualExponent(double p) {
  if (std::isinf(p)) {
    return 1.0;
  }
  return p == 1.0 ? kInfinity : p / (p - 1.0);
}

Vector UniformWeights(Index num_kernels, double p) {
  return Vector::Constant(num_kernels, std::pow(static_cast<double>(num_kernels), -1.0 / p));
}

double HalfSquaredBlockNorm(ConstVectorRef norms, double p) {
  const double norm = LpNorm(norms, std::isinf(p) ? 2.0 : 2.0 * p / (p + 1.0));
  return 0.5 * norm * norm;
}

Vector WeightsFromNorms(ConstVectorRef norms, double p, ConstVectorRef current) {
  const double largest = norms.size() > 0 ? norms.maxCoeff() : 0;
  if (!(largest > 0)) {
    return current;
  }
  if (std::isinf(p)) {
    return Vector::Ones(norms.size());
  }
  const Eigen::ArrayXd ratios = norms.array() / largest;
  return ratios.pow(2.0 / (p + 1.0)) / std::pow(ratios.pow(2.0 * p / (p + 1.0)).sum(), 1.0 / p);
}

Vector OverRelaxedWeights(ConstVectorRef weights, ConstVectorRef energies, double p) {
  if (weights.size() == 0 || !(energies.maxCoeff() > 0) || !(weights.maxCoeff() > 0)) {
    return weights;
  }
  if (std::isinf(p)) {
    return Vector::Ones(weights.size());
  }
  const Eigen::ArrayXd products =
      (weights.array() / weights.maxCoeff()) * (energies.array().max(0.0) / energies.maxCoeff());
  const double largest = products.maxCoeff();
  if (!(largest > 0)) {
    return weights;
  }
  const Eigen::ArrayXd ratios = products / largest;
  return ratios.pow(1.0 / p) / std::pow(ratios.sum(), 1.0 / p);
}

double BestRayScale(double linear, double curvature, double largest) {
  if (!(linear > 0)) {
    return 0;
  }
  return curvature > 0 ? std::min(linear / curvature, largest) : largest;
}

absl::StatusOr<std::optional<Vector>> MinimizeWeightModel(const WeightModel& model, double p,
                                                          const RunContext& context) {
  const Index m = model.start.size();
  const double unit = LpNorm(model.energies.cwiseMax(0.0), DualExponent(p));
  if (m == 0 || !(unit > 0) || !std::isfinite(unit) || !model.hessian.allFinite()) {
    return std::optional<Vector>();
  }
  const BarrierProblem problem{model.start, -0.5 / unit * model.energies, model.hessian / unit, p};
  Vector d = 0.9 * model.start.cwiseMax(0.0) + 0.1 * UniformWeights(m, p);
  d *= std::pow(0.9, 1.0 / p) / LpNorm(d, p);
  for (double barrier = 0.05; barrier * static_cast<double>(m + 1) >= 1e-11; barrier *= 0.1) {
    for (int step = 0; step < 30 && BarrierStep(problem, barrier, d); ++step) {
      MERCER_RETURN_IF_ERROR(context.CheckCancelled());
    }
  }
  const double norm = LpNorm(d, p);
  if (!(norm > 0) || !d.allFinite()) {
    return std::optional<Vector>();
  }
  return std::optional<Vector>(d / norm);
}

}  // namespace mercer
