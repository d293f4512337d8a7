#include "core/solvers/group/fista_group_solver.h"

#include <cmath>
#include <utility>

#include "core/base/status/status_macros.h"

namespace mercer {
namespace {

constexpr double kLipschitzSlack = 1e-12;  // of the risk: rounding in the test for the constant
constexpr double kMostLipschitz = 1e300;
constexpr double kGapGain = 0.9;
constexpr int64_t kMaxStalledIterations = 20000;

Vector RootRows(const GroupProblem& problem) {
  Vector roots(problem.num_tasks());
  for (Index t = 0; t < problem.num_tasks(); ++t) {
    roots(t) = std::sqrt(static_cast<double>(problem.task(t).targets.size()));
  }
  return roots;
}

// from + factor (to - from).
GroupPoint Extrapolate(const GroupPoint& from, const GroupPoint& to, double factor) {
  return {from.specific + factor * (to.specific - from.specific),
          from.shared + factor * (to.shared - from.shared),
          from.bias + factor * (to.bias - from.bias)};
}

GroupPoint PointDifference(const GroupPoint& a, const GroupPoint& b) {
  return {a.specific - b.specific, a.shared - b.shared, a.bias - b.bias};
}

// The inner product in the variables (W, w, beta), beta(t) = sqrt(n_t) b(t).
double ScaledProduct(const GroupPoint& a, const GroupPoint& b, const Vector& roots) {
  return (a.specific.array() * b.specific.array()).sum() + a.shared.dot(b.shared) +
         (a.bias.array() * b.bias.array() * roots.array().square()).sum();
}

// The derivative of the risk at `at` along `change`.
double RiskSlope(const GroupEvaluation& at, const GroupPoint& change) {
  const Matrix gradient = at.positive + at.negative;
  return (gradient.array() * change.Weights().array()).sum() +
         (at.positive_sum + at.negative_sum).dot(change.bias);
}

}  // namespace

absl::Status FistaGroupSolver::CheckProblem(const GroupProblem& problem) const {
  if (problem.loss->is_piecewise_linear()) {
    return absl::InvalidArgumentError(
        "FISTA needs a loss with a slope: square, squared hinge or logistic");
  }
  return absl::OkStatus();
}

absl::Status FistaGroupSolver::Prepare(Index known, const GroupPoint& /*point*/,
                                       const GroupEvaluation& /*evaluation*/,
                                       RunContext& /*context*/) {
  if (known == 0) {
    state_.lipschitz = 1;
  }
  state_.previous = {};  // no momentum
  state_.momentum = 1;
  state_.best_gap = kInfinity;
  state_.stalls = 0;
  return absl::OkStatus();
}

// The proximal operator of the penalties over the constant at from - gradient / constant, group by
// group. In beta(t) = sqrt(n_t) b(t) the gradient of the biases is slopes / sqrt(n_t), so that b(t)
// moves by slopes / n_t over the constant.
GroupPoint FistaGroupSolver::ProximalStep(const GroupPoint& from, const GroupEvaluation& at) const {
  const Matrix gradient = at.positive + at.negative;
  const double step = 1 / state_.lipschitz;
  GroupPoint next = from;
  if (problem().has_specific()) {
    next.specific -= step * gradient;
  }
  if (problem().has_shared()) {
    next.shared -= step * gradient.rowwise().sum();
  }
  ApplyPenaltyProx(problem(), step * problem().group_weights, next);
  if (problem().bias) {
    const Vector slopes = at.positive_sum + at.negative_sum;
    next.bias -= step * (slopes.array() / RootRows(problem()).array().square()).matrix();
  }
  return next;
}

// Restarts the momentum when it leads uphill: when the last step points back against the way from
// the point before (O'Donoghue and Candes, the gradient scheme).
void FistaGroupSolver::RestartIfUphill(const GroupPoint& from, GroupPoint before) {
  const Vector roots = RootRows(problem());
  if (ScaledProduct(PointDifference(from, point()), PointDifference(point(), before), roots) > 0) {
    state_.momentum = 1;
    state_.previous = {};
  } else {
    state_.previous = std::move(before);
  }
}

// With t' = (1 + sqrt(1 + 4 t^2)) / 2 the step starts from point + (t - 1) / t' (point - previous).
absl::Status FistaGroupSolver::Iterate(RunContext& context) {
  const double next_momentum = 0.5 * (1 + std::sqrt(1 + 4 * state_.momentum * state_.momentum));
  const double factor = (state_.momentum - 1) / next_momentum;
  const bool moves = state_.previous.bias.size() > 0 && factor > 0;
  const GroupPoint from = moves ? Extrapolate(state_.previous, point(), 1 + factor) : point();
  GroupEvaluation at = evaluation();
  if (moves) {
    MERCER_RETURN_IF_ERROR(Evaluate(from, at, context));
  }
  GroupPoint next;
  GroupEvaluation evaluated;
  // Backtracking: the constant is doubled until the quadratic bound with it holds at the new point.
  for (;; state_.lipschitz *= 2) {
    next = ProximalStep(from, at);
    MERCER_RETURN_IF_ERROR(Evaluate(next, evaluated, context));
    const GroupPoint change = PointDifference(next, from);
    const double bound =
        at.risk + RiskSlope(at, change) +
        0.5 * state_.lipschitz * ScaledProduct(change, change, RootRows(problem()));
    if (evaluated.risk <= bound + kLipschitzSlack * std::abs(at.risk) ||
        state_.lipschitz > kMostLipschitz) {
      break;
    }
  }
  GroupPoint before = point();
  MERCER_RETURN_IF_ERROR(
      MoveTo(std::move(next), std::move(evaluated), Objective::kMayRise, context));
  state_.momentum = next_momentum;
  RestartIfUphill(from, std::move(before));
  state_.stalls = certificate().Gap() < kGapGain * state_.best_gap ? 0 : state_.stalls + 1;
  state_.best_gap = state_.stalls == 0 ? certificate().Gap() : state_.best_gap;
  if (state_.stalls > kMaxStalledIterations && stop() == GroupStop::kRunning) {
    EndForPrecision();
  }
  return absl::OkStatus();
}

void FistaGroupSolver::SaveExtra(ByteWriter& writer) const {
  WriteFields(state_, writer, problem());
}

bool FistaGroupSolver::LoadExtra(ByteReader& reader) {
  state_ = {};
  return ReadFields(reader, state_, problem());
}

}  // namespace mercer
