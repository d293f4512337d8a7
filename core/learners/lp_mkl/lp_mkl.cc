#include "core/learners/lp_mkl/lp_mkl.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/base/status/status_macros.h"
#include "core/learners/lp_mkl/loss_choice.h"
#include "core/objectives/dual_ray.h"
#include "core/objectives/lp_weights.h"
#include "core/solvers/mkl/weight_step.h"
#include "core/training/contract/single_task.h"

namespace mercer::lp_mkl {
namespace {

constexpr double kFirstInnerGap = 0.1;
// The gap that the next SVM is solved to, as a share of the gap of the whole problem, or of its
// part due to the weights (docs/mathematics/lp_mkl.md, section 3).
constexpr double kInnerGapShare = 0.1;
constexpr double kLeastInnerGapShare = 0.02;  // of the gap asked for
// The least gap that an SVM of a loss with a curvature is solved to. It is below rounding: a start
// within a larger one would pass for the solution, and its energies with it.
constexpr double kLeastCurvedGap = 1e-17;
constexpr double kRetreat = 0.4;
constexpr int64_t kMaxReductions = 3;
constexpr int64_t kOverRelaxedSteps = 2;
constexpr int64_t kMaxFruitless = 30;
constexpr int64_t kSlow = 6;  // SVMs without a better gap, after which another step is tried
constexpr double kLargestNewtonP = 8;  // above, the over-relaxed step contracts by 1/p at less cost

}  // namespace

// Of low rank, states of solvers are in terms of factors that are made anew: 4 since these have
// other bits.
LpMklLearner::LpMklLearner(const LpMklOptions& options)
    : ResumableLearner("lp_mkl", options.approximation == Approximation::kNystrom ? 4 : 3),
      options_(options) {}

absl::Status LpMklLearner::Begin(const WarmStart* warm_start) {
  MERCER_RETURN_IF_ERROR(CheckInnerSolver(options_));
  MERCER_RETURN_IF_ERROR(CheckApproximation(options_, problem_->kernels));
  MERCER_ASSIGN_OR_RETURN(std::unique_ptr<Loss> loss, MakeChosenLoss(options_, problem_->kind));
  MERCER_ASSIGN_OR_RETURN(svm_, ReadSvmProblem(*problem_, std::move(loss), options_.C));
  state_.weights = UniformWeights(static_cast<Index>(problem_->kernels.size()), options_.p);
  state_.dual = Vector::Zero(svm_.targets.size());
  state_.newton_from = kOverRelaxedSteps;
  state_.inner_gap = HasFixedWeights() ? 0.5 * target_ : kFirstInnerGap;
  if (warm_start != nullptr && warm_start->point != nullptr && warm_start->problem != nullptr) {
    ReadWarmStart(*warm_start);
  }
  inner_ = std::make_unique<InnerSolver>(options_.inner_solver, svm_);
  kernels_ = {};
  kernel_ = nullptr;
  return absl::OkStatus();
}

void LpMklLearner::ReadWarmStart(const WarmStart& warm_start) {
  const Matrix* weights = warm_start.point->witness.FindArray("weights");
  if (!HasFixedWeights() && weights != nullptr && weights->rows() == state_.weights.size() &&
      weights->cols() == 1) {
    // A small share of uniform weights is mixed in, so that no kernel starts at zero, where p = 1
    // would leave it.
    const Vector mixed = 0.99 * weights->col(0) + 0.01 * state_.weights;
    const double norm = LpNorm(mixed, options_.p);
    if (norm > 0 && mixed.allFinite() && mixed.minCoeff() >= 0) {
      state_.weights = mixed / norm;
    }
  }
  const Vector carried = CarriedDual(*problem_, &warm_start);
  if (carried.size() > 0) {
    state_.dual = carried;
    svm_.loss->RepairDual(svm_.targets, svm_.costs, true, state_.dual);
  }
}

// Whether the weights are known: for p = inf all are 1, and so is that of a single kernel.
bool LpMklLearner::HasFixedWeights() const {
  return std::isinf(options_.p) || problem_->kernels.size() == 1;
}

// Kernels are functions of problem and weights, so they are no part of the state.
absl::Status LpMklLearner::Prepare(RunContext& context) {
  if (kernels_.family == nullptr) {
    MERCER_ASSIGN_OR_RETURN(kernels_, MakeLpMklKernels(options_, *problem_, context));
  }
  if (kernel_ == nullptr || kernel_weights_ != state_.weights) {
    kernel_ = nullptr;
    MERCER_ASSIGN_OR_RETURN(kernel_, kernels_.family->CombineForSearch(state_.weights, context));
    kernel_weights_ = state_.weights;
  }
  return absl::OkStatus();
}

absl::Status LpMklLearner::Advance(RunContext& context) {
  MERCER_RETURN_IF_ERROR(Prepare(context));
  if (state_.stop.has_value()) {
    return absl::OkStatus();
  }
  if (!state_.solving) {
    MERCER_RETURN_IF_ERROR(
        inner_->Start(*kernel_, state_.dual, Vector(), state_.inner_gap, context));
    state_.solving = true;
  }
  if (!inner_->done()) {
    MERCER_RETURN_IF_ERROR(inner_->Step(context));
  }
  return inner_->done() ? FinishSvm(context) : absl::OkStatus();
}

absl::Status LpMklLearner::FinishSvm(RunContext& context) {
  state_.solving = false;
  state_.dual = inner_->dual();
  Matrix energies(kernels_.family->num_kernels(), 1);
  MERCER_RETURN_IF_ERROR(
      kernels_.family->QuadraticFormsForSearch(state_.dual, {}, energies, context));
  energies_ = energies.col(0).cwiseMax(0.0);
  MERCER_ASSIGN_OR_RETURN(
      const PointBounds bounds,
      BoundPoint({*svm_.loss, svm_.targets, svm_.costs, options_.p, state_.weights, state_.dual,
                  energies_, inner_->scores(), inner_->certificate().primal_scale},
                 context));
  Remember(bounds);
  if (state_.best.primal <= 1e-300) {
    state_.stop = StopReason::kObjectiveZero;
    return absl::OkStatus();
  }
  if (inner_->stuck()) {
    state_.fruitless += kMaxFruitless / 5;
  }
  if (state_.fruitless >= kMaxFruitless || (HasFixedWeights() && inner_->stuck())) {
    state_.stop = StopReason::kNumericalLimit;
    return absl::OkStatus();
  }
  const bool worse = inner_->certificate().dual > state_.last.upper * (1.0 + 1e-12);
  if (worse) {
    return RetreatWeights(context);
  }
  return AdvanceWeights(bounds, context);
}

void LpMklLearner::Remember(const PointBounds& bounds) {
  BestPoint& best = state_.best;
  best.primal = std::min(best.primal, bounds.primal);
  best.lower = std::max(best.lower, bounds.dual);
  ++state_.fruitless;
  const double gap = bounds.RelativeGap();
  if (gap < best.gap) {
    state_.fruitless = gap < 0.98 * best.gap ? 0 : state_.fruitless;
    best.gap = gap;
    best.weights = state_.weights;
    best.dual = bounds.function_scale * state_.dual;
    best.bias = bounds.bias;
  }
}

// The last step of the weights raised the optimum. A step of Newton's method is shortened, three
// times at the most; after that the closed form takes its place, which cannot raise it.
absl::Status LpMklLearner::RetreatWeights(const RunContext& context) {
  LastWeights& last = state_.last;
  const WeightStepInput input{*kernels_.family, *kernel_,      options_.p, last.weights,
                              last.dual,        last.energies, {}};
  if (last.newton && ++last.reductions <= kMaxReductions) {
    const Vector mixed = last.weights + kRetreat * (state_.weights - last.weights);
    state_.weights = mixed / LpNorm(mixed, options_.p);
  } else {
    if (last.newton) {
      PostponeNewton();
    }
    state_.weights = ClosedFormStep(input);
    last.upper = kInfinity;
  }
  state_.dual = last.dual;
  energies_ = last.energies;
  return RescaleDual(context);
}

// Newton's model is poor here: the method is tried again after as many steps as there were, so that
// the others alone would hardly have been faster.
void LpMklLearner::PostponeNewton() {
  state_.newton_from = 2 * std::max(state_.outer, kOverRelaxedSteps);
}

// Replaces the dual by its best multiple for the SVM of the new weights, whose quadratic form is
// known from the energies.
absl::Status LpMklLearner::RescaleDual(const RunContext& context) {
  MERCER_ASSIGN_OR_RETURN(const DualRay ray,
                          MaximizeOnDualRay(*svm_.loss, svm_.targets, svm_.costs, state_.dual,
                                            state_.weights.dot(energies_), context));
  if (ray.scale > 0) {
    state_.dual *= ray.scale;
    svm_.loss->RepairDual(svm_.targets, svm_.costs, true, state_.dual);
  }
  return absl::OkStatus();
}

// The gap to which the next SVM is solved. Energies are as exact as the square root of the inner
// gap for a loss with a curvature. Where the bounds depend on their maximum, p near 1, a start
// within a share of the gap would be taken for the solution, and the weights would follow energies
// of the weights before. Newton's method squares its error with every step, so that the square of
// the gap costs a step more.
double LpMklLearner::NextInnerGap(double gap) const {
  if (svm_.loss->is_piecewise_linear()) {
    return std::max(std::min(state_.inner_gap, kInnerGapShare * gap),
                    kLeastInnerGapShare * target_);
  }
  return std::max({std::min(state_.inner_gap, kInnerGapShare * gap * gap),
                   kInnerGapShare * target_ * target_, kLeastCurvedGap});
}

absl::Status LpMklLearner::AdvanceWeights(const PointBounds& bounds, RunContext& context) {
  const double weight_gap = bounds.weight_gap / std::max(std::abs(bounds.primal), 1e-300);
  const double gap = bounds.RelativeGap();
  const double least = kLeastInnerGapShare * target_;
  if (HasFixedWeights() || weight_gap <= 0.1 * target_) {
    state_.inner_gap = std::max(std::min(0.5 * target_, 0.5 * state_.inner_gap), least);
    return absl::OkStatus();
  }
  state_.inner_gap = NextInnerGap(std::min(weight_gap, gap));
  const CurvedSamples curved = FindCurvedSamples();
  const WeightStepInput input{*kernels_.family, *kernel_,  options_.p, state_.weights,
                              state_.dual,      energies_, curved};
  LastWeights last{state_.weights, state_.dual, energies_, inner_->certificate().primal, false, 0};
  const bool slow = state_.fruitless >= kSlow;
  if (slow && state_.last.newton) {
    PostponeNewton();
  }
  Vector weights;
  // At p = 1 the closed form would leave kernels of weight 0 where they are.
  if (options_.outer_loop == OuterLoopChoice::kAlternation ||
      (slow && !state_.last.newton && options_.p > 1.0)) {
    weights = ClosedFormStep(input);
    last.upper = kInfinity;
  } else if (options_.outer_loop == OuterLoopChoice::kOverRelaxed ||
             state_.outer < state_.newton_from || options_.p > kLargestNewtonP) {
    weights = OverRelaxedStep(input);
  } else {
    MERCER_ASSIGN_OR_RETURN(weights, NewtonStep(input, context));
    last.newton = true;
  }
  state_.weights = std::move(weights);
  state_.last = std::move(last);
  MERCER_RETURN_IF_ERROR(RescaleDual(context));
  ++state_.outer;
  return absl::OkStatus();
}

CurvedSamples LpMklLearner::FindCurvedSamples() const {
  const LossView view{*svm_.loss, svm_.targets, svm_.costs};
  return svm_.loss->is_piecewise_linear()
             ? FreeSamples(view, state_.dual)
             : SamplesWithCurvature(view, inner_->scores(), inner_->certificate().bias.chosen);
}

StepReport LpMklLearner::Report() const {
  StepReport report;
  report.stage = state_.solving ? "solve" : "weights";
  report.primal = state_.best.primal;
  report.dual = state_.best.lower;
  report.accuracy = state_.best.gap;
  report.has_model = std::isfinite(state_.best.gap) || inner_->has_point();
  report.fraction = FractionOfGap(report.accuracy, problem_->relative_gap);
  report.active_kernels = (state_.weights.array() > 0).count();
  report.support_vectors = ((state_.solving ? inner_->dual() : state_.dual).array() != 0).count();
  report.inner_iterations = inner_->iterations();
  report.stop = state_.stop;
  return report;
}

absl::StatusOr<TrainedPoint> LpMklLearner::CurrentModel(RunContext& context) const {
  if (std::isfinite(state_.best.gap)) {
    return MakeLpMklPoint(kernels_, *problem_,
                          {state_.best.weights, state_.best.dual, state_.best.bias}, context);
  }
  // The first SVM has not come to its end: its dual so far, with the best bias, is a function, too.
  if (kernel_ == nullptr || kernel_weights_ != state_.weights || !inner_->has_point()) {
    return absl::FailedPreconditionError("no SVM has been begun yet");
  }
  const Vector& dual = inner_->dual();
  Matrix scores(dual.size(), 1);
  MERCER_RETURN_IF_ERROR(kernel_->Apply(dual, scores, context));
  MERCER_ASSIGN_OR_RETURN(const BiasInterval bias,
                          svm_.loss->ExactBias(svm_.targets, svm_.costs, scores.col(0), context));
  return MakeLpMklPoint(kernels_, *problem_, {state_.weights, dual, bias.chosen}, context);
}

absl::StatusOr<TrainedPoint> LpMklLearner::ConstantModel(RunContext& context) {
  return MakeConstantLpMklPoint(*problem_, {*svm_.loss, svm_.targets, svm_.costs}, options_.p,
                                context);
}

void LpMklLearner::SaveParts(ByteWriter& writer) const { inner_->Save(writer); }

absl::Status LpMklLearner::LoadParts(ByteReader& reader, RunContext& context) {
  MERCER_RETURN_IF_ERROR(Prepare(context));
  MERCER_RETURN_IF_ERROR(OfPart(inner_->Load(reader, kernel_.get())));
  return state_.solving && !inner_->has_point() ? NotAState() : absl::OkStatus();
}

}  // namespace mercer::lp_mkl
