#include "core/objectives/simplex_program.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <Eigen/Cholesky>

#include "core/base/status/status_macros.h"

namespace mercer {
namespace {

constexpr double kSimplexAccuracy = 1e-12;  // of a program whose slopes are at most 1
constexpr int kMaxSimplexSteps = 80;
constexpr double kSimplexRidge = 1e-10;        // of the mean diagonal
constexpr double kNegligibleOnSimplex = 1e-9;  // against the largest entry of a group

// A point of the primal-dual path: `bounds` > 0 are the multipliers of x >= 0, `levels` those of
// the sums of groups.
struct SimplexPoint {
  Vector x;
  Vector bounds;
  Vector levels;

  double Complementarity() const { return x.dot(bounds); }
};

// Newton's system for the conditions of optimality at a point,
//   slope + hessian (x - start) - bounds - levels(group) = 0,  group sums of x = 1,  x bounds = mu
// entry by entry, in the changes of x relative to x itself, which stays well scaled where entries
// go to 0. The groups' equations are eliminated last.
class SimplexSystem {
 public:
  SimplexSystem(const SimplexProgram& program, const SimplexGroups& groups, const SimplexPoint& at)
      : at_(at),
        slope_(program.slope + program.hessian * (at.x - program.start)),
        members_(Matrix::Zero(at.x.size(), groups.num_groups)),
        missing_(Vector::Ones(groups.num_groups)) {
    for (Index k = 0; k < at.x.size(); ++k) {
      const Index group = groups.group_of[static_cast<size_t>(k)];
      members_(k, group) = at.x(k);
      missing_(group) -= at.x(k);
      slope_(k) -= at.levels(group);
    }
    Matrix system = at.x.asDiagonal() * program.hessian * at.x.asDiagonal();
    system.diagonal() += at.x.cwiseProduct(at.bounds);
    factor_.compute(system);
    solved_members_ = factor_.solve(members_);
    group_factor_.compute(members_.transpose() * solved_members_);
  }

  bool ok() const {
    return factor_.info() == Eigen::Success && group_factor_.info() == Eigen::Success;
  }
  // The largest violation of the first two conditions, entries of the first times x.
  double Residual() const {
    const Vector stationary = at_.x.cwiseProduct(slope_ - at_.bounds);
    return std::max(stationary.lpNorm<1>(), missing_.cwiseAbs().maxCoeff());
  }

  // The direction whose changes bring the products x bounds to given values, to first order.
  struct Direction {
    Vector relative;  // of x
    Vector bounds;
    Vector levels;
  };
  Direction Solve(const Vector& products) const {
    const Vector right = products - at_.x.cwiseProduct(slope_);
    const Vector free = factor_.solve(right);
    Direction move;
    move.levels = group_factor_.solve(missing_ - members_.transpose() * free);
    move.relative = free + solved_members_ * move.levels;
    move.bounds = (products - at_.x.cwiseProduct(at_.bounds)).cwiseQuotient(at_.x) -
                  at_.bounds.cwiseProduct(move.relative);
    return move;
  }
  // The longest step at most 1 along which nothing changes its sign.
  double Longest(const Direction& move) const {
    const double decrease =
        std::max(-move.relative.minCoeff(), -move.bounds.cwiseQuotient(at_.bounds).minCoeff());
    return decrease > 1.0 ? 1.0 / decrease : 1.0;
  }

