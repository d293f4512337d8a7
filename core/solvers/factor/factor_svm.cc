#include "core/solvers/factor/factor_svm.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/base/process/row_vectors.h"
#include "core/base/status/status_macros.h"

namespace mercer {
namespace {

// The slope of F along v + t direction, whose scores and bias change by t change. It never falls in
// t, so that its zero, the exact line search, can be bracketed.
struct FactorRay {
  const ProximalModel& model;
  const Vector& scores;
  double bias;
  const Vector& coefficients;
  const Vector& direction;
  const Vector& change;

  double Slope(double t) const {
    return direction.dot(coefficients + t * direction) - model.DualAlong(scores, bias, change, t);
  }
};

}  // namespace

// Limits and accuracies. Steps are measured against the largest cost over the unit of scores: with
// a proximal step of 1 in that unit, a residual of one unit moves a dual variable through its whole
// box.
struct FactorSvmSolver::Settings {
  static constexpr int64_t kMaxSubproblemIterations = 30;
  static constexpr int64_t kMaxStalls = 30;  // proximal steps without progress
  // A subproblem is solved when its gap is at most kSubproblemShare of what it has gained over its
  // centre, or kGoalShare of the gap that is asked for.
  static constexpr double kSubproblemShare = 0.1;
  static constexpr double kGoalShare = 0.05;
  static constexpr double kLeastStep = 1e-3;  // of the largest cost over the unit of scores
  // The first step in the same unit. From 1 on the first point has most samples at their bounds,
  // and the first function few near its margin: small systems. Where costs let the function bend
  // far from there, a long step takes many small Newton steps.
  static constexpr double kFirstStep = 0.1;
  static constexpr double kLongestFirstStep = 3;
  // The first step of a run whose costs are small against the kernel is longer: this number over
  // the square root of what the largest cost times the diagonal of K is in units of scores.
  static constexpr double kFirstStepOfBend = 15;
  static constexpr Index kDiagonalSamples = 64;
  static constexpr double kLargestStep = 1e4;
  static constexpr double kGrowth = 4;
  // A run from the function of another begins with the step of that one divided by this, and with
  // no less than 1 in that unit: the kernel, and so the dual, has changed.
  static constexpr double kSuccessorShare = 16;
};

double FactorSvmSolver::CostUnit() const { return problem_.costs.maxCoeff() / box_.score_unit; }

// The proximal step of a run that begins at zero.
double FactorSvmSolver::FirstStep() const {
  const Index rows = kernel_.rows.rows();
  const Index rank = kernel_.rows.cols();
  const Index count = std::min(rows, Settings::kDiagonalSamples);
  double diagonal = 0;  // a mean of some of K's
  for (Index j = 0; j < count; ++j) {
    const float* row = kernel_.rows.row(j * rows / count);
    const Vector features = kernel_.root.triangularView<Eigen::Lower>().transpose() *
                            Eigen::Map<const Eigen::VectorXf>(row, rank).cast<double>();
    diagonal += features.squaredNorm() / static_cast<double>(count);
  }
  const double bend = std::sqrt(CostUnit() * diagonal);
  const double share = std::min(Settings::kLongestFirstStep, Settings::kFirstStepOfBend / bend);
  return std::max(Settings::kFirstStep, share) * CostUnit();
}

absl::Status FactorSvmSolver::SetProblem(const SvmProblem& problem) {
  if (problem.loss == nullptr || problem.targets.size() != kernel_.rows.rows()) {
    return absl::InvalidArgumentError("targets and costs must have one entry per sample");
  }
  MERCER_ASSIGN_OR_RETURN(box_, MakeSvmDualBox(*problem.loss, problem.targets, problem.costs));
  problem_ = problem;
  return absl::OkStatus();
}

std::vector<Index> FactorSvmSolver::InsideBox(const Vector& dual) const {
  std::vector<Index> inside;
  for (Index i = 0; i < dual.size(); ++i) {
    if (dual(i) > box_.lower(i) && dual(i) < box_.upper(i) && dual(i) != 0) {
      inside.push_back(i);
    }
  }
  return inside;
}

absl::Status FactorSvmSolver::Start(const SvmProblem& problem, const SvmWarmStart& warm_start,
                                    RunContext& context) {
  MERCER_RETURN_IF_ERROR(SetProblem(problem));
  const Index n = kernel_.rows.rows();
  if (warm_start.dual.size() != 0 && warm_start.dual.size() != n) {
    return absl::InvalidArgumentError("the dual of the start must have one entry per sample");
  }
  State state;
  state.center = warm_start.dual.size() == 0 ? Vector::Zero(n) : warm_start.dual;
  problem_.loss->RepairDual(problem_.targets, problem_.costs, true, state.center);
  MERCER_RETURN_IF_ERROR(kernel_.MultiplyTransposed(state.center, state.center_reduced, context));
  state.dual = state.center;
  state.dual_reduced = state.center_reduced;
  if (warm_start.proximal_step > 0) {
    state.step = std::max(warm_start.proximal_step, Settings::kLeastStep * CostUnit());
  } else {
    state.step = state.center.isZero(0.0) ? FirstStep() : Settings::kFirstStep * CostUnit();
  }
  state_ = std::move(state);
  MERCER_RETURN_IF_ERROR(TryToFinish(context));
  if (done()) {  // the function is the dual's own
    state_.coefficients = state_.dual_reduced;
    state_.scores = state_.dual_scores;
    state_.bias = certificate_.bias.chosen;
    return absl::OkStatus();
  }
  State next = state_;
  if (warm_start.function.size() == kernel_.rows.cols()) {
    next.coefficients = kernel_.root.triangularView<Eigen::Lower>().solve(warm_start.function);
    next.bias = warm_start.bias;
  }
  if (next.coefficients.size() == 0 || !next.coefficients.allFinite()) {
    next.coefficients = next.center_reduced;
    next.bias = certificate_.bias.chosen;
  }
  MERCER_RETURN_IF_ERROR(kernel_.Multiply(next.coefficients, next.scores, context));
  MERCER_RETURN_IF_ERROR(Predict(next, InsideBox(next.center), context));
  MERCER_RETURN_IF_ERROR(MakePoint(next, context));
  return Commit(std::move(next), context);
}

// Completes the point of `next`: the bias that makes the maximiser a sum to 0, a itself, and X'a.
absl::Status FactorSvmSolver::MakePoint(State& next, RunContext& context) const {
  MERCER_ASSIGN_OR_RETURN(
      next.bias, Model(next, context).BalanceDual(next.scores, next.bias, next.dual, context));
  return kernel_.MultiplyTransposed(next.dual, next.dual_reduced, context);
}

// Makes one Newton step, or, when the subproblem is solved or takes too long, a new centre.
absl::Status FactorSvmSolver::Iterate(RunContext& context) {
  MERCER_ASSIGN_OR_RETURN(bool solved, SubproblemSolved(context));
  if (solved) {
    MERCER_ASSIGN_OR_RETURN(const bool nearly_finished, NearlyFinished(context));
    solved = !nearly_finished;
  }
  if (solved || state_.subproblem_iterations >= Settings::kMaxSubproblemIterations) {
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
  return Commit(std::move(next), context);
}

absl::Status FactorSvmSolver::Commit(State next, RunContext& context) {
  MERCER_ASSIGN_OR_RETURN(const double gap, QuickGap(next, context));
  const State before = std::exchange(state_, std::move(next));
  if (gap > relative_gap_) {
    return absl::OkStatus();
  }
  const absl::Status status = TryToFinish(context);
  if (!status.ok()) {
    state_ = before;
  }
  return status;
}

absl::StatusOr<double> FactorSvmSolver::DualObjective(const State& state,
                                                      const RunContext& context) const {
  MERCER_ASSIGN_OR_RETURN(
      const double linear,
      problem_.loss->DualValue(problem_.targets, problem_.costs, state.dual, context));
  return linear - 0.5 * state.dual_reduced.squaredNorm();
}

// The gap between F's own function and the dual at a: known without a pass over the rows.
absl::StatusOr<double> FactorSvmSolver::QuickGap(const State& state,
                                                 const RunContext& context) const {
  MERCER_ASSIGN_OR_RETURN(const double risk,
                          problem_.loss->TotalValue(problem_.targets, problem_.costs, state.scores,
                                                    state.bias, context));
  const double primal = 0.5 * state.coefficients.squaredNorm() + risk;
  MERCER_ASSIGN_OR_RETURN(const double dual, DualObjective(state, context));
  return (primal - dual) / std::max({std::abs(primal), std::abs(dual), 1e-300});
}

// Certifies the function that a itself defines, and ends the run when its gap is small enough.
absl::Status FactorSvmSolver::TryToFinish(RunContext& context) {
  Vector scores;
  MERCER_RETURN_IF_ERROR(kernel_.Multiply(state_.dual_reduced, scores, context));
  MERCER_ASSIGN_OR_RETURN(certificate_, CertifySvm(*problem_.loss, problem_.targets, problem_.costs,
                                                   state_.dual, scores, true, context));
  if (certificate_.RelativeGap() <= relative_gap_) {
    state_.stop = SvmStop::kRelativeGap;
    state_.dual_scores = std::move(scores);
  }
  return absl::OkStatus();
}

// The gap is reached by the function of the subproblem, and the dual's own function is not yet
// equal to it.
absl::StatusOr<bool> FactorSvmSolver::NearlyFinished(const RunContext& context) const {
  MERCER_ASSIGN_OR_RETURN(const double gap, QuickGap(state_, context));
  return gap <= relative_gap_ &&
         (state_.dual_reduced - state_.coefficients).norm() > 1e-9 * state_.dual_reduced.norm();
}

// Half |X'a - v|^2 is the duality gap of the subproblem: solved when it is a small share of what
// the subproblem has gained over the centre, or of the gap that is asked for.
absl::StatusOr<bool> FactorSvmSolver::SubproblemSolved(const RunContext& context) const {
  if (state_.subproblem_iterations == 0) {
    return false;
  }
  const double gap = 0.5 * (state_.dual_reduced - state_.coefficients).squaredNorm();
  const double moved = SquaredDistanceOfRows(state_.dual, state_.center);
  const double gained = GainOverCentre() - moved / (2.0 * state_.step);
  MERCER_ASSIGN_OR_RETURN(const double dual, DualObjective(state_, context));
  return gap <= std::max(Settings::kSubproblemShare * gained,
                         Settings::kGoalShare * relative_gap_ * std::abs(dual));
}

// The dual objective at a less that at the centre, from differences: both values agree in most
// digits near the solution.
double FactorSvmSolver::GainOverCentre() const {
  const Vector change = state_.dual - state_.center;
  const double linear = DotOfRows(change, problem_.targets) - state_.bias * SumOfRows(change);
  const double flat =
      box_.epsilon * (AbsoluteSumOfRows(state_.dual) - AbsoluteSumOfRows(state_.center));
  const double quadratic = 0.5 * (state_.dual_reduced - state_.center_reduced)
                                     .dot(state_.dual_reduced + state_.center_reduced);
  return linear - flat - quadratic;
}

// Moves the centre to a when that is the better dual point, adapts the proximal step, and begins
// the next subproblem where the last one has ended.
absl::Status FactorSvmSolver::Recentre(bool solved, RunContext& context) {
  State next = state_;
  if (GainOverCentre() > 0) {
    next.center = state_.dual;
    next.center_reduced = state_.dual_reduced;
  } else {
    solved = false;
  }
  // (v, b) stay: the function hardly changes from one centre to the next, while that of the dual
  // changes much.
  MERCER_RETURN_IF_ERROR(kernel_.Multiply(next.coefficients, next.scores, context));
  next.subproblem_iterations = 0;
  const double shrinkage = state_.keeps_step ? 1.0 : Settings::kGrowth;
  next.step = solved
                  ? std::min(Settings::kGrowth * state_.step, Settings::kLargestStep * CostUnit())
                  : std::max(state_.step / shrinkage, Settings::kLeastStep * CostUnit());
  if (solved) {
    MERCER_RETURN_IF_ERROR(
        Predict(next, Model(state_).FreeSamples(state_.scores, state_.bias), context));
  }
  MERCER_RETURN_IF_ERROR(MakePoint(next, context));
  MERCER_ASSIGN_OR_RETURN(const double gap, QuickGap(state_, context));
  next.stalls = gap < 0.9 * state_.best_gap ? 0 : state_.stalls + 1;
  next.best_gap = std::min(gap, state_.best_gap);
  if (next.stalls >= Settings::kMaxStalls) {
    next.dual = next.center;
    next.dual_reduced = next.center_reduced;
    next.stop = SvmStop::kPrecision;
    MERCER_RETURN_IF_ERROR(kernel_.Multiply(next.dual_reduced, next.dual_scores, context));
    MERCER_ASSIGN_OR_RETURN(certificate_,
                            CertifySvm(*problem_.loss, problem_.targets, problem_.costs, next.dual,
                                       next.dual_scores, true, context));
    state_ = std::move(next);
    return absl::OkStatus();
  }
  return Commit(std::move(next), context);
}

Vector FactorSvmSolver::FunctionInMetric() const {
  return kernel_.root.triangularView<Eigen::Lower>().transpose().solve(state_.coefficients);
}

absl::StatusOr<std::unique_ptr<FactorSvmSolver>> FactorSvmSolver::OnKernel(
    const FactoredKernel& kernel, double relative_gap, RunContext& context) const {
  constexpr double kNormRounding = 1e-9;
  auto other = std::make_unique<FactorSvmSolver>(kernel, relative_gap);
  other->problem_ = problem_;
  other->box_ = box_;
  other->state_ = state_;
  State& state = other->state_;
  const Vector of_rows = kernel_.root.triangularView<Eigen::Lower>() * state_.coefficients;
  state.coefficients = kernel.root.triangularView<Eigen::Lower>().solve(of_rows);
  if (!state.coefficients.allFinite() ||
      state.coefficients.norm() > (1.0 + kNormRounding) * state_.coefficients.norm()) {
    return std::unique_ptr<FactorSvmSolver>();
  }
  MERCER_RETURN_IF_ERROR(
      other->kernel_.MultiplyTransposed(state.center, state.center_reduced, context));
  MERCER_RETURN_IF_ERROR(other->MakePoint(state, context));
  state.dual_scores.resize(0);
  if (!state.gram_is_of_rows()) {
    state.gram.resize(0, 0);
  }
  state.keeps_step = true;
  if (state.stop == SvmStop::kRelativeGap) {  // a success: the count begins anew
    state.stalls = 0;
    state.best_gap = kInfinity;
  }
  state.stop = SvmStop::kRunning;
  return other;
}

// The function is handed on, and not the dual: a change of the kernel weights changes the dual more
// than the function.
SvmWarmStart FactorSvmSolver::Successor() const {
  return {.proximal_step = std::max(CostUnit(), state_.step / Settings::kSuccessorShare),
          .function = kernel_.root.triangularView<Eigen::Lower>() * state_.coefficients,
          .bias = state_.bias};
}

double FactorSvmSolver::NextCost() const {
  const auto free =
      static_cast<double>(Model(state_).FreeSamples(state_.scores, state_.bias).size());
  const auto n = static_cast<double>(kernel_.rows.rows());
  const auto rank = static_cast<double>(kernel_.rows.cols());
  return 4.0 * n * rank + free * rank * rank + 5.0 * rank * rank * std::min(rank, free) + 200.0 * n;
}

absl::Status FactorSvmSolver::NewtonStep(State& next, double* progress, RunContext& context) const {
  NewtonDirection direction;
  MERCER_RETURN_IF_ERROR(FindDirection(next, Model(state_).FreeSamples(state_.scores, state_.bias),
                                       {state_.dual_reduced - state_.coefficients, 0.0}, direction,
                                       context));
  Vector change;
  MERCER_RETURN_IF_ERROR(kernel_.Multiply(direction.coefficients, change, context));
  const Vector total_change = change.array() + direction.bias;
  const ProximalModel model = Model(state_, context);
  const FactorRay ray{
      model, state_.scores, state_.bias, state_.coefficients, direction.coefficients, total_change};
  MERCER_ASSIGN_OR_RETURN(*progress,
                          MinimizeOnRay([&ray](double t) { return ray.Slope(t); }, context));
  next.coefficients += *progress * direction.coefficients;
  next.scores += *progress * change;
  next.bias += *progress * direction.bias;
  return absl::OkStatus();
}

// F(v, b); the dual of `state` must be the maximiser there.
double FactorSvmSolver::Objective(const State& state) const {
  Vector dual;
  Model(state).DualPoint(state.scores, state.bias, dual);
  const Vector residuals = (box_.targets - state.scores).array() - state.bias;
  return 0.5 * state.coefficients.squaredNorm() + DotOfRows(dual, residuals) -
         box_.epsilon * AbsoluteSumOfRows(dual) -
         SquaredDistanceOfRows(dual, state.center) / (2.0 * state.step);
}

// A start for a new subproblem: its solution if the samples `free` stayed off their bounds and the
// others at their values. A longer proximal step throws many of them against the bounds at first,
// and the Newton steps that bring them back are short.
absl::Status FactorSvmSolver::Predict(State& next, std::vector<Index> free,
                                      RunContext& context) const {
  if (free.empty()) {
    return absl::OkStatus();
  }
  Vector dual = next.center;
  for (const Index i : free) {
    const double sign = box_.epsilon > 0 ? (next.center(i) > 0 ? 1.0 : -1.0) : 0.0;
    dual(i) += next.step * (box_.targets(i) - next.scores(i) - next.bias - sign * box_.epsilon);
  }
  Vector reduced;
  MERCER_RETURN_IF_ERROR(kernel_.MultiplyTransposed(dual, reduced, context));
  State predicted = next;
  NewtonDirection direction;
  MERCER_RETURN_IF_ERROR(FindDirection(predicted, std::move(free),
                                       {reduced - next.coefficients, SumOfRows(dual)}, direction,
                                       context));
  Vector change;
  MERCER_RETURN_IF_ERROR(kernel_.Multiply(direction.coefficients, change, context));
  predicted.coefficients += direction.coefficients;
  predicted.scores += change;
  predicted.bias += direction.bias;
  if (Objective(predicted) < Objective(next)) {
    next = std::move(predicted);
  }
  return absl::OkStatus();
}

std::string FactorSvmSolver::SaveState() const {
  return SaveFields(state_, Sizes{kernel_.rows.rows(), kernel_.rows.cols()});
}

absl::Status FactorSvmSolver::RestoreState(const SvmProblem& problem, std::string_view state,
                                           RunContext& context) {
  MERCER_RETURN_IF_ERROR(SetProblem(problem));
  State read;
  if (!LoadFields(state, read, Sizes{kernel_.rows.rows(), kernel_.rows.cols()})) {
    return absl::InvalidArgumentError("not a state of the Newton solver for this problem");
  }
  state_ = std::move(read);
  if (done()) {
    MERCER_ASSIGN_OR_RETURN(
        certificate_, CertifySvm(*problem_.loss, problem_.targets, problem_.costs, state_.dual,
                                 state_.dual_scores, /*with_bias=*/true, context));
  }
  return absl::OkStatus();
}

}  // namespace mercer
