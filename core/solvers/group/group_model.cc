#include "core/solvers/group/group_model.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include <Eigen/Eigenvalues>

#include "core/base/status/status_macros.h"

namespace mercer {
namespace {

constexpr int kSweepsPerRound = 5;
constexpr int kMaxRounds = 10;
constexpr int kMaxRoundsWithoutNewton = 60;
constexpr int kNewtonSteps = 3;
constexpr int kNewtonStepsWithKinks = 10;
constexpr int kMaxModelHalvings = 25;
constexpr int kMaxBends = 10;
constexpr double kSufficientModelDecrease = 1e-4;
// The least decrease of the model as a share of the penalties: that of a step worth taking, and
// that below which a refused step is not tried in another way.
constexpr double kLeastModelDecrease = 1e-15;
constexpr double kNoDecrease = 1e-13;

double LargestEigenvalue(const Matrix& block) {
  if (block.rows() == 1) {
    return block(0, 0);
  }
  return Eigen::SelfAdjointEigenSolver<Matrix>(block, Eigen::EigenvaluesOnly)
      .eigenvalues()
      .maxCoeff();
}

}  // namespace

GroupModel::GroupModel(const GroupProblem& problem, const GroupPoint& point,
                       std::vector<std::shared_ptr<const Matrix>> hessians, Matrix gradient)
    : problem_(problem),
      hessians_(std::move(hessians)),
      gradient_(std::move(gradient)),
      specific_(point.specific),
      shared_(point.shared),
      specific_steps_(Vector::Zero(problem.num_groups())),
      shared_steps_(Vector::Zero(problem.num_groups())) {
  for (Index g = 0; g < problem.num_groups(); ++g) {
    const Index first = problem.first_column(g);
    const Index size = problem.group_size(g);
    group_of_column_.insert(group_of_column_.end(), static_cast<size_t>(size), g);
    for (const auto& hessian : hessians_) {
      const double curvature =
          std::max(0.0, LargestEigenvalue(hessian->block(first, first, size, size)));
      specific_steps_(g) = std::max(specific_steps_(g), curvature);
      shared_steps_(g) += curvature;
    }
  }
  // A block without curvature, such as a column of zeros, still needs a step.
  const double floor =
      std::max(1e-12 * (shared_steps_.size() > 0 ? shared_steps_.maxCoeff() : 0.0), 1e-100);
  specific_steps_ = specific_steps_.cwiseMax(floor);
  shared_steps_ = shared_steps_.cwiseMax(floor);
}

// Each of these moves one block by a proximal step of length 1 / (largest eigenvalue of its part of
// the Hessian) and returns by how much the block was not optimal, as a share of its penalty.
double GroupModel::MoveSpecific(Index group) {
  const Index first = problem_.first_column(group);
  const Index size = problem_.group_size(group);
  const double curvature = specific_steps_(group);
  const double penalty = problem_.specific.lambda * problem_.group_weights(group);
  auto weights = specific_.middleRows(first, size);
  auto gradient = gradient_.middleRows(first, size);
  if ((weights.array() == 0).all() && problem_.specific.norm.DualNorm(gradient) <= penalty) {
    return 0;
  }
  Matrix next = weights - gradient / curvature;
  problem_.specific.norm.Prox(penalty / curvature, next);
  const Matrix change = next - weights;
  weights = next;
  for (Index t = 0; t < problem_.num_tasks(); ++t) {
    if ((change.col(t).array() != 0).any()) {
      gradient_.col(t).noalias() += Hessian(t).middleCols(first, size) * change.col(t);
    }
  }
  return change.cwiseAbs().maxCoeff() * curvature / penalty;
}

double GroupModel::MoveShared(Index group) {
  const Index first = problem_.first_column(group);
  const Index size = problem_.group_size(group);
  const double curvature = shared_steps_(group);
  const double penalty = problem_.shared.lambda * problem_.group_weights(group);
  const Vector gradient = gradient_.middleRows(first, size).rowwise().sum();
  auto weights = shared_.segment(first, size);
  if ((weights.array() == 0).all() && problem_.shared.norm.DualNorm(gradient) <= penalty) {
    return 0;
  }
  Matrix next = weights - gradient / curvature;
  problem_.shared.norm.Prox(penalty / curvature, next);
  const Vector change = next - weights;
  weights = next;
  for (Index t = 0; t < problem_.num_tasks(); ++t) {
    gradient_.col(t).noalias() += Hessian(t).middleCols(first, size) * change;
  }
  return change.cwiseAbs().maxCoeff() * curvature / penalty;
}

// One proximal step in every block, in order; returns by how much the worst block was not optimal.
double GroupModel::Sweep() {
  double residual = 0;
  for (Index g = 0; g < problem_.num_groups(); ++g) {
    if (problem_.has_specific()) {
      residual = std::max(residual, MoveSpecific(g));
    }
    if (problem_.has_shared()) {
      residual = std::max(residual, MoveShared(g));
    }
  }
  return residual;
}

// Sweeps find out which blocks are 0, Newton's method finds the values of the others; they take
// turns. Without a shared part, and with a penalty that is a sum over tasks, Newton's method works
// on one task after the other, whose systems are smaller. For q = infinity the norm is nowhere
// smooth enough for it, and sweeps work alone.
absl::Status GroupModel::Minimize(double share, RunContext& context) {
  const bool separable = !problem_.has_shared() && problem_.specific.norm.IsSeparable();
  const bool smooth = !std::isinf(problem_.specific.norm.q()) || !problem_.has_specific();
  double goal = -1;
  for (int round = 0; round < (smooth ? kMaxRounds : kMaxRoundsWithoutNewton); ++round) {
    for (int sweep = 0; sweep < kSweepsPerRound; ++sweep) {
      MERCER_RETURN_IF_ERROR(context.CheckCancelled());
      const double residual = Sweep();
      goal = goal < 0 ? share * residual : goal;
      if (residual <= goal) {
        return absl::OkStatus();
      }
    }
    if (!smooth) {
      continue;
    }
    const Index tasks = problem_.num_tasks();
    const Index step = separable ? 1 : tasks;
    for (Index t = 0; t < tasks; t += step) {
      MERCER_RETURN_IF_ERROR(MinimizeOnSupport(t, t + step, context));
    }
  }
  return absl::OkStatus();
}

absl::Status GroupModel::MinimizeOnSupport(Index begin, Index end, RunContext& context) {
  const bool kinks = problem_.has_specific() ? problem_.specific.norm.HasKinksAtZero(1)
                                             : problem_.shared.norm.HasKinksAtZero(1);
  for (int step = 0; step < (kinks ? kNewtonStepsWithKinks : kNewtonSteps); ++step) {
    MERCER_ASSIGN_OR_RETURN(const bool moved, NewtonStep(begin, end, context));
    if (!moved) {
      break;
    }
  }
  return absl::OkStatus();
}

// The system of Newton's method: the smooth entries of tasks [begin, end), and the shared ones.
GroupSystem GroupModel::MakeSystem(Index begin, Index end, PenaltyCurvature curvature) const {
  GroupSystem system(hessians_);
  const auto add = [&](const GroupPenalty& penalty, Index group, const ConstMatrixRef& weights,
                       bool shared) {
    std::vector<Index> entries = penalty.norm.SmoothEntries(weights);
    const Index rows = weights.rows();
    std::erase_if(entries, [&](Index entry) {
      return !shared && (entry / rows < begin || entry / rows >= end);
    });
    if (entries.empty()) {
      return;
    }
    const double factor = penalty.lambda * problem_.group_weights(group);
    std::vector<GroupUnknown> unknowns;
    for (const Index entry : entries) {
      unknowns.push_back({problem_.first_column(group) + entry % rows, shared ? -1 : entry / rows});
    }
    const Matrix hessian = curvature == PenaltyCurvature::kOwn
                               ? penalty.norm.Hessian(weights)
                               : penalty.norm.GuardedHessian(weights);
    system.AddBlock(unknowns, factor * penalty.norm.Gradient(weights).reshaped()(entries),
                    factor * hessian(entries, entries));
  };
  for (Index g = 0; g < problem_.num_groups(); ++g) {
    const Index first = problem_.first_column(g);
    const Index size = problem_.group_size(g);
    if (problem_.has_specific()) {
      add(problem_.specific, g, specific_.middleRows(first, size), false);
    }
    if (problem_.has_shared()) {
      add(problem_.shared, g, shared_.segment(first, size), true);
    }
  }
  system.AddRisk(gradient_);
  return system;
}

bool GroupModel::HasKink(const GroupUnknown& unknown) const {
  const Index rows = problem_.group_size(group_of_column_[static_cast<size_t>(unknown.column)]);
  return (unknown.task < 0 ? problem_.shared : problem_.specific).norm.HasKinksAtZero(rows);
}

// The share of the step at which the first entry with a kink at 0 gets there, at most 1.
double GroupModel::LargestStep(const GroupSystem& system, const Vector& step) const {
  double largest = 1;
  for (Index a = 0; a < step.size(); ++a) {
    const GroupUnknown& unknown = system.unknowns()[static_cast<size_t>(a)];
    const double weight = Weight(unknown);
    if (weight * step(a) < 0 && HasKink(unknown)) {
      largest = std::min(largest, -weight / step(a));
    }
  }
  return largest;
}

GroupModel::Weights GroupModel::After(const GroupSystem& system, const Vector& step) const {
  Weights next{specific_, shared_};
  for (Index a = 0; a < step.size(); ++a) {
    next.Of(system.unknowns()[static_cast<size_t>(a)]) += step(a);
  }
  return next;
}

double GroupModel::Penalty(const Matrix& specific, const Vector& shared) const {
  return PenaltyValue(problem_, {specific, shared, {}});
}

// A norm has a kink where its block (q = 1: each of its columns) is 0, which Newton's method does
// not see. A block that a step has carried past 0, so that its product with the block before is not
// positive, is stopped at 0.
void GroupModel::StopBlocksAtZero(Weights& point) const {
  const auto stop = [&](const auto& before, auto now) {
    if ((before.array() * now.array()).sum() <= 0 && (before.array() != 0).any()) {
      now.setZero();
    }
  };
  for (Index g = 0; g < problem_.num_groups(); ++g) {
    const Index first = problem_.first_column(g);
    const Index size = problem_.group_size(g);
    if (problem_.has_shared() && !problem_.shared.norm.HasKinksAtZero(size)) {
      stop(shared_.segment(first, size), point.shared.segment(first, size));
    }
    if (!problem_.has_specific() || problem_.specific.norm.HasKinksAtZero(size)) {
      continue;
    }
    if (!problem_.specific.norm.IsSeparable()) {
      stop(specific_.middleRows(first, size), point.specific.middleRows(first, size));
      continue;
    }
    for (Index t = 0; t < problem_.num_tasks(); ++t) {
      stop(specific_.col(t).segment(first, size), point.specific.col(t).segment(first, size));
    }
  }
}

// The point after the step, with exactly 0 in the entries that the step was cut for, and in those
// that rounding has left on the other side.
GroupModel::Weights GroupModel::AfterStoppingAtZero(const GroupSystem& system, const Vector& step,
                                                    double size) const {
  Weights next = After(system, size * step);
  StopBlocksAtZero(next);
  for (Index a = 0; a < step.size(); ++a) {
    const GroupUnknown& unknown = system.unknowns()[static_cast<size_t>(a)];
    const double before = Weight(unknown);
    double& after = next.Of(unknown);
    if (HasKink(unknown) && (before * after <= 0 || (size < 1 && -before / step(a) == size))) {
      after = 0;
    }
  }
  return next;
}

// Moves to `next` if the model changes by at most `goal` < 0 there; answers whether it did.
bool GroupModel::MoveTo(Weights next, double goal) {
  const Matrix change = (next.specific - specific_).colwise() + (next.shared - shared_).eval();
  const Matrix products = ProductsWithHessians(hessians_, change);
  const double risk = ((gradient_ + 0.5 * products).array() * change.array()).sum();
  if (!(risk + Penalty(next.specific, next.shared) - Penalty(specific_, shared_) <= goal)) {
    return false;
  }
  specific_ = std::move(next.specific);
  shared_ = std::move(next.shared);
  gradient_ += products;
  return true;
}

bool GroupModel::StepStoppingAtZero(const GroupSystem& system, const Vector& step) {
  const double slope = system.gradient().dot(step);
  const double size = LargestStep(system, step);
  return slope < 0 &&
         MoveTo(AfterStoppingAtZero(system, step, size), kSufficientModelDecrease * size * slope);
}

// The prescribed steps for GroupSystem::Solve: -w for the weights w that the whole step carries to
// 0 or past it.
Vector GroupModel::StepsToZero(const GroupSystem& system, const Vector& step) const {
  Weights next = AfterStoppingAtZero(system, step, 1.0);
  Vector given = Vector::Constant(step.size(), GroupSystem::kFree);
  for (Index a = 0; a < step.size(); ++a) {
    const GroupUnknown& unknown = system.unknowns()[static_cast<size_t>(a)];
    if (next.Of(unknown) == 0) {
      given(a) = -Weight(unknown);
    }
  }
  return given;
}

// A step whose entries that pass 0 are prescribed to end there, and the others chosen anew. Where
// columns are correlated, or a few rows cost much more than the others, a block that is stopped at
// 0 alone may cost more than the step gains: the others must move with it.
absl::StatusOr<bool> GroupModel::BentStep(const GroupSystem& system, Vector step,
                                          RunContext& context) {
  for (int bend = 0; bend < kMaxBends; ++bend) {
    const Vector given = StepsToZero(system, step);
    if ((given.array() == GroupSystem::kFree || given.array() == step.array()).all()) {
      return false;
    }
    MERCER_ASSIGN_OR_RETURN(std::optional<Vector> next, system.Solve(given, context));
    if (!next.has_value() || !(system.gradient().dot(*next) < 0)) {
      return false;
    }
    step = *std::move(next);
    if (StepStoppingAtZero(system, step)) {
      return true;
    }
  }
  return false;
}

// A step for penalties that are replaced by quadratic bounds from above which are smooth at 0:
// whatever it does to blocks near 0, a short enough step lowers the model.
absl::StatusOr<bool> GroupModel::GuardedStep(Index begin, Index end, RunContext& context) {
  const GroupSystem system = MakeSystem(begin, end, PenaltyCurvature::kGuarded);
  MERCER_ASSIGN_OR_RETURN(const std::optional<Vector> step, system.Solve(context));
  if (!step.has_value()) {
    return false;
  }
  const double slope = system.gradient().dot(*step);
  double size = 1;
  for (int halving = 0; slope < 0 && halving < kMaxModelHalvings; ++halving, size *= 0.5) {
    if (MoveTo(After(system, size * *step), kSufficientModelDecrease * size * slope)) {
      return true;
    }
  }
  return false;
}

// Newton's step on the smooth entries, in three attempts, each for when the one before does not
// gain enough: stopped at 0 where entries or blocks would pass it; with these prescribed and the
// others chosen anew; with guarded penalties. False when nothing has moved, or hardly anything.
absl::StatusOr<bool> GroupModel::NewtonStep(Index begin, Index end, RunContext& context) {
  const GroupSystem system = MakeSystem(begin, end, PenaltyCurvature::kOwn);
  if (system.size() == 0) {
    return false;
  }
  MERCER_ASSIGN_OR_RETURN(const std::optional<Vector> step, system.Solve(context));
  if (!step.has_value()) {
    return false;
  }
  const double decrease = -system.gradient().dot(*step);
  bool moved = StepStoppingAtZero(system, *step);
  if (!moved && !(decrease > kNoDecrease * Penalty(specific_, shared_))) {
    return false;  // rounding alone tells the model's values apart
  }
  if (!moved) {
    MERCER_ASSIGN_OR_RETURN(moved, BentStep(system, *step, context));
  }
  if (!moved) {
    MERCER_ASSIGN_OR_RETURN(moved, GuardedStep(begin, end, context));
  }
  return moved && decrease > kLeastModelDecrease * Penalty(specific_, shared_);
}

}  // namespace mercer
