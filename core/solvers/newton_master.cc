#include "core/solvers/newton_master.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/base/status_macros.h"
#include "core/solvers/master_model.h"

namespace mercer {
namespace {

constexpr double kModelShare = 1e-3;          // of the residual that solving the model leaves
constexpr double kSufficientDecrease = 1e-4;  // Armijo's rule
constexpr int kMaxHalvings = 30;
constexpr double kRounding = 1e-14;  // of the objective: changes below it say nothing
constexpr double kGapProgress = 0.7;
constexpr int64_t kMaxNewtonStalls = 3;

// The risk at start + size (end - start), from the scores at both.
double RiskBetween(const MasterProblem& problem, const MasterEvaluation& start,
                   const MasterEvaluation& end, double size) {
  double risk = 0;
  for (Index t = 0; t < problem.num_tasks(); ++t) {
    const MasterTask& task = problem.task(t);
    const Vector& from = start.scores[static_cast<size_t>(t)];
    const Vector scores = from + size * (end.scores[static_cast<size_t>(t)] - from);
    risk += problem.loss->TotalValue(task.targets, task.costs, scores, 0.0);
  }
  return risk;
}

}  // namespace

absl::Status NewtonMaster::CheckProblem(const MasterProblem& problem) const {
  if (problem.loss->is_piecewise_linear()) {
    return absl::InvalidArgumentError(
        "Newton's method needs a loss with curvature: square, squared hinge or logistic");
  }
  return absl::OkStatus();
}

absl::Status NewtonMaster::Prepare(Index known, const MasterPoint& /*point*/,
                                   const MasterEvaluation& /*evaluation*/, RunContext& context) {
  if (known == 0) {
    curvature_.Clear();
  } else {
    CountPass();
    MERCER_RETURN_IF_ERROR(curvature_.Extend(problem(), known, context));
  }
  stalls_ = 0;
  return absl::OkStatus();
}

absl::StatusOr<NewtonMaster::Direction> NewtonMaster::FindDirection(RunContext& context) {
  bool rows_used = false;
  MERCER_RETURN_IF_ERROR(curvature_.Update(problem(), evaluation(), &rows_used, context));
  if (rows_used) {
    CountPass();
  }
  const Matrix by_weights = evaluation().positive + evaluation().negative;
  const Vector by_bias = evaluation().positive_sum + evaluation().negative_sum;
  Matrix reduced = by_weights;
  for (Index t = 0; t < problem().num_tasks(); ++t) {
    if (problem().bias && curvature_.weight_sum(t) > 0) {
      reduced.col(t) -= curvature_.column_sums(t) * (by_bias(t) / curvature_.weight_sum(t));
    }
  }
  MasterModel model(problem(), point(), curvature_.Hessians(problem()), std::move(reduced));
  MERCER_RETURN_IF_ERROR(model.Minimize(kModelShare, context));
  Direction direction{{model.specific() - point().specific, model.shared() - point().shared,
                       Vector::Zero(problem().num_tasks())},
                      0};
  const Matrix weights = direction.change.Weights();
  for (Index t = 0; problem().bias && t < problem().num_tasks(); ++t) {
    if (curvature_.weight_sum(t) > 0) {
      direction.change.bias(t) =
          -(by_bias(t) + curvature_.column_sums(t).dot(weights.col(t))) / curvature_.weight_sum(t);
    }
  }
  direction.slope =
      (by_weights.array() * weights.array()).sum() + by_bias.dot(direction.change.bias) +
      PenaltyValue(problem(), {model.specific(), model.shared(), {}}) - evaluation().penalty;
  return direction;
}

MasterPoint NewtonMaster::PointAt(const Direction& direction, double size) const {
  return {point().specific + size * direction.change.specific,
          point().shared + size * direction.change.shared,
          point().bias + size * direction.change.bias};
}

double NewtonMaster::SearchSize(const Direction& direction, const MasterEvaluation& end) const {
  double size = 0.5;
  double best = 0;
  double best_objective = kInfinity;
  for (int halving = 0; halving < kMaxHalvings; ++halving, size *= 0.5) {
    const double objective = RiskBetween(problem(), evaluation(), end, size) +
                             PenaltyValue(problem(), PointAt(direction, size));
    if (best > 0 && !(objective < best_objective)) {
      break;  // halving on does not help any more
    }
    if (objective <= evaluation().objective() + kSufficientDecrease * size * direction.slope) {
      best = size;
      best_objective = objective;
    }
  }
  return best;
}

// The last thing that can be done when no direction leads down any more: the best biases.
absl::Status NewtonMaster::Polish(RunContext& context) {
  MasterPoint next = point();
  OptimizeBias(next, evaluation());
  MasterEvaluation evaluated;
  MERCER_RETURN_IF_ERROR(Evaluate(next, evaluated, context));
  if (evaluated.objective() <= Allowed(0)) {
    MoveTo(std::move(next), std::move(evaluated), Progress::kFalls);
  }
  if (stop() == MasterStop::kRunning) {
    EndForPrecision();
  }
  return absl::OkStatus();
}

// The objective is flat to the last bits long before its gradient, which the gap depends on, is zero: steps that cannot lower it by
// more than rounding are taken as long as the gap falls.
double NewtonMaster::Allowed(double slope) const {
  const double objective = evaluation().objective();
  const double rounding = kRounding * std::abs(objective);
  return objective + (-slope > rounding ? kSufficientDecrease * slope : rounding);
}

absl::Status NewtonMaster::Iterate(RunContext& context) {
  MERCER_ASSIGN_OR_RETURN(const Direction direction, FindDirection(context));
  MasterPoint next = PointAt(direction, 1.0);
  MasterEvaluation evaluated;
  MERCER_RETURN_IF_ERROR(Evaluate(next, evaluated, context));
  if (!(evaluated.objective() <= Allowed(direction.slope))) {
    const double size = SearchSize(direction, evaluated);
    if (size == 0) {
      return Polish(context);
    }
    next = PointAt(direction, size);
    MERCER_RETURN_IF_ERROR(Evaluate(next, evaluated, context));
    if (!(evaluated.objective() <= Allowed(0))) {
      return Polish(context);
    }
  }
  const double before = evaluation().objective();
  const double gap = certificate().Gap();
  MoveTo(std::move(next), std::move(evaluated), Progress::kFalls);
  const bool progress = before - evaluation().objective() > kRounding * std::abs(before) ||
                        certificate().Gap() < kGapProgress * gap;
  stalls_ = progress ? 0 : stalls_ + 1;
  if (stalls_ >= kMaxNewtonStalls && stop() == MasterStop::kRunning) {
    return Polish(context);
  }
  return absl::OkStatus();
}

void NewtonMaster::SaveExtra(ByteWriter& writer) const {
  curvature_.Save(problem(), writer);
  writer.WriteInt64(stalls_);
}

bool NewtonMaster::LoadExtra(ByteReader& reader) {
  if (!curvature_.Load(problem(), reader)) {
    return false;
  }
  stalls_ = reader.ReadInt64();
  return true;
}

}  // namespace mercer
