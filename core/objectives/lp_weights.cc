#include "core/objectives/lp_weights.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <Eigen/Cholesky>

#include "core/base/status/status_macros.h"

namespace mercer {
namespace {

constexpr double kPathAccuracy = 1e-10;  // of a model whose energies have dual norm 1
constexpr int kMaxPathSteps = 100;
constexpr double kNegligibleWeight = 1e-9;  // at p = 1, against the largest weight

// The model in units where the energies have the dual norm 1, so that accuracies mean the same for
// all problems.
struct ScaledModel {
  Vector start;
  Vector slope;  // at `start`
  Matrix hessian;
  double p;
};

// A point of the primal-dual path: slack belongs to sum_k d(k)^p <= 1, whose multiplier is `norm`,
// and `bounds` are the multipliers of d >= 0.
struct PathPoint {
  Vector d;
  double slack;
  double norm;
  Vector bounds;

  double Complementarity() const { return d.dot(bounds) + slack * norm; }
};

// What is missing for the conditions of optimality, complementarity apart.
struct Residual {
  Vector slope;       // of the Lagrangian, times d
  double constraint;  // sum_k d(k)^p - 1 + slack
};

// The vector of d(k) times the derivative of d(k)^p, which is p d(k)^p.
Vector ScaledNormSlope(const ScaledModel& model, const Vector& d) {
  return model.p * d.array().pow(model.p);
}

Residual FindResidual(const ScaledModel& model, const PathPoint& at) {
  const Vector slope = model.slope + model.hessian * (at.d - model.start) - at.bounds;
  return {at.d.cwiseProduct(slope) + at.norm * ScaledNormSlope(model, at.d),
          at.d.array().pow(model.p).sum() - 1.0 + at.slack};
}

// Newton's system for the conditions of optimality at a point of the path. `norm` is the multiplier
// of sum_k d(k)^p + slack = 1 and `bounds` are those of d >= 0:
//   slope + hessian (d - start) + norm p d^(p-1) - bounds = 0,
//   d bounds = product and slack norm = product, entry by entry.
// Eliminating the changes of slack, norm and bounds leaves one system in the changes of d relative
// to d itself, which stays well scaled where weights go to 0. Not ok when it is not positive
// definite in floating point.
class PathSystem {
 public:
  PathSystem(const ScaledModel& model, const PathPoint& at)
      : at_(at), norm_slope_(ScaledNormSlope(model, at.d)), residual_(FindResidual(model, at)) {
    Matrix system = at.d.asDiagonal() * model.hessian * at.d.asDiagonal();
    system.diagonal() += at.norm * (model.p - 1.0) * norm_slope_ + at.d.cwiseProduct(at.bounds);
    system.noalias() += (at.norm / at.slack) * norm_slope_ * norm_slope_.transpose();
    factor_.compute(system);
  }

  bool ok() const { return factor_.info() == Eigen::Success; }

  // The direction whose changes bring the products of d and bounds, and of slack and norm, to given
  // values, to first order.
  struct Direction {
    Vector relative;
    double slack;
    double norm;
    Vector bounds;
  };
  Direction Solve(const Vector& bound_products, double norm_product) const {
    const double of_norm =
        (norm_product - at_.slack * at_.norm + at_.norm * residual_.constraint) / at_.slack;
    const Vector missing = bound_products - at_.d.cwiseProduct(at_.bounds);
    Direction move;
    move.relative = factor_.solve(missing - residual_.slope - of_norm * norm_slope_);
    move.slack = -residual_.constraint - norm_slope_.dot(move.relative);
    move.norm = (norm_product - at_.norm * move.slack) / at_.slack - at_.norm;
    move.bounds = missing.cwiseQuotient(at_.d) - at_.bounds.cwiseProduct(move.relative);
    return move;
  }
  // The longest step at most 1 along which nothing changes its sign.
  double Longest(const Direction& move) const {
    const double decrease =
        std::max({-move.relative.minCoeff(), -move.bounds.cwiseQuotient(at_.bounds).minCoeff(),
                  -move.slack / at_.slack, -move.norm / at_.norm});
    return decrease > 1.0 ? 1.0 / decrease : 1.0;
  }

