#include "core/solvers/svm/curved_svm.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "core/base/process/row_vectors.h"
#include "core/base/status/byte_count.h"
#include "core/base/status/status_macros.h"
#include "core/linalg/row_products.h"
#include "core/solvers/svm/curved_samples.h"
#include "core/solvers/svm/svm_newton_model.h"

namespace mercer {
namespace {

constexpr int64_t kMaxStalledSteps = 4;
constexpr double kLeastDecrease = 1e-13;  // of the primal, relative, that is no stall
// A step that halves the slope counts as progress too: values of a large primal agree in all digits
// long before slopes vanish.
constexpr double kSlopeDecrease = 0.5;
constexpr double kShortStep = 0.25;  // of a whole Newton step
constexpr int kMaxSupports = 6;      // that are tried in its place

// The change of eta, whose sum was `sum` and is to be 0. What rounding leaves of it goes to the
// rows by their curvature, which costs the primal least.
Vector Balanced(const CurvedStep& step, const CurvedDirection& solved, double sum) {
  Vector direction = step.gradient;
  direction(step.rows) -= solved.multipliers;
  const double excess = SumOfRows(direction) + sum;
  if (!step.rows.empty()) {
    const double total = SumOfListedRows(step.rows, step.curvature);
    direction(step.rows) -= excess / total * step.curvature;
  }
  return direction;
}

// The weights and their bias are an upper bound.
void BoundByWeights(double primal, double bias, SvmCertificate& certificate) {
  certificate.primal = primal;
  certificate.unscaled_primal = primal;
  certificate.bias = {bias, bias, bias};
}

double GapOfBounds(double primal, double dual) {
  return (primal - dual) / std::max({std::abs(primal), std::abs(dual), 1e-300});
}

}  // namespace

absl::Status CurvedSvmSolver::SetProblem(const SvmProblem& problem) {
  if (problem.loss == nullptr || problem.loss->is_piecewise_linear()) {
    return absl::InvalidArgumentError("the loss must have a curvature");
  }
  if (size_ == 0 || problem.targets.size() != size_ || problem.costs.size() != size_) {
    return absl::InvalidArgumentError("targets and costs must have one entry per sample");
  }
  if (!problem.targets.allFinite() || !problem.costs.allFinite() || problem.costs.minCoeff() < 0) {
    return absl::InvalidArgumentError("targets must be finite, costs finite and >= 0");
  }
  const auto counts = [&](double sign) {
    return (problem.costs.array() > 0 && sign * problem.targets.array() > 0).any();
  };
  if (problem.loss->is_margin_loss() &&
      !((problem.targets.array().abs() == 1.0).all() && counts(1.0) && counts(-1.0))) {
    return absl::InvalidArgumentError(
        "labels must be -1 or +1, and samples of positive cost on both sides are needed");
  }
  problem_ = problem;
  return absl::OkStatus();
}

absl::Status CurvedSvmSolver::Start(const SvmProblem& problem, const SvmWarmStart& warm_start,
                                    RunContext& context) {
  MERCER_RETURN_IF_ERROR(SetProblem(problem));
  if (warm_start.dual.size() != 0 && warm_start.dual.size() != size_) {
    return absl::InvalidArgumentError("the dual of the start must have one entry per sample");
  }
  State state;
  state.eta = warm_start.dual.size() == 0 ? Vector::Zero(size_) : warm_start.dual;
  problem_.loss->RepairDual(problem_.targets, problem_.costs, true, state.eta);
  MERCER_RETURN_IF_ERROR(SetFunction(state, context));
  MERCER_RETURN_IF_ERROR(MakePoint(state, context));
  MERCER_RETURN_IF_ERROR(Judge(state, state.eta, FunctionOf(state), context));
  if (state.best_gap > relative_gap_) {
    MERCER_RETURN_IF_ERROR(Predict(state, context));
  }
  return Commit(std::move(state), context);
}

// The weights, where they are kept, and the scores of eta.
absl::Status CurvedSvmSolver::SetFunction(State& state, RunContext& context) const {
  if (state.eta.isZero(0)) {
    state.weights = Vector::Zero(num_weights_.value_or(0));
    state.scores = Vector::Zero(size_);
    return absl::OkStatus();
  }
  if (!num_weights_.has_value()) {
    return system_->Multiply(state.eta, state.scores, context);
  }
  MERCER_RETURN_IF_ERROR(system_->Multiply(state.eta, state.weights, context));
  return system_->Score(state.weights, state.scores, context);
}

// c'K c, given the products of c.
double CurvedSvmSolver::QuadraticForm(const Vector& coefficients, const Vector& products) const {
  return num_weights_.has_value() ? products.squaredNorm() : DotOfRows(coefficients, products);
}

// The best function that leans on the rows of `support` alone, as if each of them felt the loss:
// one linear system, the Newton step from nothing.
absl::Status CurvedSvmSolver::SolveOnSupport(const std::vector<Index>& support, State& solved,
                                             RunContext& context) const {
  const Loss& loss = *problem_.loss;
  CurvedStep step;
  step.rows = support;
  step.gradient = Vector::Zero(size_);
  step.curvature.resize(static_cast<Index>(support.size()));
  for (size_t k = 0; k < support.size(); ++k) {
    const Index i = support[k];
    step.curvature(static_cast<Index>(k)) =
        loss.Curvature(problem_.targets(i), problem_.costs(i), 0.0);
    step.gradient(i) = -loss.Slope(problem_.targets(i), problem_.costs(i), 0.0);
  }
  step.sum = SumOfRows(step.gradient);
  MERCER_RETURN_IF_ERROR(system_->Multiply(step.gradient, step.products, context));
  CurvedDirection direction;
  MERCER_RETURN_IF_ERROR(system_->Solve(step, direction, context));
  solved.eta = Balanced(step, direction, 0.0);
  if (num_weights_.has_value()) {
    solved.weights = std::move(direction.weights);
    solved.scores = std::move(direction.scores);
  } else {
    MERCER_RETURN_IF_ERROR(system_->Multiply(solved.eta, solved.scores, context));
  }
  return MakePoint(solved, context);
}

// The rows that the function leans on with the sign that the loss gives them, and those beyond
// their margin that it does not lean on yet. The signs are those of eta: where rows of opposite
// labels nearly coincide at a large cost, rounding of f times the curvature is larger than the
// slopes of other rows.
std::vector<Index> CurvedSvmSolver::SupportOf(const State& state) const {
  std::vector<Index> support;
  for (Index i = 0; i < size_; ++i) {
    if (state.eta(i) * problem_.targets(i) > 0 || (state.eta(i) == 0 && state.dual(i) != 0)) {
      support.push_back(i);
    }
  }
  return support;
}

// A squared loss of known support is solved by one linear system: where kernels have changed, the
// support is a better guess than the function. Taken when the primal is lower there.
absl::Status CurvedSvmSolver::Predict(State& state, RunContext& context) const {
  if (problem_.loss->curve() == LossCurve::kSmooth || state.eta.isZero(0)) {
    return absl::OkStatus();
  }
  std::vector<Index> support;
  for (Index i = 0; i < size_; ++i) {
    if (state.eta(i) != 0) {
      support.push_back(i);
    }
  }
  State predicted = state;
  MERCER_RETURN_IF_ERROR(SolveOnSupport(support, predicted, context));
  if (predicted.primal < state.primal) {
    state = std::move(predicted);
  }
  return absl::OkStatus();
}

// Where a step along the primal is short, the squared hinge has many kinks on the way, and each
// step would pass one of them. Whole steps from support to support, a primal-dual active set
// method, pass them at once; they need not lower the primal, so the first that does is taken, and
// none when a few do not.
absl::Status CurvedSvmSolver::FollowSupports(State& state, RunContext& context) const {
  if (problem_.loss->curve() != LossCurve::kPiecewiseQuadratic) {
    return absl::OkStatus();
  }
  State trial = state;
  std::vector<Index> support;
  for (int step = 0; step < kMaxSupports; ++step) {
    std::vector<Index> next = SupportOf(trial);
    if (next == support) {
      break;
    }
    support = std::move(next);
    MERCER_RETURN_IF_ERROR(SolveOnSupport(support, trial, context));
    if (trial.primal < state.primal) {
      state = std::move(trial);
      break;
    }
  }
  return absl::OkStatus();
}

// Sets a to minus the slopes of the loss at these scores.
void CurvedSvmSolver::SetSlopes(const Vector& scores, double bias, Vector& dual) const {
  dual.resize(size_);
  const Vector shifted = scores.array() + bias;
  problem_.loss->ValueAndSlopes(problem_.targets, problem_.costs, shifted, dual);
  dual = -dual;
}

// Completes the point of `next`: the best bias for the scores, a there, and its products.
absl::Status CurvedSvmSolver::MakePoint(State& next, RunContext& context) const {
  const Loss& loss = *problem_.loss;
  MERCER_ASSIGN_OR_RETURN(const BiasInterval bias,
                          loss.ExactBias(problem_.targets, problem_.costs, next.scores, context));
  next.bias = bias.chosen;
  MERCER_ASSIGN_OR_RETURN(const double risk, loss.TotalValue(problem_.targets, problem_.costs,
                                                             next.scores, next.bias, context));
  next.primal = 0.5 * QuadraticForm(next.eta, FunctionOf(next)) + risk;
  SetSlopes(next.scores, next.bias, next.dual);
  loss.RepairDual(problem_.targets, problem_.costs, true, next.dual);
  return system_->Multiply(next.dual, next.dual_products, context);
}

// The bounds of a dual point and of its function, or of the weights in place of that.
absl::StatusOr<SvmCertificate> CurvedSvmSolver::Certify(const State& state, const Vector& dual,
                                                        const Vector& products,
                                                        const RunContext& context) const {
  if (!num_weights_.has_value()) {
    return CertifySvm(*problem_.loss, problem_.targets, problem_.costs, dual, products, true,
                      context);
  }
  SvmCertificate certificate;
  MERCER_ASSIGN_OR_RETURN(
      const double linear,
      problem_.loss->DualValue(problem_.targets, problem_.costs, dual, context));
  certificate.quadratic_form = QuadraticForm(dual, products);
  certificate.dual = linear - 0.5 * certificate.quadratic_form;
  certificate.unscaled_dual = certificate.dual;
  BoundByWeights(state.primal, state.bias, certificate);
  return certificate;
}

// Certifies a dual point, and keeps it unless a better one is known: one of a smaller gap, or, where
// the upper bound is that of the weights, of a larger value.
absl::Status CurvedSvmSolver::Judge(State& next, const Vector& dual, const Vector& products,
                                    const RunContext& context) const {
  MERCER_ASSIGN_OR_RETURN(const SvmCertificate certificate, Certify(next, dual, products, context));
  const bool better = num_weights_.has_value() ? certificate.dual > next.certificate.dual
                                               : certificate.RelativeGap() < next.best_gap;
  if (better || next.best_dual.size() == 0) {
    next.best_dual = dual;
    next.best_products = products;
    next.certificate = certificate;
  } else if (num_weights_.has_value()) {
    BoundByWeights(next.primal, next.bias, next.certificate);
  }
  const double gap = next.certificate.RelativeGap();
  if (gap < next.best_gap) {
    next.stalls = gap < 0.9 * next.best_gap ? 0 : next.stalls;
    next.best_gap = gap;
  }
  return absl::OkStatus();
}

// Takes eta itself as a dual point, when it would be good enough if it were feasible. Near the
// solution it is more exact than a, which multiplies the rounding of the scores by the curvature.
absl::Status CurvedSvmSolver::JudgeFunction(State& next, RunContext& context) const {
  Vector dual = next.eta;
  problem_.loss->RepairDual(problem_.targets, problem_.costs, true, dual);
  MERCER_ASSIGN_OR_RETURN(
      const double linear,
      problem_.loss->DualValue(problem_.targets, problem_.costs, dual, context));
  const double value = linear - 0.5 * QuadraticForm(next.eta, FunctionOf(next));
  const double gap = GapOfBounds(next.primal, value);
  if (!(gap <= std::max(relative_gap_, 0.1 * next.best_gap))) {
    return absl::OkStatus();
  }
  Vector products;
  MERCER_RETURN_IF_ERROR(system_->Multiply(dual, products, context));
  return Judge(next, dual, products, context);
}

absl::Status CurvedSvmSolver::Commit(State next, RunContext& context) {
  MERCER_RETURN_IF_ERROR(Judge(next, next.dual, next.dual_products, context));
  if (next.best_gap > relative_gap_ && next.iterations > 0) {
    MERCER_RETURN_IF_ERROR(JudgeFunction(next, context));
  }
  if (next.best_gap <= relative_gap_) {
    next.stop = SvmStop::kRelativeGap;
  } else if (next.stalls >= kMaxStalledSteps) {
    next.stop = SvmStop::kPrecision;
  }
  state_ = std::move(next);
  return absl::OkStatus();
}

absl::Status CurvedSvmSolver::Iterate(RunContext& context) {
  State next = state_;
  Ray ray;
  MERCER_RETURN_IF_ERROR(NewtonStep(next, ray, context));
  ++next.iterations;
  if (ray.length > 0) {
    MERCER_RETURN_IF_ERROR(MakePoint(next, context));
  }
  if (ray.length < kShortStep) {
    MERCER_RETURN_IF_ERROR(FollowSupports(next, context));
  }
  if (ray.length == 0 && !(next.primal < state_.primal)) {
    // The primal cannot be lowered in floating point: eta is the solution, up to rounding.
    MERCER_RETURN_IF_ERROR(JudgeFunction(next, context));
    next.stalls = kMaxStalledSteps;
    return Commit(std::move(next), context);
  }
  const bool lower = next.primal < state_.primal - kLeastDecrease * std::abs(state_.primal);
  const bool flatter = std::abs(ray.slope) < kSlopeDecrease * state_.slope;
  next.slope = std::min(state_.slope, std::abs(ray.slope));
  next.stalls = lower || flatter ? 0 : state_.stalls + 1;
  return Commit(std::move(next), context);
}

CurvedStep CurvedSvmSolver::MakeStep() const {
  CurvedSamples samples = SamplesWithCurvature({*problem_.loss, problem_.targets, problem_.costs},
                                               state_.scores, state_.bias);
  CurvedStep step;
  step.rows = std::move(samples.rows);
  step.curvature = std::move(samples.curvature);
  step.gradient = state_.dual - state_.eta;
  step.products = state_.dual_products - FunctionOf(state_);
  step.sum = SumOfRows(state_.dual);
  return step;
}

absl::Status CurvedSvmSolver::NewtonStep(State& next, Ray& ray, RunContext& context) const {
  const CurvedStep step = MakeStep();
  CurvedDirection solved;
  MERCER_RETURN_IF_ERROR(system_->Solve(step, solved, context));
  const Vector direction = Balanced(step, solved, SumOfRows(state_.eta));
  Vector change = std::move(solved.scores);
  if (!num_weights_.has_value()) {
    MERCER_RETURN_IF_ERROR(system_->Multiply(direction, change, context));
  }
  const Vector total_change = change.array() + solved.bias;
  Vector dual;
  // The slope of the primal along the direction. eta and the direction have the sum 0, so that the
  // bias enters only through a.
  const auto slope_at = [&](double t) {
    SetSlopes(state_.scores + t * total_change, state_.bias, dual);
    dual = state_.eta + t * direction - dual;
    return DotOfRows(total_change, dual);
  };
  ray.slope = slope_at(0);
  MERCER_ASSIGN_OR_RETURN(ray.length, MinimizeOnRay(slope_at, context));
  next.eta += ray.length * direction;
  next.scores += ray.length * change;
  if (num_weights_.has_value()) {
    next.weights += ray.length * solved.weights;
  }
  return absl::OkStatus();
}

double CurvedSvmSolver::NextCost() const {
  const CurvedSamples samples = SamplesWithCurvature(
      {*problem_.loss, problem_.targets, problem_.costs}, state_.scores, state_.bias);
  return system_->Cost(static_cast<Index>(samples.rows.size())) +
         500.0 * static_cast<double>(size_);
}

std::string CurvedSvmSolver::SaveState() const { return SaveFields(state_, Lengths()); }

absl::Status CurvedSvmSolver::RestoreState(const SvmProblem& problem, std::string_view state,
                                           RunContext& context) {
  MERCER_RETURN_IF_ERROR(SetProblem(problem));
  State read;
  if (!LoadFields(state, read, Lengths())) {
    return absl::InvalidArgumentError("not a state of the Newton solver for this problem");
  }
  MERCER_ASSIGN_OR_RETURN(read.certificate,
                          Certify(read, read.best_dual, read.best_products, context));
  state_ = std::move(read);
  return absl::OkStatus();
}

size_t FeatureSolverBytes(Index rows, Index columns) {
  // The problem, the states before and after a step and of a trial, the vectors of the step, and
  // the state as it was saved.
  constexpr Index kVectors = 36;
  return (ByteCount(sizeof(double)) * ByteCount(rows) * ByteCount(kVectors) +
          ByteCount(GramOverRowsBytes(rows, columns)))
      .value();
}

}  // namespace mercer