 private:
  const SimplexPoint& at_;
  Vector slope_;    // at the point, less the levels
  Matrix members_;  // entries x(k) at (k, group of k)
  Vector missing_;  // from the sums of groups
  Eigen::LLT<Matrix> factor_;
  Matrix solved_members_;
  Eigen::LLT<Matrix> group_factor_;
};

// Makes a step of predictor and corrector; false when none is possible.
bool StepOnSimplices(const SimplexSystem& system, SimplexPoint& at) {
  constexpr double kShareOfLongest = 0.99;
  const auto size = static_cast<double>(at.x.size());
  const auto predicted = system.Solve(Vector::Zero(at.x.size()));
  const double reach = system.Longest(predicted);
  const double before = at.Complementarity();
  const double after = (at.x.array() * (1.0 + reach * predicted.relative.array()) *
                        (at.bounds + reach * predicted.bounds).array())
                           .sum();
  const double share = std::clamp(std::pow(after / before, 3), 1e-6, 1.0);
  const Vector second_order = at.x.cwiseProduct(predicted.relative).cwiseProduct(predicted.bounds);
  const auto move =
      system.Solve(Vector::Constant(at.x.size(), share * before / size) - second_order);
  const double length = std::min(1.0, kShareOfLongest * system.Longest(move));
  at.x.array() *= 1.0 + length * move.relative.array();
  at.bounds += length * move.bounds;
  at.levels += length * move.levels;
  return at.x.allFinite() && at.bounds.allFinite() && at.levels.allFinite();
}

Vector GroupMaximaOf(const Vector& values, const SimplexGroups& groups) {
  Vector largest = Vector::Zero(groups.num_groups);
  for (Index k = 0; k < values.size(); ++k) {
    double& of_group = largest(groups.group_of[static_cast<size_t>(k)]);
    of_group = std::max(of_group, values(k));
  }
  return largest;
}

// Entries that are negligible become 0, and the groups' sums 1.
Vector Rounded(const Vector& x, const SimplexGroups& groups) {
  const Vector largest = GroupMaximaOf(x, groups);
  Vector rounded = x;
  Vector sums = Vector::Zero(groups.num_groups);
  for (Index k = 0; k < x.size(); ++k) {
    const Index group = groups.group_of[static_cast<size_t>(k)];
    if (x(k) < kNegligibleOnSimplex * largest(group)) {
      rounded(k) = 0;
    }
    sums(group) += rounded(k);
  }
  for (Index k = 0; k < x.size(); ++k) {
    rounded(k) /= sums(groups.group_of[static_cast<size_t>(k)]);
  }
  return rounded;
}

}  // namespace

absl::StatusOr<std::optional<Vector>> MinimizeOnSimplices(const SimplexProgram& program,
                                                          const SimplexGroups& groups,
                                                          const RunContext& context) {
  const Index m = program.start.size();
  const double unit = m > 0 ? program.slope.cwiseAbs().maxCoeff() : 0;
  if (!(unit > 0) || !std::isfinite(unit) || !program.hessian.allFinite() ||
      !program.start.allFinite()) {
    return std::optional<Vector>();
  }
  SimplexProgram scaled{program.start, program.slope / unit, program.hessian / unit};
  scaled.hessian.diagonal().array() +=
      kSimplexRidge * std::max(scaled.hessian.diagonal().mean(), kSimplexRidge);
  Vector sizes = Vector::Zero(groups.num_groups);
  for (const Index group : groups.group_of) {
    sizes(group) += 1;
  }
  SimplexPoint at{Vector(m), Vector(m), Vector::Zero(groups.num_groups)};
  for (Index k = 0; k < m; ++k) {
    const double equal = 1.0 / sizes(groups.group_of[static_cast<size_t>(k)]);
    at.x(k) = 0.9 * std::max(program.start(k), 0.0) + 0.1 * equal;
  }
  at.bounds = (0.1 / static_cast<double>(m)) * at.x.cwiseInverse();
  for (int step = 0; step < kMaxSimplexSteps; ++step) {
    MERCER_RETURN_IF_ERROR(context.CheckCancelled());
    const SimplexSystem system(scaled, groups, at);
    if (!system.ok() ||
        (at.Complementarity() <= kSimplexAccuracy && system.Residual() <= kSimplexAccuracy)) {
      break;
    }
    SimplexPoint next = at;
    if (!StepOnSimplices(system, next)) {
      break;
    }
    at = std::move(next);
  }
  if (!at.x.allFinite() || !(at.x.minCoeff() >= 0)) {
    return std::optional<Vector>();
  }
  Vector minimiser = Rounded(at.x, groups);
  // A point that is worse than the start by the program itself is no use: rounding has spoilt the
  // path.
  const Vector moved = minimiser - scaled.start;
  const double change = scaled.slope.dot(moved) + 0.5 * moved.dot(scaled.hessian * moved);
  return change <= 1e-9 ? std::optional<Vector>(std::move(minimiser)) : std::nullopt;
}

}  // namespace mercer
