#include <algorithm>
#include <cmath>
#include <utility>

#include "core/base/status/status_macros.h"
#include "core/solvers/multitask/joint_interior_point.h"

namespace mercer {
namespace {

constexpr double kLargestProduct = 1e4;  // of the first ones, against the mean of alpha
constexpr double kMostMissed = 5;        // of the level, by blocks that come in
constexpr double kLeastSlack = 0.1;      // of blocks that come in, against the level
constexpr double kLeastScale = 1e-5;     // of the dual of constants at the first costs

// Makes a b at least `aim` by the factor that is less against its own size; by a up to `most`.
void Lift(double& a, double& b, double size_of_a, double size_of_b, double most, double aim) {
  if (a * size_of_b < b * size_of_a && a < most) {
    a = std::max(a, std::min(aim / b, most));
  }
  b = std::max(b, aim / a);
}

}  // namespace

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
  next.share_of_costs = std::min(1.0, scale / kLeastScale);
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
  costs_ = next.share_of_costs * all_costs_;
  next.upper = (mean * kLargestProduct * costs_.cwiseInverse()).cwiseMin(1);
  state_ = std::move(next);
  return absl::OkStatus();
}

absl::Status JointInteriorPoint::StartFrom(const JointInteriorPoint& other, double products,
                                           double growth, RunContext& context) {
  if (other.begin_ != begin_ || other.costs_.size() != costs_.size()) {
    return Start(context);
  }
  // A share of the costs is that of these costs alone.
  const double share = other.all_costs_ == all_costs_ ? other.state_.share_of_costs : 1;
  const double total = other.state_.alpha.sum();
  State next = AtCosts(other, share, std::max(products, other.products()), growth);
  next.iterations = 0;
  next.stalled = 0;
  next.measure = kInfinity;
  next.stop = InteriorPointStop::kRunning;
  MERCER_RETURN_IF_ERROR(SetPoint(next.alpha, context));
  TakeBlocks(other.blocks_, other.state_, Aim(std::max(products, other.products()), total), next);
  state_ = std::move(next);
  return SetPoint(state_.alpha, context);
}

// Where the classes of a task overlap, its dual variables grow in proportion to large costs, but no
// step makes them much larger: energies grow with the square. From the solution at a part of the
// costs, times what that part was too small by, a few iterations lead to that at all of them. Where
// they do not, none is near its bound, and the solution does not change.
absl::Status JointInteriorPoint::RaiseCosts(RunContext& context) {
  const double reached = products();
  State next = state_;
  next.share_of_costs = 1;
  for (Index t = 0; t < num_active(); ++t) {
    auto alpha = next.alpha.segment(begin_[static_cast<size_t>(t)], Rows(costs_, t).size());
    const bool overlaps = (alpha.array() > 0.5 * Rows(costs_, t).array()).any();
    alpha /= overlaps ? state_.share_of_costs : 1.0;
  }
  next.measure = kInfinity;
  next.stalled = 0;
  costs_ = all_costs_;
  MERCER_RETURN_IF_ERROR(SetPoint(next.alpha, context));
  TakeBlocks(blocks_, state_, Aim(reached, next.alpha.sum()), next);
  state_ = std::move(next);
  return SetPoint(state_.alpha, context);
}

// A product, of those whose sum is that share of 1'alpha.
double JointInteriorPoint::Aim(double products, double total) const {
  const auto count =
      static_cast<double>(2 * costs_.size() + num_working() + (has_outer() ? num_groups_ : 0));
  return products * total / count;
}

// The point of another one, of the same rows, at a share of the costs here. Dual variables at a
// bound stay there when it moves.
JointInteriorPoint::State JointInteriorPoint::AtCosts(const JointInteriorPoint& other, double share,
                                                      double products, double growth) {
  State next = other.state_;
  const Vector from = other.costs_;
  costs_ = share * all_costs_;
  next.share_of_costs = share;
  const double total = next.alpha.sum();
  const double mean = total / static_cast<double>(costs_.size());
  for (Index i = 0; i < costs_.size(); ++i) {
    if (costs_(i) != from(i)) {
      const bool at_bound = from(i) - next.alpha(i) < mean * next.upper(i);
      const double ratio = costs_(i) / from(i);
      next.alpha(i) = at_bound ? next.alpha(i) * ratio
                               : std::min(next.alpha(i) * std::pow(ratio, growth), 0.9 * costs_(i));
    }
  }
  const double aim = Aim(products, total);
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
  return next;
}

// No constraint is to be missed by more than kMostMissed of the level of its group: it is raised, or,
// where it is given, alpha reduced, and d raised for the same function.
void JointInteriorPoint::TakeBlocks(const std::vector<Index>& blocks, const State& from, double aim,
                                    State& next) const {
  const double total = from.alpha.sum();
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
    while (old < static_cast<Index>(blocks.size()) && blocks[static_cast<size_t>(old)] < block) {
      ++old;
    }
    if (old < static_cast<Index>(blocks.size()) && blocks[static_cast<size_t>(old)] == block) {
      next.shares(k) = from.shares(old) / scale;
      next.slack(k) = from.slack(old) + raised(GroupAt(k));
      Lift(next.shares(k), next.slack(k), of_shares, levels(k), kInfinity, aim);
    } else {
      next.shares(k) = aim / next.slack(k);
    }
  }
  if (has_outer()) {
    next.at_floor = next.at_floor.cwiseMax(aim * (next.outer.array() - floor()).inverse().matrix());
  }
}

}  // namespace mercer
