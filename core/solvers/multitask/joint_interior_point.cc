#include "core/solvers/multitask/joint_interior_point.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/base/process/side_by_side.h"
#include "core/base/status/status_macros.h"

namespace mercer {
namespace {

constexpr double kShareOfStep = 0.995;  // of the way to the boundary
constexpr int64_t kMostPathIterations = 200;
constexpr double kLeastComplementarity = 1e-13;  // of 1'alpha
constexpr double kMostLag = 10;                  // of the equations behind the products
constexpr double kMostSpoilt = 0.3;              // of the equations by a step, with outer weights
constexpr int kMostHalvings = 6;                 // of a step
constexpr double kLargestProduct = 1e4;          // of the first ones, against the mean of alpha
constexpr double kMostMissed = 5;                // of the level, by blocks that come in
constexpr double kLeastSlack = 0.1;              // of blocks that come in, against the level

// The largest step in [0, most] with values + step change >= 0.
double StepWithin(const Vector& values, const Vector& change, double most) {
  for (Index i = 0; i < values.size(); ++i) {
    if (change(i) < 0) {
      most = std::min(most, -values(i) / change(i));
    }
  }
  return most;
}

// Makes a b at least `aim` by the factor that is less against its own size; by a up to `most`.
void Lift(double& a, double& b, double size_of_a, double size_of_b, double most, double aim) {
  if (a * size_of_b < b * size_of_a && a < most) {
    a = std::max(a, std::min(aim / b, most));
  }
  b = std::max(b, aim / a);
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
  costs_.resize(rows);
  for (Index t = 0; t < num_active(); ++t) {
    const TaskSystem& system = systems_[static_cast<size_t>(t)];
    costs_.segment(begin_[static_cast<size_t>(t)], system.num_rows()) = system.costs();
  }
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

// Half of the dual of constants, which is inside the box, and less where the dual of the whole ray
// is largest before.
absl::Status JointInteriorPoint::Start(RunContext& context) {
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
  const auto groups = static_cast<double>(num_groups_);
  next.outer = Vector::Constant(num_groups_, 1 / groups);
  const Vector energies = groups * Energies();
  Vector largest = Vector::Zero(num_groups_);
  for (Index k = 0; k < energies.size(); ++k) {
    largest(GroupAt(k)) = std::max(largest(GroupAt(k)), energies(k));
  }
  const double sum = largest.sum();
  const double ratio = is_squared() ? total / sum : 0.9 / std::sqrt(sum);
  const double scale = sum > 0 && ratio < 1 ? ratio : 1;
  next.alpha *= scale;
  MERCER_RETURN_IF_ERROR(SetPoint(next.alpha, context));
  const Vector ratios = scale * scale * energies;
  const Vector sizes = SumsOfGroups(Vector::Ones(energies.size()));
  next.shares = (is_squared() ? 1 : scale * total) * AtBlocks(sizes.cwiseInverse());
  if (is_squared()) {
    // Where nothing tells the classes apart any level above 0 serves.
    next.levels = (2 * scale * scale * largest).cwiseMax(1e-12 * scale * total);
    next.slack = AtBlocks(next.levels) - ratios;
  } else {
    next.levels = Vector::Ones(1);
    next.slack = (1 - ratios.array()).max(0.1);
  }
  next.at_floor = Vector::Zero(num_groups_);
  if (has_outer()) {
    next.at_floor = next.levels.cwiseQuotient(next.outer);
    const Vector pulls = SumsOfGroups(next.shares.cwiseProduct(ratios)).cwiseQuotient(next.outer);
    next.outer_level = (pulls + next.at_floor).mean();
  }
  next.biases = Vector::Zero(num_active());
  next.lower = Vector::Ones(costs_.size());
  const double mean = scale * total / static_cast<double>(costs_.size());
  next.upper = (mean * kLargestProduct * costs_.cwiseInverse()).cwiseMin(1);
  state_ = std::move(next);
  return absl::OkStatus();
}

// Dual variables at a bound stay there when it moves.
absl::Status JointInteriorPoint::StartFrom(const JointInteriorPoint& other, double products,
                                           RunContext& context) {
  if (other.begin_ != begin_ || other.costs_.size() != costs_.size()) {
    return Start(context);
  }
  State next = other.state_;
  next.iterations = 0;
  next.stalled = 0;
  next.measure = kInfinity;
  next.stop = InteriorPointStop::kRunning;
  const double total = next.alpha.sum();
  const double mean = total / static_cast<double>(costs_.size());
  for (Index i = 0; i < costs_.size(); ++i) {
    if (costs_(i) != other.costs_(i)) {
      const bool at_bound = other.costs_(i) - next.alpha(i) < mean * next.upper(i);
      next.alpha(i) = at_bound ? next.alpha(i) * (costs_(i) / other.costs_(i))
                               : std::min(next.alpha(i), 0.9 * costs_(i));
    }
  }
  const auto count =
      static_cast<double>(2 * costs_.size() + num_working() + (has_outer() ? num_groups_ : 0));
  const double aim = std::max(products, other.products()) * total / count;
  for (Index i = 0; i < costs_.size(); ++i) {
    const double half = 0.5 * costs_(i);
    Lift(next.alpha(i), next.lower(i), mean, 1, half, aim);
    const double before = costs_(i) - next.alpha(i);
    double room = before;
    Lift(room, next.upper(i), mean, 1, half, aim);
    if (room > before) {
      next.alpha(i) = costs_(i) - room;
    }
  }
  MERCER_RETURN_IF_ERROR(SetPoint(next.alpha, context));
  TakeBlocks(other, total, aim, next);
  state_ = std::move(next);
  return SetPoint(state_.alpha, context);
}

// No constraint is to be missed by more than kMostMissed of the level of its group: it is raised, or,
// where it is given, alpha reduced, and d raised for the same function.
void JointInteriorPoint::TakeBlocks(const JointInteriorPoint& other, double total, double aim,
                                    State& next) const {
  Vector ratios = Energies().cwiseQuotient(AtBlocks(next.outer));
  Vector least = Vector::Zero(num_groups_);
  for (Index k = 0; k < ratios.size(); ++k) {
    least(GroupAt(k)) = std::max(least(GroupAt(k)), ratios(k) / (1 + kMostMissed));
  }
  Vector raised = Vector::Zero(num_groups_);
  double scale = 1;
  if (is_squared()) {
    raised = (least - next.levels).cwiseMax(0.0);
  } else {
    scale = 1 / std::sqrt(std::max(1.0, least(0)));
  }
  next.levels += raised;
  next.alpha *= scale;
  ratios *= scale * scale;
  const double of_shares = is_squared() ? 1 : scale * total;
  const Vector levels = AtBlocks(next.levels);
  next.shares.resize(ratios.size());
  next.slack = (levels - ratios).cwiseMax(kLeastSlack * levels);
  Index old = 0;
  for (Index k = 0; k < ratios.size(); ++k) {
    const Index block = blocks_[static_cast<size_t>(k)];
    while (old < other.num_working() && other.blocks_[static_cast<size_t>(old)] < block) {
      ++old;
    }
    if (old < other.num_working() && other.blocks_[static_cast<size_t>(old)] == block) {
      next.shares(k) = other.state_.shares(old) / scale;
      next.slack(k) = other.state_.slack(old) + raised(GroupAt(k));
      Lift(next.shares(k), next.slack(k), of_shares, levels(k), kInfinity, aim);
    } else {
      next.shares(k) = aim / next.slack(k);
    }
  }
  if (has_outer()) {
    next.at_floor = next.at_floor.cwiseMax(aim * (next.outer.array() - floor()).inverse().matrix());
  }
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
  if (!ReadFields(reader, read, StateSizes()) || !((costs_ - read.alpha).array() > 0).all() ||
      (!is_squared() && read.levels(0) != 1) || (has_outer() && !IsInside(read)) ||
      (!has_outer() && (read.outer(0) != 1 || read.at_floor(0) != 0 || read.outer_level != 0))) {
    return absl::InvalidArgumentError("not a state of this interior point method");
  }
  MERCER_RETURN_IF_ERROR(SetPoint(read.alpha, context));
  state_ = std::move(read);
  return absl::OkStatus();
}

}  // namespace mercer
