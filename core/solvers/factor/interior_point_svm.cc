#include "core/solvers/factor/interior_point_svm.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/base/numeric/index_range.h"
#include "core/base/process/row_vectors.h"
#include "core/base/status/status_macros.h"
#include "core/linalg/blocked_cholesky.h"
#include "core/linalg/shifted_factor.h"

namespace mercer {
namespace {

constexpr double kToBoundary = 0.995;  // of the way that a step may go

// The largest step in [0, 1] with values + step change >= 0.
double LargestStep(const Vector& values, const Vector& change) {
  double step = 1.0;
  for (Index i = 0; i < values.size(); ++i) {
    if (change(i) < 0) {
      step = std::min(step, -values(i) / change(i));
    }
  }
  return step;
}

}  // namespace

// What the predictor and the corrector of one iteration share: one factorisation serves both.
struct InteriorPointSvmSolver::System {
  Vector curvatures;  // z/u + t/(c-u) of each part
  Vector weights;     // D, of each sample
  double total_weight = 0;
  Matrix factor;           // of I + X'DX
  Vector reduced_weights;  // X'D1
  Vector of_bias;          // (I + X'DX)^-1 X'D1
  double of_bias_schur = 0;
  double typical_diagonal = 0;  // of K
};

absl::Status InteriorPointSvmSolver::Prepare(RunContext& context) {
  samples_.clear();
  std::vector<double> signs;
  const bool one_sided = problem().loss->is_margin_loss();
  for (Index i = 0; i < num_samples(); ++i) {
    for (const double sign : {1.0, -1.0}) {
      const double cost = sign > 0 ? box().upper(i) : -box().lower(i);
      if (cost > 0 && (!one_sided || sign == box().targets(i))) {
        samples_.push_back(i);
        signs.push_back(sign);
      }
    }
  }
  const auto count = static_cast<Index>(samples_.size());
  signs_ = Vector::Map(signs.data(), count);
  linear_.resize(count);
  costs_.resize(count);
  for (Index h = 0; h < count; ++h) {
    const Index i = samples_[static_cast<size_t>(h)];
    linear_(h) = box().epsilon - signs_(h) * box().targets(i);
    costs_(h) = signs_(h) > 0 ? box().upper(i) : -box().lower(i);
  }
  return context.CheckCancelled();
}

Vector InteriorPointSvmSolver::DualOf(const Vector& values) const {
  Vector dual = Vector::Zero(num_samples());
  for (Index h = 0; h < values.size(); ++h) {
    dual(samples_[static_cast<size_t>(h)]) += signs_(h) * values(h);
  }
  return dual;
}

// Moves the parts to a dual next to theirs. Parts only become smaller, and by no more than half, so
// that they stay strictly inside their boxes.
void InteriorPointSvmSolver::TakeDual(const Vector& dual, Vector& values) const {
  const Vector excess = DualOf(values) - dual;
  for (Index h = 0; h < values.size(); ++h) {
    const double change = signs_(h) * excess(samples_[static_cast<size_t>(h)]);
    if (change > 0) {
      values(h) = std::max(values(h) - change, 0.5 * values(h));
    }
  }
}

// Begins with the parts in the middle of their boxes, those of the heavier sign scaled to balance,
// and with multipliers of at least the unit of scores that satisfy z - t = slope, so that the dual
// residual is 0.
absl::Status InteriorPointSvmSolver::Begin(RunContext& context) {
  State next;
  next.parts.values = 0.5 * costs_;
  Vector dual = DualOf(next.parts.values);
  problem().loss->RepairDual(problem().targets, problem().costs, true, dual);
  TakeDual(dual, next.parts.values);
  MERCER_ASSIGN_OR_RETURN(Point point, Certify(std::move(dual), context));
  next.scores = point.scores;
  const double unit = box().score_unit;
  const Vector slope = Slope(next);
  next.parts.upper = (slope.cwiseMax(unit) - slope).cwiseMax(unit);
  next.parts.lower = (slope + next.parts.upper).cwiseMax(unit);
  state_ = std::move(next);
  Consider(std::move(point));
  return absl::OkStatus();
}

// The gradient of the Lagrangian in each part, without z and t: linear term, scores and bias with
// the part's sign. It equals z - t at the solution.
Vector InteriorPointSvmSolver::Slope(const State& state) const {
  Vector slope = linear_;
  for (Index h = 0; h < slope.size(); ++h) {
    slope(h) += signs_(h) * (state.scores(samples_[static_cast<size_t>(h)]) + state.bias);
  }
  return slope;
}

// The mean of u z and (c - u) t, summed sample by sample.
double InteriorPointSvmSolver::Complementarity(const Parts& parts) const {
  Vector of_samples = Vector::Zero(num_samples());
  for (Index h = 0; h < parts.values.size(); ++h) {
    of_samples(samples_[static_cast<size_t>(h)]) +=
        parts.values(h) * parts.lower(h) + (costs_(h) - parts.values(h)) * parts.upper(h);
  }
  return SumOfRows(of_samples) / (2.0 * static_cast<double>(parts.values.size()));
}

absl::Status InteriorPointSvmSolver::FactorSystem(const State& state, System& system,
                                                  RunContext& context) const {
  const Parts& parts = state.parts;
  system.curvatures = parts.lower.array() / parts.values.array() +
                      parts.upper.array() / (costs_ - parts.values).array();
  system.weights = Vector::Zero(num_samples());
  for (Index h = 0; h < parts.values.size(); ++h) {
    system.weights(samples_[static_cast<size_t>(h)]) += 1.0 / system.curvatures(h);
  }
  system.total_weight = SumOfRows(system.weights);
  const std::vector<Index> all = IndexRange(0, num_samples());
  MERCER_RETURN_IF_ERROR(kernel().Gram(all, system.weights, system.factor, context));
  system.typical_diagonal = system.factor.diagonal().sum() / system.total_weight;
  MERCER_RETURN_IF_ERROR(FactorShifted(system.factor, context));
  MERCER_RETURN_IF_ERROR(
      kernel().MultiplyTransposed(system.weights, system.reduced_weights, context));
  system.of_bias = system.reduced_weights;
  MERCER_RETURN_IF_ERROR(SolveCholesky(system.factor, system.of_bias, context));
  system.of_bias_schur = system.total_weight - system.reduced_weights.dot(system.of_bias);
  return absl::OkStatus();
}

// Solves the system of the header: change of the dual = goal - D (X v + db 1), such that v is
// X'(change of the dual) and its sum is goal_sum. A second round on the residual refines the
// solution, which a large spread of D makes inexact. `goal` is the header's g; `change` receives
// X v + db 1.
absl::Status InteriorPointSvmSolver::SolveStep(const System& system, const Vector& goal,
                                               double goal_sum, Vector& change, double& bias,
                                               RunContext& context) const {
  bias = 0;
  Vector coefficients = Vector::Zero(rank());
  change = Vector::Zero(num_samples());
  Vector moved = goal;  // the change of the dual
  for (int round = 0; round < 2; ++round) {
    Vector reduced;
    MERCER_RETURN_IF_ERROR(kernel().MultiplyTransposed(moved, reduced, context));
    Vector correction = reduced - coefficients;
    MERCER_RETURN_IF_ERROR(SolveCholesky(system.factor, correction, context));
    const double missing = SumOfRows(moved) - goal_sum - system.reduced_weights.dot(correction);
    const double bias_correction =
        system.of_bias_schur > 1e-15 * system.total_weight ? missing / system.of_bias_schur : 0.0;
    correction -= bias_correction * system.of_bias;
    Vector scores;
    MERCER_RETURN_IF_ERROR(kernel().Multiply(correction, scores, context));
    coefficients += correction;
    bias += bias_correction;
    change.array() += scores.array() + bias_correction;
    moved = goal - system.weights.cwiseProduct(change);
  }
  return absl::OkStatus();
}

// Finds the Newton direction of u z and (c - u) t, linearised: `target` holds what these products
// must change by.
absl::Status InteriorPointSvmSolver::FindDirection(const State& state, const System& system,
                                                   const Parts& target, Direction& direction,
                                                   RunContext& context) const {
  const Parts& parts = state.parts;
  const Vector room = costs_ - parts.values;
  const Vector rhs = parts.lower - parts.upper - Slope(state) +
                     target.lower.cwiseQuotient(parts.values) - target.upper.cwiseQuotient(room);
  const Vector goal = DualOf(rhs.cwiseQuotient(system.curvatures));
  Vector change;
  MERCER_RETURN_IF_ERROR(
      SolveStep(system, goal, -SumOfRows(DualOf(parts.values)), change, direction.bias, context));
  Parts& found = direction.parts;
  found.values.resize(rhs.size());
  for (Index h = 0; h < rhs.size(); ++h) {
    found.values(h) =
        (rhs(h) - signs_(h) * change(samples_[static_cast<size_t>(h)])) / system.curvatures(h);
  }
  found.lower = (target.lower - parts.lower.cwiseProduct(found.values)).cwiseQuotient(parts.values);
  found.upper = (target.upper + parts.upper.cwiseProduct(found.values)).cwiseQuotient(room);
  return absl::OkStatus();
}

double InteriorPointSvmSolver::PrimalStep(const Parts& parts, const Direction& direction) const {
  return std::min(LargestStep(parts.values, direction.parts.values),
                  LargestStep(costs_ - parts.values, -direction.parts.values));
}

double InteriorPointSvmSolver::DualStep(const Parts& parts, const Direction& direction) const {
  return std::min(LargestStep(parts.lower, direction.parts.lower),
                  LargestStep(parts.upper, direction.parts.upper));
}

// The dual with those parts at their bounds that belong there: a part is taken to its bound when it
// is closer to it than its multiplier's pull would move a free one.
Vector InteriorPointSvmSolver::Sharpened(const State& state, double typical_diagonal) const {
  Vector values = state.parts.values;
  for (Index h = 0; h < values.size(); ++h) {
    const double room = costs_(h) - values(h);
    if (values(h) * typical_diagonal < state.parts.lower(h)) {
      values(h) = 0;
    } else if (room * typical_diagonal < state.parts.upper(h)) {
      values(h) = costs_(h);
    }
  }
  return DualOf(values);
}

absl::Status InteriorPointSvmSolver::Advance(RunContext& context) {
  System system;
  const absl::Status factored = FactorSystem(state_, system, context);
  if (absl::IsInvalidArgument(factored)) {
    EndForPrecision();
    return absl::OkStatus();
  }
  MERCER_RETURN_IF_ERROR(factored);
  const Parts& parts = state_.parts;
  const Vector room = costs_ - parts.values;
  Parts target{{}, -parts.values.cwiseProduct(parts.lower), -room.cwiseProduct(parts.upper)};
  Direction direction;
  MERCER_RETURN_IF_ERROR(FindDirection(state_, system, target, direction, context));
  const double mu = Complementarity(parts);
  const double primal = PrimalStep(parts, direction);
  const double dual = DualStep(parts, direction);
  const Parts predicted{parts.values + primal * direction.parts.values,
                        parts.lower + dual * direction.parts.lower,
                        parts.upper + dual * direction.parts.upper};
  // Mehrotra's rule: the predictor aims at mu = 0; the better it does, the smaller the mu that the
  // corrector aims at. The corrector also makes up for the product of the predictor's changes,
  // which the linearisation has left out.
  const double goal = mu * std::pow(Complementarity(predicted) / mu, 3);
  target.lower.array() += goal - direction.parts.values.array() * direction.parts.lower.array();
  target.upper.array() += goal + direction.parts.values.array() * direction.parts.upper.array();
  MERCER_RETURN_IF_ERROR(FindDirection(state_, system, target, direction, context));
  State next = state_;
  const double primal_step = kToBoundary * PrimalStep(parts, direction);
  const double dual_step = kToBoundary * DualStep(parts, direction);
  next.parts.values += primal_step * direction.parts.values;
  next.parts.lower += dual_step * direction.parts.lower;
  next.parts.upper += dual_step * direction.parts.upper;
  next.bias += dual_step * direction.bias;
  const bool inside = next.parts.values.minCoeff() > 0 &&
                      (costs_ - next.parts.values).minCoeff() > 0 &&
                      next.parts.lower.minCoeff() > 0 && next.parts.upper.minCoeff() > 0;
  if (!inside || !std::isfinite(next.bias)) {
    EndForPrecision();
    return absl::OkStatus();
  }
  MERCER_ASSIGN_OR_RETURN(Point point, Certify(DualOf(next.parts.values), context));
  TakeDual(point.dual, next.parts.values);
  next.scores = point.scores;
  if (IsGoodEnough(point)) {
    MERCER_ASSIGN_OR_RETURN(Point sharp,
                            Certify(Sharpened(next, system.typical_diagonal), context));
    point = IsGoodEnough(sharp) ? std::move(sharp) : std::move(point);
  }
  state_ = std::move(next);
  Consider(std::move(point));
  return absl::OkStatus();
}

double InteriorPointSvmSolver::NextCost() const {
  const auto n = static_cast<double>(num_samples());
  const auto r = static_cast<double>(rank());
  return n * r * r + 2.0 * r * r * r + 40.0 * n * r + 500.0 * n;
}

InteriorPointSvmSolver::Sizes InteriorPointSvmSolver::StateSizes() const {
  const Index samples = (problem().costs.array() > 0).count();
  return {problem().loss->is_margin_loss() ? samples : 2 * samples, num_samples()};
}

void InteriorPointSvmSolver::SaveIterate(ByteWriter& writer) const {
  WriteFields(state_, writer, StateSizes());
}

bool InteriorPointSvmSolver::LoadIterate(ByteReader& reader) {
  return ReadFields(reader, state_, StateSizes());
}

}  // namespace mercer