 private:
  const PathPoint& at_;
  Vector norm_slope_;
  Residual residual_;
  Eigen::LLT<Matrix> factor_;
};

// Makes a step of Mehrotra's predictor and corrector; false when none is possible. The predictor
// aims at products of 0. The better it does, the smaller the products that the corrector aims at
// (their share is the cube of what it would leave); the corrector also takes the product of the
// predictor's own changes into account.
bool StepAlongPath(const ScaledModel& model, PathPoint& at) {
  constexpr double kShareOfLongest = 0.99;
  const PathSystem system(model, at);
  if (!system.ok()) {
    return false;
  }
  const Index m = at.d.size();
  const auto pairs = static_cast<double>(m + 1);
  const auto predicted = system.Solve(Vector::Zero(m), 0);
  const double reach = system.Longest(predicted);
  PathPoint there{at.d.array() * (1.0 + reach * predicted.relative.array()),
                  at.slack + reach * predicted.slack, at.norm + reach * predicted.norm,
                  at.bounds + reach * predicted.bounds};
  const double share = std::pow(there.Complementarity() / at.Complementarity(), 3);
  const double product = std::max(share, 1e-6) * at.Complementarity() / pairs;
  const Vector second_order = at.d.cwiseProduct(predicted.relative).cwiseProduct(predicted.bounds);
  const auto move = system.Solve(Vector::Constant(m, product) - second_order,
                                 product - predicted.slack * predicted.norm);
  const double length = std::min(1.0, kShareOfLongest * system.Longest(move));
  at.d.array() *= 1.0 + length * move.relative.array();
  at.slack += length * move.slack;
  at.norm += length * move.norm;
  at.bounds += length * move.bounds;
  return at.d.allFinite() && at.bounds.allFinite() && std::isfinite(at.norm) && at.slack > 0;
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

absl::StatusOr<std::optional<Vector>> MinimizeWeightModel(const WeightModel& model, double p,
                                                          const RunContext& context) {
  const Index m = model.start.size();
  const double unit = LpNorm(model.energies.cwiseMax(0.0), DualExponent(p));
  if (m == 0 || !(unit > 0) || !std::isfinite(unit) || !model.hessian.allFinite()) {
    return std::optional<Vector>();
  }
  // The slope of the optimum in the weights is minus half the energies: docs/mathematics/lp_mkl.md,
  // section 3.
  const ScaledModel scaled{model.start, -0.5 / unit * model.energies, model.hessian / unit, p};
  const auto pairs = static_cast<double>(m + 1);
  // The path begins at the present weights, mixed with uniform ones and shrunk, so that nothing is
  // at its bound.
  PathPoint at{0.9 * model.start.cwiseMax(0.0) + 0.1 * UniformWeights(m, p), 0.1, 0.5 / p, {}};
  at.d *= std::pow(1.0 - at.slack, 1.0 / p) / LpNorm(at.d, p);
  at.bounds = (0.1 / pairs) * at.d.cwiseInverse();
  for (int step = 0; step < kMaxPathSteps; ++step) {
    MERCER_RETURN_IF_ERROR(context.CheckCancelled());
    const Residual residual = FindResidual(scaled, at);
    const bool reached = at.Complementarity() <= kPathAccuracy &&
                         residual.slope.lpNorm<1>() <= kPathAccuracy &&
                         std::abs(residual.constraint) <= kPathAccuracy;
    if (reached || !StepAlongPath(scaled, at)) {
      break;
    }
  }
  const double norm = LpNorm(at.d, p);
  if (!(norm > 0) || !at.d.allFinite()) {
    return std::optional<Vector>();
  }
  Vector minimiser = at.d / norm;
  // A point that is worse than the start by the model itself is no use: rounding has spoilt the
  // path.
  const Vector moved = minimiser - scaled.start;
  const double change = scaled.slope.dot(moved) + 0.5 * moved.dot(scaled.hessian * moved);
  return change <= kPathAccuracy ? std::optional<Vector>(std::move(minimiser)) : std::nullopt;
}

double LpBall::HalfSquaredNorm(ConstVectorRef norms) const {
  return HalfSquaredBlockNorm(norms, p_);
}

double LpBall::Support(ConstVectorRef energies) const { return LpNorm(energies, DualExponent(p_)); }

bool LpBall::AreFixed(Index num_kernels) const { return std::isinf(p_) || num_kernels == 1; }

Vector LpBall::Normalized(const Vector& weights) const {
  const double norm = LpNorm(weights, p_);
  return norm > 0 ? Vector(weights / norm) : weights;
}

Vector LpBall::ClosedForm(const Vector& weights, const Vector& energies) const {
  return WeightsFromNorms(weights.array() * energies.array().max(0.0).sqrt(), p_, weights);
}

Vector LpBall::OverRelaxed(const Vector& weights, const Vector& energies) const {
  Vector next = OverRelaxedWeights(weights, energies, p_);
  if (!is_sparse()) {
    return next;
  }
  const double largest = next.maxCoeff();
  for (const Index k : Candidates(weights, energies)) {
    if (weights(k) == 0) {
      next(k) = 1e-2 * largest;
    } else if (next(k) < 1e-8 * largest && energies(k) < 0.9 * energies.maxCoeff()) {
      next(k) = 0;
    }
  }
  return Normalized(next);
}

std::vector<Index> LpBall::Candidates(const Vector& weights, const Vector& energies) const {
  double active_energy = 0;
  for (Index k = 0; k < weights.size(); ++k) {
    if (weights(k) > 0) {
      active_energy = std::max(active_energy, energies(k));
    }
  }
  std::vector<Index> candidates;
  for (Index k = 0; k < weights.size(); ++k) {
    if (!is_sparse() || weights(k) > 0 || energies(k) > active_energy) {
      candidates.push_back(k);
    }
  }
  return candidates;
}

absl::StatusOr<std::optional<Vector>> LpBall::SolveModel(const WeightModel& model,
                                                         const std::vector<Index>& /*candidates*/,
                                                         const RunContext& context) const {
  MERCER_ASSIGN_OR_RETURN(std::optional<Vector> weights, MinimizeWeightModel(model, p_, context));
  if (weights.has_value()) {
    const double floor = is_sparse() ? kNegligibleWeight * weights->maxCoeff() : 0.0;
    *weights = (weights->array() > floor).select(*weights, 0.0);
  }
  return weights;
}

}  // namespace mercer
