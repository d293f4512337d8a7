#include "core/solvers/group/newton_group_solver.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/base/numeric/step_count.h"
#include "core/base/process/row_sums.h"
#include "core/base/status/status_macros.h"
#include "core/solvers/group/group_model.h"

namespace mercer {
namespace {

constexpr double kModelShare = 1e-3;          // of the residual that solving the model leaves
constexpr double kSufficientDecrease = 1e-4;  // Armijo's rule
constexpr double kSearchShare = 0.1;          // of the slope that the line search leaves
constexpr int kMaxTrials = 200;
constexpr int kTrialsPerBisection = 3;
constexpr double kRounding = 1e-14;  // of the objective: changes below it say nothing
constexpr double kGapProgress = 0.7;
constexpr int64_t kMaxNewtonStalls = 3;

// The first and second derivative, by `size`, of the risk at start + size (end - start), from the
// scores at both ends. Errors: kCancelled.
absl::StatusOr<Eigen::Array2d> RiskDerivatives(const GroupProblem& problem,
                                               const GroupEvaluation& start,
                                               const GroupEvaluation& end, double size,
                                               const RunContext& context) {
  Eigen::Array2d total(0, 0);
  for (Index t = 0; t < problem.num_tasks(); ++t) {
    const GroupTask& task = problem.task(t);
    const Vector& from = start.scores[static_cast<size_t>(t)];
    const Vector& to = end.scores[static_cast<size_t>(t)];
    const auto add = [&](Index first, Index last, Eigen::Array2d& sum) {
      const Index count = last - first;
      const Vector change = to.segment(first, count) - from.segment(first, count);
      const Vector scores = from.segment(first, count) + size * change;
      const auto targets = task.targets.segment(first, count);
      const auto costs = task.costs.segment(first, count);
      Vector derivatives(count);
      problem.loss->ValueAndSlopes(targets, costs, scores, derivatives);
      sum(0) += derivatives.dot(change);
      problem.loss->Curvatures(targets, costs, scores, derivatives);
      sum(1) += derivatives.dot(change.cwiseAbs2());
    };
    MERCER_ASSIGN_OR_RETURN(
        const Eigen::Array2d of_task,
        SumOverRows(from.size(), kRowPiece, Eigen::Array2d(0, 0), context, add));
    total += of_task;
  }
  return total;
}

}  // namespace

absl::Status NewtonGroupSolver::CheckProblem(const GroupProblem& problem) const {
  if (problem.loss->is_piecewise_linear()) {
    return absl::InvalidArgumentError(
        "Newton's method needs a loss with curvature: square, squared hinge or logistic");
  }
  return absl::OkStatus();
}

absl::Status NewtonGroupSolver::Prepare(Index known, const GroupPoint& /*point*/,
                                        const GroupEvaluation& /*evaluation*/,
                                        RunContext& context) {
  if (known == 0) {
    curvature_.Clear();
  } else {
    CountPass();
    MERCER_RETURN_IF_ERROR(curvature_.Extend(problem(), known, context));
  }
  stalls_ = 0;
  return absl::OkStatus();
}

// The change that minimises the quadratic model of the risk plus the penalties. With m = Phi'D1 and
// s = 1'D1 the biases are minimised out, db = -(1'slopes + m'dW) / s, which subtracts
// m (1'slopes) / s from the gradient (docs/mathematics/infinite_features.md, section 6). The slope
// is that of the risk plus the difference of the penalties: by convexity the slope of the objective
// itself is no larger.
absl::StatusOr<NewtonGroupSolver::Direction> NewtonGroupSolver::FindDirection(RunContext& context) {
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
  GroupModel model(problem(), point(), curvature_.Hessians(problem()), std::move(reduced));
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

GroupPoint NewtonGroupSolver::PointAt(const Direction& direction, double size) const {
  return {point().specific + size * direction.change.specific,
          point().shared + size * direction.change.shared,
          point().bias + size * direction.change.bias};
}

// Finds the least value, over the step, of the risk plus the penalties' chord: a bound of the
// objective that agrees with it at both ends, by convexity. It is found to the digits that a row of
// large cost needs which becomes active on the way; halvings alone would only ever come nearer to
// it.
absl::StatusOr<double> NewtonGroupSolver::SearchSize(const Direction& direction,
                                                     const GroupEvaluation& end,
                                                     RunContext& context) const {
  if (!(direction.slope < 0)) {
    return 0.0;
  }
  const double chord = end.penalty - evaluation().penalty;
  double low = 0;
  double high = 1;
  double size = 0.5;
  for (int trial = 1; trial <= kMaxTrials && size > low && size < high; ++trial) {
    MERCER_ASSIGN_OR_RETURN(const Eigen::Array2d of_risk,
                            RiskDerivatives(problem(), evaluation(), end, size, context));
    const double slope = of_risk(0) + chord;
    if (std::abs(slope) <= kSearchShare * -direction.slope) {
      return size;
    }
    (slope < 0 ? low : high) = size;
    const double newton = of_risk(1) > 0 ? size - slope / of_risk(1) : 0.0;
    size = newton > low && newton < high && trial % kTrialsPerBisection != 0
               ? newton
               : low + 0.5 * (high - low);
  }
  return low > 0 ? low : high;
}

// The last thing that can be done when no direction leads down any more: the best biases.
absl::Status NewtonGroupSolver::Polish(RunContext& context) {
  GroupPoint next = point();
  MERCER_RETURN_IF_ERROR(OptimizeBias(next, evaluation(), context));
  GroupEvaluation evaluated;
  MERCER_RETURN_IF_ERROR(Evaluate(next, evaluated, context));
  if (evaluated.objective() <= Allowed(0)) {
    MERCER_RETURN_IF_ERROR(
        MoveTo(std::move(next), std::move(evaluated), Objective::kFalls, context));
  }
  if (stop() == GroupStop::kRunning) {
    EndForPrecision();
  }
  return absl::OkStatus();
}

// The objective is flat to the last bits long before its gradient, which the gap depends on, is
// zero: steps that cannot lower it by more than rounding are taken as long as the gap falls.
double NewtonGroupSolver::Allowed(double slope) const {
  const double objective = evaluation().objective();
  const double rounding = kRounding * std::abs(objective);
  return objective + (-slope > rounding ? kSufficientDecrease * slope : rounding);
}

// The whole step is tried first, which is right near the solution; where it does not lower the
// objective enough, the line search finds a shorter one.
absl::Status NewtonGroupSolver::Iterate(RunContext& context) {
  MERCER_ASSIGN_OR_RETURN(const Direction direction, FindDirection(context));
  GroupPoint next = PointAt(direction, 1.0);
  GroupEvaluation evaluated;
  MERCER_RETURN_IF_ERROR(Evaluate(next, evaluated, context));
  if (!(evaluated.objective() <= Allowed(direction.slope))) {
    MERCER_ASSIGN_OR_RETURN(const double size, SearchSize(direction, evaluated, context));
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
  MERCER_RETURN_IF_ERROR(MoveTo(std::move(next), std::move(evaluated), Objective::kFalls, context));
  const bool progress = before - evaluation().objective() > kRounding * std::abs(before) ||
                        certificate().Gap() < kGapProgress * gap;
  stalls_ = progress ? 0 : stalls_ + 1;
  if (stalls_ >= kMaxNewtonStalls && stop() == GroupStop::kRunning) {
    return Polish(context);
  }
  return absl::OkStatus();
}

void NewtonGroupSolver::SaveExtra(ByteWriter& writer) const {
  curvature_.Save(problem(), writer);
  writer.WriteInt64(stalls_);
}

bool NewtonGroupSolver::LoadExtra(ByteReader& reader) {
  if (!curvature_.Load(problem(), reader)) {
    return false;
  }
  stalls_ = reader.ReadInt64();
  return IsStepCount(stalls_);
}

}  // namespace mercer
