#include "tests/core/learners/lp_mkl/lp_mkl_reference.h"

#include <algorithm>
#include <cmath>

namespace mercer::lp_mkl {
namespace {

Vector Energies(const ReferenceProblem& problem, const Vector& dual) {
  Vector energies(static_cast<Index>(problem.grams.size()));
  for (size_t k = 0; k < problem.grams.size(); ++k) {
    energies(static_cast<Index>(k)) = std::max(dual.dot(problem.grams[k] * dual), 0.0);
  }
  return energies;
}

double Exponent(double p) { return std::isinf(p) ? 1.0 : p / (p - 1.0); }

double Norm(const Vector& energies, double q) {
  const double largest = energies.maxCoeff();
  return largest > 0 ? largest * std::pow((energies / largest).array().pow(q).sum(), 1.0 / q) : 0.0;
}

// a = u - v with 0 <= u, v <= cost, stacked.
Vector Difference(const Vector& parts) {
  const Index n = parts.size() / 2;
  return parts.head(n) - parts.tail(n);
}

double Value(const ReferenceProblem& problem, const Vector& parts) {
  const Vector dual = Difference(parts);
  return problem.targets.dot(dual) - problem.epsilon * parts.sum() -
         0.5 * Norm(Energies(problem, dual), Exponent(problem.p));
}

// y -+ epsilon, less the gradient of half the norm: sum_k d_k K_k a.
Vector Gradient(const ReferenceProblem& problem, const Vector& parts) {
  const Vector dual = Difference(parts);
  const Vector weights = ReferenceWeights(problem, dual);
  Vector slope = problem.targets;
  for (size_t k = 0; k < problem.grams.size(); ++k) {
    slope -= weights(static_cast<Index>(k)) * (problem.grams[k] * dual);
  }
  Vector gradient(parts.size());
  gradient << slope, -slope;
  return gradient.array() - problem.epsilon;
}

// The nearest point with 0 <= parts <= cost and sum u = sum v: bisection on the multiplier of the
// sum.
Vector Project(const Vector& point, double cost) {
  const Index n = point.size() / 2;
  double low = -1e6;
  double high = 1e6;
  Vector parts(point.size());
  for (int i = 0; i < 120; ++i) {
    const double shift = 0.5 * (low + high);
    parts.head(n) = (point.head(n).array() - shift).max(0.0).min(cost);
    parts.tail(n) = (point.tail(n).array() + shift).max(0.0).min(cost);
    (parts.head(n).sum() > parts.tail(n).sum() ? low : high) = shift;
  }
  return parts;
}

}  // namespace

double ReferenceValue(const ReferenceProblem& problem, const Vector& dual) {
  return problem.targets.dot(dual) - problem.epsilon * dual.lpNorm<1>() -
         0.5 * Norm(Energies(problem, dual), Exponent(problem.p));
}

Vector ReferenceWeights(const ReferenceProblem& problem, const Vector& dual) {
  const Vector energies = Energies(problem, dual);
  const double q = Exponent(problem.p);
  const double norm = Norm(energies, q);
  return norm > 0 ? Vector((energies / norm).array().pow(q - 1.0))
                  : Vector(Vector::Zero(energies.size()));
}

ReferenceSolution SolveReference(const ReferenceProblem& problem) {
  const Index n = problem.targets.size();
  Vector parts = Vector::Zero(2 * n);
  Vector ahead = parts;
  double momentum = 1;
  double step = 1;
  for (int iteration = 0; iteration < 200'000; ++iteration) {
    const Vector gradient = Gradient(problem, ahead);
    const double value = Value(problem, ahead);
    Vector next = Project(ahead + step * gradient, problem.cost);
    // The step is halved until the quadratic model of that step is a lower bound.
    while (Value(problem, next) < value + gradient.dot(next - ahead) -
                                      (next - ahead).squaredNorm() / (2 * step) -
                                      1e-15 * std::abs(value) &&
           step > 1e-12) {
      step *= 0.5;
      next = Project(ahead + step * gradient, problem.cost);
    }
    const bool restart = gradient.dot(next - parts) < 0;
    const double grown = restart ? 1 : 0.5 * (1 + std::sqrt(1 + 4 * momentum * momentum));
    ahead = restart ? next : Vector(next + (momentum - 1) / grown * (next - parts));
    const double moved = (next - parts).lpNorm<Eigen::Infinity>();
    parts = next;
    momentum = grown;
    if (moved <= 1e-13 * problem.cost && iteration > 100) {
      break;
    }
    step *= 1.02;
  }
  const Vector dual = Difference(parts);
  return {dual, ReferenceValue(problem, dual)};
}

}  // namespace mercer::lp_mkl
