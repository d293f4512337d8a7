#include "core/solvers/gradients/coordinate_weight_solver.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "core/base/status/status_macros.h"
#include "core/solvers/gradients/pair_kernel.h"

namespace mercer {
namespace {

constexpr double kFirstSmoothing = 1e-2;
constexpr double kLeastSmoothing = 1e-13;
constexpr double kLessSmoothing = 0.03;
constexpr double kSmoothingShare = 0.3;  // of its term, at which a gap is small
constexpr int64_t kMostIdle = 4;
constexpr double kGapOfProgress = 0.9;  // of the gap before a step that was not idle
constexpr Index kFirstColumns = 20;
constexpr double kWayToMaximum = 0.1;      // from the best weights to those of the linear program
constexpr double kLeastKeptWeight = 1e-4;  // of the largest one, without weight in the latter

}  // namespace

void GradientBest::Improve(const GradientPoint& point) {
  if (point.lower > lower) {
    lower = point.lower;
    bound_dual = point.dual;
  }
  if (point.upper < upper) {
    upper = point.upper;
    weights = point.weights;
    dual = point.dual;
  }
}

PairMachine CoordinateWeightSolver::Machine() const {
  return {*problem_.loss, problem_.pair_targets, problem_.pair_costs, state_.smoothing};
}

absl::StatusOr<CoordinateWeightSolver::Solved> CoordinateWeightSolver::Solve(
    Vector weights, const Vector& dual, RunContext& context) const {
  MERCER_ASSIGN_OR_RETURN(const auto kernel, DiagonalPairKernel::Make(problem_, weights, context));
  Solved solved;
  MERCER_ASSIGN_OR_RETURN(solved.functions, SolvePairs(Machine(), *kernel, dual, context));
  solved.weights = std::move(weights);
  return solved;
}

void CoordinateWeightSolver::Accept(Solved solved) {
  state_.weights = std::move(solved.weights);
  state_.dual = std::move(solved.functions.dual);
  state_.value = solved.functions.value;
}

bool CoordinateWeightSolver::EndWhenCertified() {
  const bool good = state_.best.RelativeGap() <= options_.relative_gap || !(state_.best.upper > 0);
  if (good) {
    state_.stop = GradientStop::kRelativeGap;
  }
  return good;
}

absl::StatusOr<GradientPoint> CoordinateWeightSolver::Bound(RunContext& context) {
  MERCER_ASSIGN_OR_RETURN(GradientPoint point,
                          EvaluateGradients(problem_, CoordinateWeights::kSimplex, state_.weights,
                                            state_.dual, context));
  state_.best.Improve(point);
  EndWhenCertified();
  if (options_.method == CoordinateMethod::kSilp) {
    planes_.Add(point);
  }
  return point;
}

// The dual v_p = c_p y_p of the hinge with the coordinate of the largest S_l: the optimum at costs
// so small that no pair has a margin above 1.
absl::Status CoordinateWeightSolver::TrySaturated(RunContext& context) {
  state_.dual = problem_.pair_costs.cwiseProduct(problem_.pair_targets);
  MERCER_ASSIGN_OR_RETURN(const GradientPoint first, Bound(context));
  Index best = 0;
  first.energies.maxCoeff(&best);
  state_.weights.setZero();
  state_.weights(best) = 1;
  return Bound(context).status();
}

absl::Status CoordinateWeightSolver::BeginAtLargest(RunContext& context) {
  MERCER_ASSIGN_OR_RETURN(Solved solved, Solve(Vector::Zero(problem_.num_columns()), {}, context));
  Accept(std::move(solved));
  MERCER_ASSIGN_OR_RETURN(const GradientPoint point,
                          EvaluateGradients(problem_, CoordinateWeights::kSimplex, state_.weights,
                                            state_.dual, context));
  std::vector<Index> order(static_cast<size_t>(problem_.num_columns()));
  for (size_t l = 0; l < order.size(); ++l) {
    order[l] = static_cast<Index>(l);
  }
  const Index count = std::min(kFirstColumns, problem_.num_columns());
  std::partial_sort(order.begin(), order.begin() + count, order.end(), [&](Index a, Index b) {
    const Vector& s = point.energies;
    return s(a) != s(b) ? s(a) > s(b) : a < b;
  });
  for (Index k = 0; k < count; ++k) {
    state_.weights(order[static_cast<size_t>(k)]) = 1 / static_cast<double>(count);
  }
  return absl::OkStatus();
}

absl::Status CoordinateWeightSolver::Start(const Vector& weights, RunContext& context) {
  state_ = {};
  planes_ = {};
  const Index columns = problem_.num_columns();
  const Vector even = Vector::Constant(columns, 1 / static_cast<double>(columns));
  state_.weights = even;
  state_.dual = Vector::Zero(problem_.num_pairs());
  if (problem_.loss->kind() == LossKind::kHinge) {
    MERCER_RETURN_IF_ERROR(TrySaturated(context));
    if (done()) {
      return absl::OkStatus();
    }
    if (options_.method == CoordinateMethod::kNewton) {
      state_.smoothing = kFirstSmoothing;
    }
  }
  if (weights.size() > 0) {
    state_.weights = weights;
  } else if (options_.method == CoordinateMethod::kAlternation) {
    state_.weights = even;
  } else {
    MERCER_RETURN_IF_ERROR(BeginAtLargest(context));
  }
  MERCER_ASSIGN_OR_RETURN(Solved solved, Solve(state_.weights, state_.dual, context));
  Accept(std::move(solved));
  MERCER_ASSIGN_OR_RETURN(GradientPoint point, Bound(context));
  if (done() || point.energies.maxCoeff() > 0) {
    return absl::OkStatus();
  }
  // No coordinate tells anything: the functions are optimal with any weights.
  if (state_.smoothing > 0) {
    state_.smoothing = kLeastSmoothing;
    MERCER_ASSIGN_OR_RETURN(solved, Solve(state_.weights, state_.dual, context));
    Accept(std::move(solved));
    MERCER_ASSIGN_OR_RETURN(point, Bound(context));
  }
  if (!done() && !(point.energies.maxCoeff() > 0)) {
    state_.stop = GradientStop::kPrecision;
  }
  return absl::OkStatus();
}

absl::StatusOr<bool> CoordinateWeightSolver::Sharpen(const GradientPoint& point,
                                                     RunContext& context) {
  if (state_.smoothing <= kLeastSmoothing) {
    return false;
  }
  const double term = 0.5 * (Machine().Ridge().array() * state_.dual.array().square()).sum();
  if (point.GapOfWeights() > kSmoothingShare * term && !state_.stalled) {
    return false;
  }
  state_.smoothing = std::max(kLeastSmoothing, kLessSmoothing * state_.smoothing);
  state_.stalled = false;
  MERCER_ASSIGN_OR_RETURN(Solved solved, Solve(state_.weights, state_.dual, context));
  Accept(std::move(solved));
  return true;
}

absl::Status CoordinateWeightSolver::StepByNorms(const GradientPoint& point, RunContext& context) {
  const Vector norms = point.Norms();
  const double sum = norms.sum();
  if (!(sum > 0)) {
    state_.stop = GradientStop::kPrecision;
    return absl::OkStatus();
  }
  MERCER_ASSIGN_OR_RETURN(Solved solved, Solve(norms / sum, state_.dual, context));
  Accept(std::move(solved));
  return absl::OkStatus();
}

absl::Status CoordinateWeightSolver::StepByPlanes(RunContext& context) {
  MERCER_ASSIGN_OR_RETURN(std::optional<CoordinatePlanes::Maximum> next,
                          planes_.Maximize(problem_, context));
  if (!next.has_value() || state_.best.weights.size() == 0) {
    state_.stop = GradientStop::kPrecision;
    return absl::OkStatus();
  }
  const double before = state_.best.upper;
  MERCER_ASSIGN_OR_RETURN(const GradientPoint mean,
                          EvaluateGradients(problem_, CoordinateWeights::kSimplex, next->weights,
                                            std::move(next->dual), context));
  state_.best.Improve(mean);
  if (EndWhenCertified()) {
    return absl::OkStatus();
  }
  Vector weights = kWayToMaximum * next->weights + (1 - kWayToMaximum) * state_.best.weights;
  const double least = kLeastKeptWeight * weights.maxCoeff();
  weights = (weights.array() >= least || next->weights.array() > 0).select(weights, 0.0);
  weights /= weights.sum();
  MERCER_ASSIGN_OR_RETURN(Solved solved, Solve(std::move(weights), mean.dual, context));
  Accept(std::move(solved));
  MERCER_RETURN_IF_ERROR(Bound(context).status());
  state_.stalled = !next->lower && !(state_.best.upper < before);
  return absl::OkStatus();
}

absl::StatusOr<bool> CoordinateWeightSolver::StepBySlopes(RunContext& context) {
  MERCER_ASSIGN_OR_RETURN(const GradientPoint point,
                          EvaluateGradients(problem_, CoordinateWeights::kSimplex, state_.weights,
                                            state_.dual, context));
  bool sharper = false;
  if (options_.method == CoordinateMethod::kAlternation) {
    MERCER_RETURN_IF_ERROR(StepByNorms(point, context));
  } else {
    MERCER_ASSIGN_OR_RETURN(sharper, Sharpen(point, context));
    if (!sharper) {
      MERCER_RETURN_IF_ERROR(StepByNewton(point, context));
    }
  }
  if (!done()) {
    MERCER_RETURN_IF_ERROR(Bound(context).status());
  }
  return sharper;
}

absl::Status CoordinateWeightSolver::Step(RunContext& context) {
  if (done()) {
    return absl::OkStatus();
  }
  const double before = state_.best.RelativeGap();
  bool sharper = false;
  if (options_.method == CoordinateMethod::kSilp) {
    MERCER_RETURN_IF_ERROR(StepByPlanes(context));
  } else {
    MERCER_ASSIGN_OR_RETURN(sharper, StepBySlopes(context));
  }
  ++state_.steps;
  const bool idle =
      state_.stalled && !sharper && state_.best.RelativeGap() > kGapOfProgress * before;
  state_.idle = idle ? state_.idle + 1 : 0;
  if (!done() && state_.idle >= kMostIdle && state_.smoothing <= kLeastSmoothing) {
    state_.stop = GradientStop::kPrecision;
  }
  if (!done() && state_.steps >= options_.max_steps) {
    state_.stop = GradientStop::kIterationLimit;
  }
  return absl::OkStatus();
}

absl::Status CoordinateWeightSolver::Run(RunContext& context) {
  while (!done()) {
    MERCER_RETURN_IF_ERROR(context.CheckCancelled());
    MERCER_RETURN_IF_ERROR(Step(context));
  }
  return absl::OkStatus();
}

void CoordinateWeightSolver::Save(ByteWriter& writer) const {
  WriteFields(state_, writer, problem_);
  if (options_.method == CoordinateMethod::kSilp) {
    WriteFields(planes_, writer, problem_);
  }
}

absl::Status CoordinateWeightSolver::Load(ByteReader& reader) {
  planes_ = {};
  const bool read =
      ReadFields(reader, state_, problem_) &&
      (options_.method != CoordinateMethod::kSilp || ReadFields(reader, planes_, problem_));
  return read ? absl::OkStatus()
              : absl::InvalidArgumentError("the saved state is that of another problem");
}

}  // namespace mercer
