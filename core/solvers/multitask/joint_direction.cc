// The linear systems of the joint interior point (joint_interior_point.h).
#include <algorithm>
#include <utility>
#include <vector>

#include "core/base/process/side_by_side.h"
#include "core/base/status/status_macros.h"
#include "core/linalg/blocked_cholesky.h"
#include "core/solvers/multitask/joint_interior_point.h"

namespace mercer {
namespace {

constexpr Index kTasksAtOnce = 4;         // whose matrices of blocks are held
constexpr double kReducedJitter = 1e-15;  // of a diagonal of 1

}  // namespace

absl::Status JointInteriorPoint::Factor(Reduced& reduced, RunContext& context) {
  const Vector barrier =
      state_.lower.cwiseQuotient(state_.alpha) + state_.upper.cwiseQuotient(costs_ - state_.alpha);
  const Vector outer = AtBlocks(state_.outer);
  const Vector scaled = state_.shares.cwiseQuotient(outer);
  const auto blocks = static_cast<Index>(blocks_.size());
  const Index order = blocks + num_active();
  Matrix& system = reduced.factor;
  system = Matrix::Zero(order, order);
  for (Index first = 0; first < num_active(); first += kTasksAtOnce) {
    const Index count = std::min(kTasksAtOnce, num_active() - first);
    std::vector<Matrix> bordered(static_cast<size_t>(count));
    MERCER_RETURN_IF_ERROR(SideBySide(count, context, [&](Index j, RunContext& own) {
      return systems_[static_cast<size_t>(first + j)].Factor(scaled, Rows(barrier, first + j),
                                                             bordered[static_cast<size_t>(j)], own);
    }));
    for (Index j = 0; j < count; ++j) {
      const Matrix& of_task = bordered[static_cast<size_t>(j)];
      const Index row = blocks + first + j;
      system.topLeftCorner(blocks, blocks) += of_task.topLeftCorner(blocks, blocks);
      system.row(row).head(blocks) = of_task.row(blocks).head(blocks);
      system(row, row) = of_task(blocks, blocks);
    }
  }
  if (has_outer()) {
    Vector divisor = Vector::Ones(order);
    divisor.head(blocks) = outer.cwiseInverse();
    system = divisor.asDiagonal() * system * divisor.asDiagonal();
  }
  const Matrix of_alpha = has_outer() ? system : Matrix();
  system.diagonal().head(blocks) += 0.5 * state_.slack.cwiseQuotient(state_.shares);
  reduced.scaling = system.diagonal().cwiseSqrt().cwiseInverse();
  system = reduced.scaling.asDiagonal() * system * reduced.scaling.asDiagonal();
  system.diagonal().array() += kReducedJitter;
  MERCER_RETURN_IF_ERROR(FactorCholesky(system, context));
  return is_squared() ? FactorGroups(of_alpha, reduced, context) : absl::OkStatus();
}

// With M = [G/g y]'H^-1 [G/g y], `of_alpha`, and the changes of outer weights over themselves,
// whose column in the equation of alpha is -sum_{k in j} d_k G(:, k) / g_j: the columns
//   of outer weights  -M d_j + 1/2 e_j / g_j,   of levels  1/2 at the blocks of the group,
// and among the groups' changes themselves -W + d_j'M d_i and -1/2 g_j beside the outer level, with
//   W = diag(sum_{k in j} d_k e_k / g_j + 1/2 at_floor g_j^2 / (g_j - floor)).
absl::Status JointInteriorPoint::FactorGroups(const Matrix& of_alpha, Reduced& reduced,
                                              RunContext& context) const {
  const auto blocks = static_cast<Index>(blocks_.size());
  const Index first_level = has_outer() ? num_groups_ : 0;
  const Index count = first_level + num_groups_ + (has_outer() ? 1 : 0);
  reduced.sides = Matrix::Zero(reduced.factor.rows(), count);
  for (Index k = 0; k < blocks; ++k) {
    reduced.sides(k, first_level + GroupAt(k)) = 0.5;
  }
  Matrix own = Matrix::Zero(count, count);
  if (has_outer()) {
    const Vector ratios = Ratios();
    Matrix shares = Matrix::Zero(reduced.factor.rows(), num_groups_);
    for (Index k = 0; k < blocks; ++k) {
      shares(k, GroupAt(k)) = state_.shares(k);
      reduced.sides(k, GroupAt(k)) = 0.5 * ratios(k);
    }
    const Matrix moved = of_alpha.selfadjointView<Eigen::Lower>() * shares;
    reduced.sides.leftCols(num_groups_) -= moved;
    own.topLeftCorner(num_groups_, num_groups_) = shares.transpose() * moved;
    const Vector curvature =
        SumsOfGroups(state_.shares.cwiseProduct(ratios)) +
        0.5 * state_.at_floor.cwiseProduct(state_.outer.cwiseAbs2()).cwiseQuotient(FloorRoom());
    own.topLeftCorner(num_groups_, num_groups_).diagonal() -= curvature;
    own.col(count - 1).head(num_groups_) = -0.5 * state_.outer;
    own.row(count - 1).head(num_groups_) = -0.5 * state_.outer.transpose();
  }
  reduced.solved = reduced.sides;
  MERCER_RETURN_IF_ERROR(SolveReduced(reduced, reduced.solved, context));
  reduced.complement.compute(own - reduced.sides.transpose() * reduced.solved);
  return absl::OkStatus();
}

absl::Status JointInteriorPoint::SolveReduced(const Reduced& reduced, MatrixRef x,
                                              RunContext& context) const {
  x = reduced.scaling.asDiagonal() * x;
  MERCER_RETURN_IF_ERROR(SolveCholesky(reduced.factor, x, context));
  x = reduced.scaling.asDiagonal() * x;
  return absl::OkStatus();
}

// With H_t and G_t of the tasks, g the outer weights, pull = -stationarity + goal.lower / alpha -
// goal.upper / (costs - alpha), d' the changes of shares less d times the change of the outer
// weight over itself, and the changes of alpha, H dalpha = pull - G / g d' - y dbias:
//   slack / (2 shares) dshares - sum_t G'dalpha / g + 1/2 e / g douter / outer + 1/2 dlevel
//     = (goal.shares / shares + rslack) / 2,
//   y_t'dalpha_t = -balance_t,   1'dshares = -rsimplex,   1'douter = -router_sum,
// and that of the outer weights.
absl::Status JointInteriorPoint::FindDirection(const Residual& residual, const Reduced& reduced,
                                               const Goal& goal, Direction& direction,
                                               RunContext& context) const {
  const auto blocks = static_cast<Index>(blocks_.size());
  const Vector outer = AtBlocks(state_.outer);
  const Vector room = costs_ - state_.alpha;
  const Vector pull = goal.lower.cwiseQuotient(state_.alpha) - goal.upper.cwiseQuotient(room) -
                      residual.stationarity;
  std::vector<Vector> solved(tasks_.size());
  MERCER_RETURN_IF_ERROR(SideBySide(num_active(), context, [&](Index t, RunContext& own) {
    solved[static_cast<size_t>(t)] = Rows(pull, t);
    return systems_[static_cast<size_t>(t)].Solve(solved[static_cast<size_t>(t)], own);
  }));
  Vector pulled = Vector::Zero(blocks);  // G'H^-1 pull / g
  Vector x(blocks + num_active());
  for (Index t = 0; t < num_active(); ++t) {
    const TaskSystem& system = systems_[static_cast<size_t>(t)];
    pulled += system.slopes().transpose() * solved[static_cast<size_t>(t)];
    x(blocks + t) = system.labels().dot(solved[static_cast<size_t>(t)]) + residual.balance(t);
  }
  pulled = pulled.cwiseQuotient(outer);
  x.head(blocks) = pulled + 0.5 * (goal.shares.cwiseQuotient(state_.shares) + residual.slack);
  MERCER_RETURN_IF_ERROR(SolveReduced(reduced, x, context));
  direction.levels = Vector::Zero(num_groups_);
  Vector relative = Vector::Zero(num_groups_);  // changes of outer weights over themselves
  if (is_squared()) {
    const Index first_level = has_outer() ? num_groups_ : 0;
    Vector of_groups = Vector::Zero(reduced.sides.cols());
    of_groups.segment(first_level, num_groups_) = -0.5 * residual.simplex;
    if (has_outer()) {
      const Vector floor_goal =
          0.5 * goal.outer.cwiseProduct(state_.outer).cwiseQuotient(FloorRoom());
      of_groups.head(num_groups_) =
          residual.outer - floor_goal - SumsOfGroups(state_.shares.cwiseProduct(pulled));
      of_groups(of_groups.size() - 1) = 0.5 * residual.outer_sum;
    }
    of_groups -= reduced.sides.transpose() * x;
    const Vector changes = reduced.complement.solve(of_groups);
    x -= reduced.solved * changes;
    direction.levels = changes.segment(first_level, num_groups_);
    if (has_outer()) {
      relative = changes.head(num_groups_);
      direction.outer_level = changes(changes.size() - 1);
    }
  }
  direction.shares = x.head(blocks);
  direction.biases = x.tail(num_active());
  direction.outer = relative.cwiseProduct(state_.outer);
  direction.at_floor = Vector::Zero(num_groups_);
  if (has_outer()) {
    direction.at_floor =
        (goal.outer - state_.at_floor.cwiseProduct(direction.outer)).cwiseQuotient(FloorRoom());
  }
  const Vector scaled =
      (direction.shares - state_.shares.cwiseProduct(AtBlocks(relative))).cwiseQuotient(outer);
  direction.alpha.resize(costs_.size());
  const auto solve = [&](Index t, RunContext& own) -> absl::Status {
    const TaskSystem& system = systems_[static_cast<size_t>(t)];
    Vector change =
        Rows(pull, t) - system.slopes() * scaled - direction.biases(t) * system.labels();
    MERCER_RETURN_IF_ERROR(system.Solve(change, own));
    direction.alpha.segment(begin_[static_cast<size_t>(t)], change.size()) = change;
    return absl::OkStatus();
  };
  MERCER_RETURN_IF_ERROR(SideBySide(num_active(), context, solve));
  Vector of_alpha = Vector::Zero(blocks);
  for (Index t = 0; t < num_active(); ++t) {
    of_alpha += systems_[static_cast<size_t>(t)].slopes().transpose() * Rows(direction.alpha, t);
  }
  direction.slack = AtBlocks(direction.levels) - residual.slack - 2 * of_alpha.cwiseQuotient(outer);
  if (has_outer()) {
    direction.slack += Ratios().cwiseProduct(AtBlocks(relative));
  }
  direction.lower =
      (goal.lower - state_.lower.cwiseProduct(direction.alpha)).cwiseQuotient(state_.alpha);
  direction.upper = (goal.upper + state_.upper.cwiseProduct(direction.alpha)).cwiseQuotient(room);
  return absl::OkStatus();
}

}  // namespace mercer
