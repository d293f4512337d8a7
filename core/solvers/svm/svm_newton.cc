#include "core/solvers/svm/svm_newton.h"

#include <algorithm>
#include <cmath>

#include "core/base/status/status_macros.h"
#include "core/linalg/blocked_cholesky.h"

namespace mercer {
namespace {

constexpr int64_t kMaxSubproblemIterations = 30;
constexpr int64_t kRefreshInterval = 40;  // Newton steps between products computed anew
constexpr double kPreciseGap = 1e-4;      // below, products are computed anew at every centre
constexpr int64_t kMaxStalls = 30;        // proximal steps without progress
constexpr double kSubproblemShare = 0.1;
constexpr double kLeastStep = 1e-3;  // of StepUnit
// Costs beyond this many times the largest coefficient bound nothing: with a hard margin they say
// nothing about the solution's size.
constexpr double kOutOfReach = 1e4;
constexpr double kGoalShare = 0.05;
// A proximal step of this many times the inverse of the small eigenvalues of the Newton systems
// contracts the error by about the same factor; longer ones only make the subproblems harder.
constexpr double kStepOfPivot = 100.0;

// What no coefficient will reach.
double ReachOf(const Vector& dual) {
  const double largest = dual.cwiseAbs().maxCoeff();
  return largest > 0 ? kOutOfReach * largest : kInfinity;
}

// Finds the entries of `values` that are not negligible against the part of the box that is within
// reach, and their indices.
void NonZeros(const Vector& values, const SvmDualBox& box, double reach,
              std::vector<Index>& indices, Vector& kept) {
  indices.clear();
  for (Index i = 0; i < values.size(); ++i) {
    if (std::abs(values(i)) > 1e-15 * std::min(box.upper(i) - box.lower(i), reach)) {
      indices.push_back(i);
    }
  }
  kept.resize(static_cast<Index>(indices.size()));
  for (size_t j = 0; j < indices.size(); ++j) {
    kept(static_cast<Index>(j)) = values(indices[j]);
  }
}

}  // namespace

absl::Status SvmNewtonSolver::SetProblem(const SvmProblem& problem) {
  if (problem.loss == nullptr || problem.targets.size() != kernel_.size()) {
    return absl::InvalidArgumentError("targets and costs must have one entry per sample");
  }
  MERCER_ASSIGN_OR_RETURN(box_, MakeSvmDualBox(*problem.loss, problem.targets, problem.costs));
  problem_ = problem;
  return absl::OkStatus();
}

double SvmNewtonSolver::CostUnit() const { return problem_.costs.maxCoeff() / box_.score_unit; }

double SvmNewtonSolver::StepUnit(const Vector& dual) const {
  return std::min(CostUnit(), ReachOf(dual) / box_.score_unit);
}

// Coefficients of a start say how large those of the solution may be only after they have been
// brought to the best multiple along their ray, (targets'dual - epsilon |dual|_1) / dual'K dual
// where the box lets them; one that is no better than 0 says nothing.
double SvmNewtonSolver::StartUnit(const Vector& dual, const Vector& scores) const {
  const double linear = box_.targets.dot(dual) - box_.epsilon * dual.lpNorm<1>();
  const double multiple = linear > 0 ? linear / dual.dot(scores) : kInfinity;
  // A square that has underflowed, or that rounding has made negative, bounds nothing.
  return multiple > 0 && multiple < kInfinity
             ? std::min(CostUnit(), std::max(multiple, 1.0) * ReachOf(dual) / box_.score_unit)
             : CostUnit();
}

absl::Status SvmNewtonSolver::Start(const SvmProblem& problem, const SvmWarmStart& warm_start,
                                    RunContext& context) {
  MERCER_RETURN_IF_ERROR(SetProblem(problem));
  const Index n = kernel_.size();
  if (warm_start.dual.size() != 0 && warm_start.dual.size() != n) {
    return absl::InvalidArgumentError("the dual of the start must have one entry per sample");
  }
  State state;
  state.center = warm_start.dual.size() == 0 ? Vector::Zero(n) : warm_start.dual;
  problem_.loss->RepairDual(problem_.targets, problem_.costs, true, state.center);
  MERCER_RETURN_IF_ERROR(Multiply(state.center, state.center_scores, context));
  state.dual = state.eta = state.center;
  state.dual_scores = state.scores = state.center_scores;
  const double unit = StartUnit(state.center, state.center_scores);
  state.step = warm_start.proximal_step > 0 ? std::max(warm_start.proximal_step, kLeastStep * unit)
                                            : 0.1 * unit;
  MERCER_ASSIGN_OR_RETURN(certificate_, Certify(state, context));
  state_ = std::move(state);
  if (certificate_.RelativeGap() <= relative_gap_) {
    state_.stop = SvmStop::kRelativeGap;
    return absl::OkStatus();
  }
  KeepBest(certificate_.RelativeGap(), state_);
  State next = state_;
  next.bias = certificate_.bias.chosen;
  MERCER_RETURN_IF_ERROR(MakePoint(next, context));
  return Commit(std::move(next), context);
}

absl::Status SvmNewtonSolver::Multiply(const Vector& dual, Vector& scores,
                                       RunContext& context) const {
  std::vector<Index> columns;
  Vector coefficients;
  NonZeros(dual, box_, ReachOf(dual), columns, coefficients);
  scores = Vector::Zero(kernel_.size());
  return AddKernelColumns(kernel_, columns, coefficients, scores, context);
}

// Completes the point of `next`: the bias that makes the maximiser a sum to 0, a itself, and its
// product K a = f + K (a - eta), for which only the columns where a and eta differ are read.
absl::Status SvmNewtonSolver::MakePoint(State& next, RunContext& context) const {
  MERCER_ASSIGN_OR_RETURN(next.bias,
                          Model(next).BalanceDual(next.scores, next.bias, next.dual, context));
  std::vector<Index> columns;
  Vector coefficients;
  NonZeros(next.dual - next.eta, box_, ReachOf(next.dual), columns, coefficients);
  next.dual_scores = next.scores;
  return AddKernelColumns(kernel_, columns, coefficients, next.dual_scores, context);
}

absl::StatusOr<SvmCertificate> SvmNewtonSolver::Certify(const State& state,
                                                        const RunContext& context) const {
  return CertifySvm(*problem_.loss, problem_.targets, problem_.costs, state.dual, state.dual_scores,
                    /*with_bias=*/true, context);
}

// Makes one Newton step, or, when the subproblem is solved or takes too long, a new centre.
absl::Status SvmNewtonSolver::Iterate(RunContext& context) {
  const bool solved = SubproblemSolved();
  if (solved || state_.subproblem_iterations >= kMaxSubproblemIterations) {
    return Recentre(solved, context);
  }
  State next = state_;
  double progress = 0;
  MERCER_RETURN_IF_ERROR(NewtonStep(next, &progress, context));
  if (progress == 0) {
    // F cannot be lowered in floating point: a is the solution of the subproblem, to rounding.
    return Recentre(state_.subproblem_iterations > 0, context);
  }
  MERCER_RETURN_IF_ERROR(MakePoint(next, context));
  ++next.iterations;
  ++next.subproblem_iterations;
  ++next.since_refresh;
  return Commit(std::move(next), context);
}

void SvmNewtonSolver::KeepBest(double gap, State& state) {
  if (gap < state.best_gap) {
    state.stalls = gap < 0.9 * state.best_gap ? 0 : state.stalls;
    state.best_gap = gap;
    state.best_dual = state.dual;
    state.best_scores = state.dual_scores;
  }
}

// Certifies the new state, which then takes the place of the old one, and judges the run.
absl::Status SvmNewtonSolver::Commit(State next, const RunContext& context) {
  MERCER_ASSIGN_OR_RETURN(SvmCertificate certificate, Certify(next, context));
  KeepBest(certificate.RelativeGap(), next);
  if (certificate.RelativeGap() <= relative_gap_) {
    next.stop = SvmStop::kRelativeGap;
  } else if (next.stalls >= kMaxStalls) {
    // Many proximal steps have brought nothing: the best dual so far is the result.
    next.stop = SvmStop::kPrecision;
    next.dual = next.best_dual;
    next.dual_scores = next.best_scores;
    MERCER_ASSIGN_OR_RETURN(certificate, Certify(next, context));
  }
  state_ = std::move(next);
  certificate_ = certificate;
  return absl::OkStatus();
}

// Half |g|_K^2 is the duality gap of the subproblem: solved when it is a small share of what the
// subproblem has gained over the centre, or of the gap that is asked for.
bool SvmNewtonSolver::SubproblemSolved() const {
  if (state_.subproblem_iterations == 0) {
    return false;
  }
  const double gap = 0.5 * (state_.dual - state_.eta).dot(state_.dual_scores - state_.scores);
  const double moved = (state_.dual - state_.center).squaredNorm();
  const double gained = GainOverCentre() - moved / (2.0 * state_.step);
  return gap <= std::max(kSubproblemShare * gained,
                         kGoalShare * relative_gap_ * std::abs(certificate_.dual));
}

// The dual objective at a less that at the centre, from differences: both values agree in most
// digits near the solution.
double SvmNewtonSolver::GainOverCentre() const {
  double gain = 0;
  for (Index i = 0; i < state_.dual.size(); ++i) {
    const double slope =
        box_.targets(i) - state_.bias - 0.5 * (state_.dual_scores(i) + state_.center_scores(i));
    gain += (state_.dual(i) - state_.center(i)) * slope -
            box_.epsilon * (std::abs(state_.dual(i)) - std::abs(state_.center(i)));
  }
  return gain;
}

// Moves the centre to a when that is the better dual point, adapts the proximal step, and starts
// the next subproblem at the centre.
absl::Status SvmNewtonSolver::Recentre(bool solved, RunContext& context) {
  State next = state_;
  if (GainOverCentre() > 0) {
    next.center = state_.dual;
    next.center_scores = state_.dual_scores;
  } else {
    solved = false;
  }
  // Products are updated step by step. They are computed anew now and then, and at every centre
  // once the gap is small, since their rounding is what limits it.
  if (next.since_refresh >= kRefreshInterval ||
      (next.since_refresh > 0 && state_.best_gap <= kPreciseGap)) {
    MERCER_RETURN_IF_ERROR(Multiply(next.center, next.center_scores, context));
    next.since_refresh = 0;
  }
  next.eta = next.center;
  next.scores = next.center_scores;
  next.subproblem_iterations = 0;
  const double grown =
      std::min({4.0 * state_.step, std::max(kStepOfPivot / state_.pivot_scale, 0.25 * state_.step),
                1e4 * CostUnit()});
  next.step = solved ? grown : std::max(0.25 * state_.step, kLeastStep * StepUnit(next.center));
  MERCER_RETURN_IF_ERROR(MakePoint(next, context));
  ++next.stalls;
  return Commit(std::move(next), context);
}

double SvmNewtonSolver::NextCost() const {
  // One factorisation of order |J|, and the columns of J in two products.
  const double free =
      static_cast<double>(Model(state_).FreeSamples(state_.scores, state_.bias).size());
  const double n = static_cast<double>(kernel_.size());
  return free * free * free / 3.0 + 4.0 * n * free + 200.0 * n;
}

// The Newton system T [c1 c2] = [rhs 1], T = I/step + K_JJ, J = free. The multipliers of the free
// samples are c1 + bias_change c2 with the bias_change that makes their sum 0.
struct SvmNewtonSolver::NewtonSystem {
  std::vector<Index> free;
  double step;
  Vector rhs;
  Vector multipliers;
  double bias_change = 0;
  double pivot_scale = 0;
};

// Solves the Newton system by one factorisation for both right-hand sides. A matrix T that is
// singular in floating point gets a larger diagonal: the step remains one of descent. `pivot_scale`
// is the harmonic mean of the pivots, a measure of T's small eigenvalues.
absl::Status SvmNewtonSolver::SolveSystem(NewtonSystem& system, RunContext& context) const {
  const Index count = static_cast<Index>(system.free.size());
  system.multipliers = Vector::Zero(count);
  if (count == 0) {
    return absl::OkStatus();
  }
  Matrix factor;
  double shift = 1.0 / system.step;
  bool factored = false;
  for (int trial = 0; trial < 6 && !factored; ++trial) {
    MERCER_RETURN_IF_ERROR(GatherKernel(kernel_, system.free, factor, context));
    const double mean_diagonal = factor.diagonal().mean();
    factor.diagonal().array() += shift;
    const absl::Status status = FactorCholesky(factor, context);
    if (absl::IsCancelled(status)) {
      return status;
    }
    factored = status.ok();
    shift = std::max(100.0 * shift, 1e-14 * mean_diagonal);
  }
  if (!factored) {
    return absl::OkStatus();
  }
  system.pivot_scale = 1.0 / factor.diagonal().array().square().inverse().mean();
  Matrix solution(count, 2);
  solution.col(0) = system.rhs;
  solution.col(1).setOnes();
  MERCER_RETURN_IF_ERROR(SolveCholesky(factor, solution, context));
  const double denominator = solution.col(1).sum();
  system.bias_change = denominator > 0 ? -solution.col(0).sum() / denominator : 0.0;
  system.multipliers = solution.col(0) + system.bias_change * solution.col(1);
  return absl::OkStatus();
}

// Makes a Newton step: direction = g - E_J lam of the header, whose product with the kernel,
// `change`, begins as that of g, K a - f, and gets the columns of J; then the exact line search
// along it.
absl::Status SvmNewtonSolver::NewtonStep(State& next, double* progress, RunContext& context) const {
  Vector direction = state_.dual - state_.eta;
  Vector change = state_.dual_scores - state_.scores;
  const ProximalModel model = Model(state_);
  NewtonSystem system;
  system.free = model.FreeSamples(state_.scores, state_.bias);
  system.step = state_.step;
  system.rhs.resize(static_cast<Index>(system.free.size()));
  for (size_t j = 0; j < system.free.size(); ++j) {
    system.rhs(static_cast<Index>(j)) = change(system.free[j]);
  }
  MERCER_RETURN_IF_ERROR(SolveSystem(system, context));
  for (size_t j = 0; j < system.free.size(); ++j) {
    direction(system.free[j]) -= system.multipliers(static_cast<Index>(j));
  }
  MERCER_RETURN_IF_ERROR(
      AddKernelColumns(kernel_, system.free, -system.multipliers, change, context));
  const Vector total_change = change.array() + system.bias_change;
  const ProximalRay ray{model, state_.scores, state_.bias, state_.eta, direction, total_change};
  MERCER_ASSIGN_OR_RETURN(*progress, ray.Minimize(context));
  next.eta += *progress * direction;
  next.scores += *progress * change;
  next.bias += *progress * system.bias_change;
  if (system.pivot_scale > 0) {
    next.pivot_scale = system.pivot_scale;
  }
  return absl::OkStatus();
}

std::string SvmNewtonSolver::SaveState() const { return SaveFields(state_, kernel_.size()); }

absl::Status SvmNewtonSolver::RestoreState(const SvmProblem& problem, std::string_view state,
                                           RunContext& context) {
  MERCER_RETURN_IF_ERROR(SetProblem(problem));
  State read;
  if (!LoadFields(state, read, kernel_.size())) {
    return absl::InvalidArgumentError("not a state of the Newton solver for this problem");
  }
  MERCER_ASSIGN_OR_RETURN(certificate_, Certify(read, context));
  state_ = std::move(read);
  return absl::OkStatus();
}

}  // namespace mercer
