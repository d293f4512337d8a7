#include "core/solvers/multitask/joint_interior_point.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/base/process/side_by_side.h"
#include "core/base/status/status_macros.h"
#include "core/linalg/blocked_cholesky.h"

namespace mercer {
namespace {

constexpr double kShareOfStep = 0.995;  // of the way to the boundary
constexpr int64_t kMostPathIterations = 200;
constexpr double kLeastComplementarity = 1e-13;  // of 1'alpha
constexpr double kReducedJitter = 1e-15;         // of a diagonal of 1

// The largest step in [0, most] with values + step change >= 0.
double StepWithin(const Vector& values, const Vector& change, double most) {
  for (Index i = 0; i < values.size(); ++i) {
    if (change(i) < 0) {
      most = std::min(most, -values(i) / change(i));
    }
  }
  return most;
}

}  // namespace

JointInteriorPoint::JointInteriorPoint(const MultitaskProblem& problem, std::vector<Index> blocks)
    : problem_(problem), blocks_(std::move(blocks)) {
  const Vector beta = problem.norm.BlockWeights(problem.num_blocks());
  Index rows = 0;
  for (Index t = 0; t < problem.num_tasks(); ++t) {
    const MultitaskTask& task = problem.tasks[static_cast<size_t>(t)];
    if (HasBothClasses(task)) {
      tasks_.push_back(t);
      systems_.emplace_back(task, blocks_, beta);
      begin_.push_back(rows);
      rows += systems_.back().num_rows();
    }
  }
  costs_.resize(rows);
  for (Index t = 0; t < num_active(); ++t) {
    const TaskSystem& system = systems_[static_cast<size_t>(t)];
    costs_.segment(begin_[static_cast<size_t>(t)], system.num_rows()) = system.costs();
  }
}

JointInteriorPoint::Sizes JointInteriorPoint::StateSizes() const {
  return {costs_.size(), static_cast<Index>(blocks_.size()), num_active()};
}

absl::Status JointInteriorPoint::SetPoint(const Vector& alpha, RunContext& context) {
  return SideBySide(num_active(), context, [&](Index t, RunContext& own) {
    return systems_[static_cast<size_t>(t)].SetPoint(Rows(alpha, t), own);
  });
}

Vector JointInteriorPoint::Energies() const {
  Vector energies = Vector::Zero(static_cast<Index>(blocks_.size()));
  for (const TaskSystem& system : systems_) {
    energies += system.energies();
  }
  return energies;
}

// Half of the dual of constants, which is inside the box, and less where the dual of the whole ray
// is largest before.
absl::Status JointInteriorPoint::Start(RunContext& context) {
  const auto blocks = static_cast<double>(blocks_.size());
  const std::vector<Vector> duals = DualOfConstants(problem_);
  State next;
  next.alpha.resize(costs_.size());
  for (Index t = 0; t < num_active(); ++t) {
    const auto i = static_cast<size_t>(t);
    next.alpha.segment(begin_[i], systems_[i].num_rows()) =
        0.5 * systems_[i].AlphaOf(duals[static_cast<size_t>(tasks_[i])]);
  }
  MERCER_RETURN_IF_ERROR(SetPoint(next.alpha, context));
  const double total = next.alpha.sum();
  const double largest = Energies().maxCoeff();
  const double ratio = is_squared() ? total / largest : 0.9 / std::sqrt(largest);
  const double scale = largest > 0 && ratio < 1 ? ratio : 1;
  next.alpha *= scale;
  MERCER_RETURN_IF_ERROR(SetPoint(next.alpha, context));
  const Vector energies = Energies();
  next.shares = Vector::Constant(energies.size(), (is_squared() ? 1 : scale * total) / blocks);
  if (is_squared()) {
    // Where nothing tells the classes apart any level above 0 serves.
    next.level = std::max(2 * energies.maxCoeff(), 1e-12 * scale * total);
    next.slack = next.level - energies.array();
  } else {
    next.slack = (1 - energies.array()).max(0.1);
  }
  next.biases = Vector::Zero(num_active());
  next.lower = Vector::Ones(costs_.size());
  next.upper = next.lower;
  state_ = std::move(next);
  return absl::OkStatus();
}

void JointInteriorPoint::SetTolerance(double tolerance) {
  if (tolerance < tolerance_ && state_.stop == InteriorPointStop::kTolerance) {
    state_.stop = InteriorPointStop::kRunning;
  }
  tolerance_ = tolerance;
}

JointInteriorPoint::Residual JointInteriorPoint::FindResidual() const {
  Residual residual;
  residual.stationarity = (state_.upper - state_.lower).array() - 1;
  residual.balance.resize(num_active());
  for (Index t = 0; t < num_active(); ++t) {
    const TaskSystem& system = systems_[static_cast<size_t>(t)];
    const auto alpha = Rows(state_.alpha, t);
    residual.stationarity.segment(begin_[static_cast<size_t>(t)], system.num_rows()) +=
        system.slopes() * state_.shares + state_.biases(t) * system.labels();
    residual.balance(t) = system.labels().dot(alpha);
  }
  residual.slack = state_.slack + Energies();
  residual.slack.array() -= state_.level;
  residual.simplex = is_squared() ? state_.shares.sum() - 1 : 0;
  return residual;
}

// The sum of all products that go to 0.
double JointInteriorPoint::Complementarity(const State& state) const {
  return state.alpha.dot(state.lower) + (costs_ - state.alpha).dot(state.upper) +
         state.shares.dot(state.slack);
}

// The hinge of a row counts its cost times: so does an error of its margin.
void JointInteriorPoint::Judge(const Residual& residual) {
  const double total = state_.alpha.sum();
  const double products = Complementarity(state_) / total;
  const double margins = costs_.dot(residual.stationarity.cwiseAbs()) / total;
  const double slacks = state_.shares.dot(residual.slack.cwiseAbs()) / total;
  if ((products <= tolerance_ && margins <= tolerance_ && slacks <= tolerance_) ||
      products <= kLeastComplementarity) {
    state_.stop = InteriorPointStop::kTolerance;
    return;
  }
  constexpr int64_t kMostStalled = 5;
  constexpr double kClearly = 0.9;
  constexpr double kNearly = 1e-3;
  const double measure = products + margins + slacks;
  if (measure < kClearly * state_.measure) {
    state_.measure = measure;
    state_.stalled = 0;
  } else if (products <= kNearly && ++state_.stalled >= kMostStalled) {
    state_.stop = InteriorPointStop::kPrecision;
  }
  if (state_.iterations >= kMostPathIterations) {
    state_.stop = InteriorPointStop::kIterationLimit;
  }
}

absl::Status JointInteriorPoint::Factor(Reduced& reduced, RunContext& context) {
  const Vector barrier =
      state_.lower.cwiseQuotient(state_.alpha) + state_.upper.cwiseQuotient(costs_ - state_.alpha);
  MERCER_RETURN_IF_ERROR(SideBySide(num_active(), context, [&](Index t, RunContext& own) {
    return systems_[static_cast<size_t>(t)].Factor(state_.shares, Rows(barrier, t), own);
  }));
  const auto blocks = static_cast<Index>(blocks_.size());
  const Index order = blocks + num_active();
  Matrix& system = reduced.factor;
  system = Matrix::Zero(order, order);
  for (Index t = 0; t < num_active(); ++t) {
    const Matrix& bordered = systems_[static_cast<size_t>(t)].bordered();
    system.topLeftCorner(blocks, blocks) += bordered.topLeftCorner(blocks, blocks);
    system.row(blocks + t).head(blocks) = bordered.row(blocks).head(blocks);
    system(blocks + t, blocks + t) = bordered(blocks, blocks);
  }
  system.diagonal().head(blocks) += 0.5 * state_.slack.cwiseQuotient(state_.shares);
  reduced.scaling = system.diagonal().cwiseSqrt().cwiseInverse();
  system = reduced.scaling.asDiagonal() * system * reduced.scaling.asDiagonal();
  system.diagonal().array() += kReducedJitter;
  MERCER_RETURN_IF_ERROR(FactorCholesky(system, context));
  if (is_squared()) {
    reduced.of_level = Vector::Zero(order);
    reduced.of_level.head(blocks).setConstant(0.5);
    MERCER_RETURN_IF_ERROR(SolveReduced(reduced, reduced.of_level, context));
  }
  return absl::OkStatus();
}

absl::Status JointInteriorPoint::SolveReduced(const Reduced& reduced, Vector& x,
                                              RunContext& context) const {
  x = x.cwiseProduct(reduced.scaling);
  MERCER_RETURN_IF_ERROR(SolveCholesky(reduced.factor, x, context));
  x = x.cwiseProduct(reduced.scaling);
  return absl::OkStatus();
}

// With H_t and G_t of the tasks, g = -stationarity + goal.lower / alpha - goal.upper / (costs -
// alpha), and the changes of alpha, H dalpha = g - G dshares - y dbias:
//   slack / (2 shares) dshares - sum_t G'dalpha + 1/2 dlevel = (goal.shares / shares + rslack) / 2,
//   y_t'dalpha_t = -balance_t,   1'dshares = -rsimplex.
absl::Status JointInteriorPoint::FindDirection(const Residual& residual, const Reduced& reduced,
                                               const Goal& goal, Direction& direction,
                                               RunContext& context) const {
  const auto blocks = static_cast<Index>(blocks_.size());
  const Vector room = costs_ - state_.alpha;
  const Vector pull = goal.lower.cwiseQuotient(state_.alpha) - goal.upper.cwiseQuotient(room) -
                      residual.stationarity;
  std::vector<Vector> solved(tasks_.size());
  MERCER_RETURN_IF_ERROR(SideBySide(num_active(), context, [&](Index t, RunContext& own) {
    solved[static_cast<size_t>(t)] = Rows(pull, t);
    return systems_[static_cast<size_t>(t)].Solve(solved[static_cast<size_t>(t)], own);
  }));
  Vector x(blocks + num_active());
  x.head(blocks) = 0.5 * (goal.shares.cwiseQuotient(state_.shares) + residual.slack);
  for (Index t = 0; t < num_active(); ++t) {
    const TaskSystem& system = systems_[static_cast<size_t>(t)];
    x.head(blocks) += system.slopes().transpose() * solved[static_cast<size_t>(t)];
    x(blocks + t) = system.labels().dot(solved[static_cast<size_t>(t)]) + residual.balance(t);
  }
  MERCER_RETURN_IF_ERROR(SolveReduced(reduced, x, context));
  direction.level = 0;
  if (is_squared()) {
    direction.level =
        (x.head(blocks).sum() + residual.simplex) / reduced.of_level.head(blocks).sum();
    x -= direction.level * reduced.of_level;
  }
  direction.shares = x.head(blocks);
  direction.biases = x.tail(num_active());
  direction.alpha.resize(costs_.size());
  const auto solve = [&](Index t, RunContext& own) -> absl::Status {
    const TaskSystem& system = systems_[static_cast<size_t>(t)];
    Vector change =
        Rows(pull, t) - system.slopes() * direction.shares - direction.biases(t) * system.labels();
    MERCER_RETURN_IF_ERROR(system.Solve(change, own));
    direction.alpha.segment(begin_[static_cast<size_t>(t)], change.size()) = change;
    return absl::OkStatus();
  };
  MERCER_RETURN_IF_ERROR(SideBySide(num_active(), context, solve));
  direction.slack = Vector::Constant(blocks, direction.level) - residual.slack;
  for (Index t = 0; t < num_active(); ++t) {
    direction.slack -=
        2 * (systems_[static_cast<size_t>(t)].slopes().transpose() * Rows(direction.alpha, t));
  }
  direction.lower =
      (goal.lower - state_.lower.cwiseProduct(direction.alpha)).cwiseQuotient(state_.alpha);
  direction.upper = (goal.upper + state_.upper.cwiseProduct(direction.alpha)).cwiseQuotient(room);
  return absl::OkStatus();
}

double JointInteriorPoint::LongestStep(const Direction& direction) const {
  double step = 1 / kShareOfStep;
  step = StepWithin(state_.alpha, direction.alpha, step);
  step = StepWithin(costs_ - state_.alpha, -direction.alpha, step);
  step = StepWithin(state_.lower, direction.lower, step);
  step = StepWithin(state_.upper, direction.upper, step);
  step = StepWithin(state_.shares, direction.shares, step);
  step = StepWithin(state_.slack, direction.slack, step);
  if (is_squared() && direction.level < 0) {
    step = std::min(step, -state_.level / direction.level);
  }
  return kShareOfStep * step;
}

JointInteriorPoint::State JointInteriorPoint::Moved(const Direction& direction, double step) const {
  State moved = state_;
  moved.alpha += step * direction.alpha;
  moved.lower += step * direction.lower;
  moved.upper += step * direction.upper;
  moved.shares += step * direction.shares;
  moved.slack += step * direction.slack;
  moved.biases += step * direction.biases;
  moved.level += step * direction.level;
  return moved;
}

absl::Status JointInteriorPoint::Iterate(RunContext& context) {
  const Residual residual = FindResidual();
  Judge(residual);
  if (state_.stop != InteriorPointStop::kRunning) {
    return absl::OkStatus();
  }
  Reduced reduced;
  const absl::Status factored = Factor(reduced, context);
  if (absl::IsInvalidArgument(factored)) {
    state_.stop = InteriorPointStop::kPrecision;
    return absl::OkStatus();
  }
  MERCER_RETURN_IF_ERROR(factored);
  const Vector room = costs_ - state_.alpha;
  Goal goal{-state_.alpha.cwiseProduct(state_.lower), -room.cwiseProduct(state_.upper),
            -state_.shares.cwiseProduct(state_.slack)};
  Direction direction;
  MERCER_RETURN_IF_ERROR(FindDirection(residual, reduced, goal, direction, context));
  const double before = Complementarity(state_);
  const double after = Complementarity(Moved(direction, LongestStep(direction)));
  const double count = static_cast<double>(2 * costs_.size() + state_.shares.size());
  const double aim = std::clamp(std::pow(after / before, 3), 1e-6, 1.0) * before / count;
  goal.lower.array() += aim - direction.alpha.array() * direction.lower.array();
  goal.upper.array() += aim + direction.alpha.array() * direction.upper.array();
  goal.shares.array() += aim - direction.shares.array() * direction.slack.array();
  MERCER_RETURN_IF_ERROR(FindDirection(residual, reduced, goal, direction, context));
  State next = Moved(direction, LongestStep(direction));
  const auto inside = [](const Vector& values) {
    return values.allFinite() && (values.array() > 0).all();
  };
  if (!inside(next.alpha) || !inside(costs_ - next.alpha) || !inside(next.lower) ||
      !inside(next.upper) || !inside(next.shares) || !inside(next.slack) ||
      !next.biases.allFinite() || !(next.level > 0)) {
    state_.stop = InteriorPointStop::kPrecision;
    return absl::OkStatus();
  }
  MERCER_RETURN_IF_ERROR(SetPoint(next.alpha, context));
  ++next.iterations;
  state_ = std::move(next);
  return absl::OkStatus();
}

std::vector<Vector> JointInteriorPoint::Duals() const {
  std::vector<Vector> duals;
  for (const MultitaskTask& task : problem_.tasks) {
    duals.push_back(Vector::Zero(task.targets.size()));
  }
  for (Index t = 0; t < num_active(); ++t) {
    const auto i = static_cast<size_t>(t);
    duals[static_cast<size_t>(tasks_[i])] = systems_[i].DualOf(Rows(state_.alpha, t));
  }
  return duals;
}

// A block is selected where d is larger against its size than the slack against its own. Of the
// plain form the sum of d may go to 0: its size is that of the objective.
Vector JointInteriorPoint::SelectedShares() const {
  const double total = is_squared() ? state_.shares.sum() : state_.alpha.sum();
  Vector selected = state_.shares;
  for (Index k = 0; k < selected.size(); ++k) {
    if (selected(k) * state_.level < state_.slack(k) * total) {
      selected(k) = 0;
    }
  }
  return selected;
}

double JointInteriorPoint::IterationCost() const {
  const auto blocks = static_cast<double>(blocks_.size());
  double cost = blocks * blocks * blocks / 3;
  for (const TaskSystem& system : systems_) {
    const auto rows = static_cast<double>(system.num_rows());
    cost += rows * rows * (2 * blocks + rows / 3) + 2 * rows * blocks * blocks;
  }
  return cost;
}

void JointInteriorPoint::Save(ByteWriter& writer) const {
  WriteFields(state_, writer, StateSizes());
}

absl::Status JointInteriorPoint::Load(ByteReader& reader, RunContext& context) {
  State read;
  if (!ReadFields(reader, read, StateSizes()) || !((costs_ - read.alpha).array() > 0).all() ||
      (!is_squared() && read.level != 1)) {
    return absl::InvalidArgumentError("not a state of this interior point method");
  }
  MERCER_RETURN_IF_ERROR(SetPoint(read.alpha, context));
  state_ = std::move(read);
  return absl::OkStatus();
}

}  // namespace mercer
