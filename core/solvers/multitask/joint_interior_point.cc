#include "core/solvers/multitask/joint_interior_point.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/base/process/side_by_side.h"
#include "core/base/status/status_macros.h"

namespace mercer {
namespace {

constexpr double kRaised = 1e-2;        // products at which the costs are raised
constexpr double kShareOfStep = 0.995;  // of the way to the boundary
constexpr int64_t kMostPathIterations = 200;
constexpr double kLeastComplementarity = 1e-13;  // of 1'alpha
constexpr double kMostLag = 10;                  // of the equations behind the products
constexpr double kMostSpoilt = 0.3;              // of the equations by a step, with outer weights
constexpr int kMostHalvings = 6;                 // of a step

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
    : problem_(problem), blocks_(std::move(blocks)), num_groups_(problem.norm.num_groups()) {
  for (const Index k : blocks_) {
    group_of_.push_back(problem.norm.GroupOf(k));
  }
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
  all_costs_.resize(rows);
  for (Index t = 0; t < num_active(); ++t) {
    const TaskSystem& system = systems_[static_cast<size_t>(t)];
    all_costs_.segment(begin_[static_cast<size_t>(t)], system.num_rows()) = system.costs();
  }
  costs_ = all_costs_;
}

JointInteriorPoint::Sizes JointInteriorPoint::StateSizes() const {
  return {costs_.size(), static_cast<Index>(blocks_.size()), num_active(), num_groups_};
}

Vector JointInteriorPoint::AtBlocks(const Vector& of_groups) const { return of_groups(group_of_); }

Vector JointInteriorPoint::SumsOfGroups(const Vector& of_blocks) const {
  Vector sums = Vector::Zero(num_groups_);
  for (Index k = 0; k < of_blocks.size(); ++k) {
    sums(GroupAt(k)) += of_blocks(k);
  }
  return sums;
}

Vector JointInteriorPoint::Ratios() const {
  return Energies().cwiseQuotient(AtBlocks(state_.outer));
}

double JointInteriorPoint::floor() const {
  return has_outer() ? problem_.norm.groups()->floor() : 0;
}

// Of the outer weights above their floor.
Vector JointInteriorPoint::FloorRoom() const { return state_.outer.array() - floor(); }

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

// On its way a level may be below 0, where it says nothing: then the largest energy stands for it.
Vector JointInteriorPoint::EnergyLevels() const {
  Vector levels = state_.levels.cwiseProduct(state_.outer);
  const Vector energies = Energies();
  for (Index j = 0; j < num_groups_; ++j) {
    for (Index k = 0; k < energies.size() && !(state_.levels(j) > 0); ++k) {
      levels(j) = GroupAt(k) == j ? std::max(levels(j), energies(k)) : levels(j);
    }
  }
  return levels;
}

double JointInteriorPoint::products() const { return Complementarity(state_) / state_.alpha.sum(); }

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
  const Vector scaled = state_.shares.cwiseQuotient(AtBlocks(state_.outer));
  for (Index t = 0; t < num_active(); ++t) {
    const TaskSystem& system = systems_[static_cast<size_t>(t)];
    const auto alpha = Rows(state_.alpha, t);
    residual.stationarity.segment(begin_[static_cast<size_t>(t)], system.num_rows()) +=
        system.slopes() * scaled + state_.biases(t) * system.labels();
    residual.balance(t) = system.labels().dot(alpha);
  }
  const Vector ratios = Ratios();
  residual.slack = state_.slack + ratios - AtBlocks(state_.levels);
  residual.simplex = Vector::Zero(num_groups_);
  if (is_squared()) {
    residual.simplex = SumsOfGroups(state_.shares).array() - 1;
  }
  residual.outer = Vector::Zero(num_groups_);
  if (has_outer()) {
    // Times the outer weights themselves, as their changes are over them.
    const Vector pulls = SumsOfGroups(state_.shares.cwiseProduct(ratios));
    residual.outer =
        0.5 * (state_.outer.cwiseProduct((state_.outer_level - state_.at_floor.array()).matrix()) -
               pulls);
    residual.outer_sum = state_.outer.sum() - 1;
  }
  return residual;
}

// The sum of all products that go to 0.
double JointInteriorPoint::Complementarity(const State& state) const {
  return state.alpha.dot(state.lower) + (costs_ - state.alpha).dot(state.upper) +
         state.shares.dot(state.slack) +
         state.at_floor.dot((state.outer.array() - floor()).matrix());
}

// The hinge of a row counts its cost times: so does an error of its margin.
JointInteriorPoint::Errors JointInteriorPoint::ErrorsOf(const Residual& residual) const {
  const double total = state_.alpha.sum();
  return {Complementarity(state_) / total, costs_.dot(residual.stationarity.cwiseAbs()) / total,
          (state_.shares.dot(residual.slack.cwiseAbs()) + residual.outer.cwiseAbs().sum()) / total};
}

// Whether the equations come before the products: with outer weights they are far from linear.
bool JointInteriorPoint::Lag(const Errors& errors) const {
  return has_outer() && errors.OfEquations() > kMostLag * errors.products;
}

void JointInteriorPoint::Judge(const Errors& errors) {
  const auto [products, margins, slacks] = errors;
  const bool whole = state_.share_of_costs == 1;  // else what is solved is but a beginning
  if (whole && ((products <= tolerance_ && margins <= tolerance_ && slacks <= tolerance_) ||
                products <= kLeastComplementarity)) {
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
  } else if (products <= kNearly && !Lag(errors) && ++state_.stalled >= kMostStalled) {
    state_.stop = InteriorPointStop::kPrecision;
  }
  if (state_.iterations >= kMostPathIterations) {
    state_.stop = InteriorPointStop::kIterationLimit;
  }
}

double JointInteriorPoint::LongestStep(const Direction& direction) const {
  double step = 1 / kShareOfStep;
  step = StepWithin(state_.alpha, direction.alpha, step);
  step = StepWithin(costs_ - state_.alpha, -direction.alpha, step);
  step = StepWithin(state_.lower, direction.lower, step);
  step = StepWithin(state_.upper, direction.upper, step);
  step = StepWithin(state_.shares, direction.shares, step);
  step = StepWithin(state_.slack, direction.slack, step);
  // Levels are free: those of a solution are above 0 as its slacks are, and to keep them there on the
  // way, where an energy has grown far beyond what the step had in mind, may end all progress.
  if (has_outer()) {
    step = StepWithin(state_.levels, direction.levels, step);
    step = StepWithin(FloorRoom(), direction.outer, step);
    step = StepWithin(state_.at_floor, direction.at_floor, step);
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
  moved.levels += step * direction.levels;
  moved.outer += step * direction.outer;
  moved.at_floor += step * direction.at_floor;
  moved.outer_level += step * direction.outer_level;
  return moved;
}

bool JointInteriorPoint::IsInside(const State& state) const {
  const auto inside = [](const Vector& values) {
    return values.allFinite() && (values.array() > 0).all();
  };
  return inside(state.alpha) && inside(costs_ - state.alpha) && inside(state.lower) &&
         inside(state.upper) && inside(state.shares) && inside(state.slack) &&
         state.biases.allFinite() && state.levels.allFinite() && inside(state.outer) &&
         (!has_outer() || (inside(state.levels) && inside(state.at_floor) &&
                           inside(state.outer.array() - floor()))) &&
         std::isfinite(state.outer_level);
}

absl::Status JointInteriorPoint::Iterate(RunContext& context) {
  if (state_.share_of_costs < 1 && products() <= kRaised) {
    MERCER_RETURN_IF_ERROR(RaiseCosts(context));
  }
  const Residual residual = FindResidual();
  const Errors errors = ErrorsOf(residual);
  Judge(errors);
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
            -state_.shares.cwiseProduct(state_.slack), -state_.at_floor.cwiseProduct(FloorRoom())};
  Direction direction;
  MERCER_RETURN_IF_ERROR(FindDirection(residual, reduced, goal, direction, context));
  const double before = Complementarity(state_);
  const double after = Complementarity(Moved(direction, LongestStep(direction)));
  const double count = static_cast<double>(2 * costs_.size() + state_.shares.size() +
                                           (has_outer() ? num_groups_ : 0));
  const double share = Lag(errors) ? 1 : std::clamp(std::pow(after / before, 3), 1e-6, 1.0);
  const double aim = share * before / count;
  goal.lower.array() += aim - direction.alpha.array() * direction.lower.array();
  goal.upper.array() += aim + direction.alpha.array() * direction.upper.array();
  goal.shares.array() += aim - direction.shares.array() * direction.slack.array();
  goal.outer.array() += aim - direction.outer.array() * direction.at_floor.array();
  MERCER_RETURN_IF_ERROR(FindDirection(residual, reduced, goal, direction, context));
  // Where alpha or outer weights change by much, e / g is far from linear, and a whole step may spoil
  // more of the equations than the next ones mend.
  const double allowed = std::max(errors.OfEquations(), kMostSpoilt);
  const State before_step = state_;
  double step = LongestStep(direction);
  for (int halvings = 0;; ++halvings, step *= 0.5) {
    State next = Moved(direction, step);
    if (!IsInside(next)) {
      state_.stop = InteriorPointStop::kPrecision;
      return absl::OkStatus();
    }
    MERCER_RETURN_IF_ERROR(SetPoint(next.alpha, context));
    state_ = std::move(next);
    if (halvings >= kMostHalvings || ErrorsOf(FindResidual()).OfEquations() <= allowed) {
      break;
    }
    state_ = before_step;
  }
  ++state_.iterations;
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
Vector JointInteriorPoint::Weights() const {
  const Vector totals =
      is_squared() ? SumsOfGroups(state_.shares) : Vector::Constant(1, state_.alpha.sum());
  const Vector beta = problem_.norm.BlockWeights(problem_.num_blocks())(blocks_);
  Vector weights(state_.shares.size());
  for (Index k = 0; k < weights.size(); ++k) {
    const Index j = GroupAt(k);
    const bool selected = state_.shares(k) * state_.levels(j) >= state_.slack(k) * totals(j);
    weights(k) = selected ? state_.shares(k) / (beta(k) * beta(k) * state_.outer(j)) : 0;
  }
  return weights;
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
  const bool fits = ReadFields(reader, read, StateSizes());
  costs_ = read.share_of_costs * all_costs_;
  if (!fits || !((costs_ - read.alpha).array() > 0).all() ||
      (!is_squared() && read.levels(0) != 1) || (has_outer() && !IsInside(read)) ||
      (!has_outer() && (read.outer(0) != 1 || read.at_floor(0) != 0 || read.outer_level != 0))) {
    return absl::InvalidArgumentError("not a state of this interior point method");
  }
  MERCER_RETURN_IF_ERROR(SetPoint(read.alpha, context));
  state_ = std::move(read);
  return absl::OkStatus();
}

}  // namespace mercer
