#include "core/learners/ikl/ikl.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"

#include "core/base/status/errors.h"
#include "core/base/status/status_macros.h"
#include "core/objectives/dual_ray.h"
#include "core/solvers/mkl/weight_step.h"
#include "core/training/contract/single_task.h"

namespace mercer::ikl {
namespace {

// By default the interval goes from the median distance divided by this to the median distance
// times this.
constexpr double kMedianRange = 10;
constexpr double kSliceOperations = 3e8;  // of a step, about 0.2 s
constexpr double kFirstInnerGap = 0.1;
constexpr double kInnerGapShare = 0.1;        // of the gap of the list
constexpr double kLeastInnerGapShare = 0.02;  // of the gap asked for
constexpr int64_t kOverRelaxedSteps = 2;
constexpr int64_t kMaxReductions = 3;
constexpr int64_t kMaxFruitless = 30;
constexpr double kRetreat = 0.4;
constexpr double kFirstWeight = 0.1;  // of a kernel that enters
constexpr double kSameKernel = 1e-3;  // difference in log bandwidth below which two kernels are one

}  // namespace

absl::Status IklLearner::Begin(const WarmStart* /*warm_start*/) {
  FieldViolations violations;
  violations.Check(problem_->kind == TargetKind::kClassification, "kind", "is for classification");
  const bool given = options_.min_bandwidth > 0 && options_.max_bandwidth > 0;
  violations.Check(!given || options_.min_bandwidth <= options_.max_bandwidth, "max_bandwidth",
                   absl::StrCat("is ", options_.max_bandwidth, ", below min_bandwidth, ",
                                options_.min_bandwidth));
  MERCER_RETURN_IF_ERROR(violations.ToStatus());
  TrainingProblem with_kernel = *problem_;
  with_kernel.kernels = {GaussianOf(1)};
  MERCER_ASSIGN_OR_RETURN(svm_, ReadSvmProblem(with_kernel, options_.C, 0));
  state_.dual = Vector::Zero(svm_.targets.size());
  interval_ = {};
  family_bandwidths_.clear();
  family_ = nullptr;
  kernel_ = nullptr;
  solver_ = nullptr;
  return absl::OkStatus();
}

// Rows that are all alike have no distance: any bandwidth gives the same kernel.
absl::Status IklLearner::ResolveInterval(RunContext& context) {
  double median = 1;
  if (!(options_.min_bandwidth > 0) || !(options_.max_bandwidth > 0)) {
    KernelGrid grid;
    grid.rule = BandwidthRule::kMedianMultiples;
    grid.bandwidths = {1.0};
    const TaskData& task = problem_->tasks[0];
    std::vector<Index> rows;  // of weight > 0
    for (size_t i = 0; i < task.rows.size(); ++i) {
      if (task.costs(static_cast<Index>(i)) > 0) {
        rows.push_back(task.rows[i]);
      }
    }
    const absl::StatusOr<std::vector<KernelSpec>> kernels =
        ExpandKernels({grid}, *task.inputs, rows, problem_->seed, context);
    if (kernels.ok()) {
      median = kernels->front().bandwidth;
    } else if (!absl::IsInvalidArgument(kernels.status())) {
      return kernels.status();
    }
  }
  const bool has_low = options_.min_bandwidth > 0;
  const bool has_high = options_.max_bandwidth > 0;
  interval_.low = has_low ? options_.min_bandwidth : median / kMedianRange;
  interval_.high = has_high ? options_.max_bandwidth : median * kMedianRange;
  if (!has_low) {
    interval_.low = std::min(interval_.low, interval_.high);
  } else if (!has_high) {
    interval_.high = std::max(interval_.low, interval_.high);
  }
  first_bandwidth_ = std::clamp(median, interval_.low, interval_.high);
  return absl::OkStatus();
}

// Kernels are functions of problem, bandwidths and weights, so they are no part of the state.
absl::Status IklLearner::Prepare(RunContext& context) {
  if (!(interval_.high > 0)) {
    MERCER_RETURN_IF_ERROR(ResolveInterval(context));
  }
  if (state_.bandwidths.empty()) {
    state_.bandwidths = {first_bandwidth_};
    state_.weights = Vector::Ones(1);
  }
  if (family_ == nullptr || family_bandwidths_ != state_.bandwidths) {
    context.ReportStage("kernels");
    kernel_ = nullptr;
    family_ = nullptr;
    MERCER_ASSIGN_OR_RETURN(family_, MakeFamily(problem_->tasks[0], state_.bandwidths, context));
    family_bandwidths_ = state_.bandwidths;
  }
  if (kernel_ == nullptr || kernel_weights_ != state_.weights) {
    kernel_ = nullptr;
    solver_ = nullptr;
    MERCER_ASSIGN_OR_RETURN(kernel_, family_->CombineForSearch(state_.weights, context));
    kernel_weights_ = state_.weights;
  }
  return absl::OkStatus();
}

bool IklLearner::IsAccurate() const {
  return state_.end != SearchEnd::kSearching && state_.best.gap <= target_;
}

// Works on SVMs, weights and searches until there was about 0.2 s of work or the solution is as
// good as was asked for.
absl::Status IklLearner::Advance(RunContext& context) {
  MERCER_RETURN_IF_ERROR(Prepare(context));
  if (state_.stop.has_value()) {
    return absl::OkStatus();
  }
  const auto rows = static_cast<double>(svm_.targets.size());
  double operations = 0;
  do {
    MERCER_RETURN_IF_ERROR(Prepare(context));
    if (!state_.solving) {
      MERCER_RETURN_IF_ERROR(StartSvm(context));
      operations += 5 * rows * rows;
    }
    if (!solver_->done()) {
      context.ReportStage("solve");
      const auto slice =
          std::max<int64_t>(100, static_cast<int64_t>(kSliceOperations / (4 * rows)));
      const int64_t before = solver_->iterations();
      MERCER_RETURN_IF_ERROR(solver_->Step(slice, context));
      operations += 4 * rows * static_cast<double>(solver_->iterations() - before);
    }
    if (solver_->done()) {
      MERCER_RETURN_IF_ERROR(FinishSvm(context));
      operations += 20 * rows * rows;
    }
  } while (operations < kSliceOperations && !state_.stop.has_value() && !IsAccurate());
  return absl::OkStatus();
}

std::unique_ptr<SmoSolver> IklLearner::MakeSolver() const {
  SmoOptions options;
  options.relative_gap = state_.inner_gap;
  return std::make_unique<SmoSolver>(*kernel_, options);
}

absl::Status IklLearner::StartSvm(RunContext& context) {
  std::unique_ptr<SmoSolver> solver = MakeSolver();
  MERCER_RETURN_IF_ERROR(solver->Start(svm_, {.dual = state_.dual}, context));
  solver_ = std::move(solver);
  state_.solving = true;
  return absl::OkStatus();
}

absl::Status IklLearner::FinishSvm(RunContext& context) {
  state_.solving = false;
  state_.iterations += solver_->iterations();
  state_.dual = solver_->dual();
  const bool stuck = solver_->stop() != SvmStop::kRelativeGap;
  Matrix energies(family_->num_kernels(), 1);
  MERCER_RETURN_IF_ERROR(family_->QuadraticForms(state_.dual, {}, energies, context));
  energies_ = energies.col(0).cwiseMax(0.0);
  const SvmCertificate certificate = solver_->certificate();
  MERCER_ASSIGN_OR_RETURN(
      const PointBounds bounds,
      BoundPoint({*svm_.loss, svm_.targets, svm_.costs, 1.0, state_.weights, state_.dual, energies_,
                  solver_->scores(), certificate.primal_scale},
                 context));
  Remember(bounds);
  state_.fruitless += stuck ? kMaxFruitless / 5 : 0;
  if (state_.best.primal <= 1e-300) {
    state_.end = SearchEnd::kNoViolation;  // nothing can be lower
    state_.stop = StopReason::kObjectiveZero;
    return absl::OkStatus();
  }
  if (state_.best.gap <= target_ || state_.fruitless >= kMaxFruitless) {
    if (state_.end == SearchEnd::kSearching) {
      return Search(context);
    }
    if (state_.fruitless >= kMaxFruitless) {
      state_.stop = StopReason::kNumericalLimit;
      return absl::OkStatus();
    }
  }
  if (certificate.dual > state_.last.upper * (1.0 + 1e-12)) {
    return RetreatWeights(context);
  }
  return AdvanceWeights(bounds, context);
}

void IklLearner::Remember(const PointBounds& bounds) {
  IklPoint& best = state_.best;
  ++state_.fruitless;
  const double gap = bounds.RelativeGap();
  if (gap < best.gap) {
    state_.fruitless = gap < 0.98 * best.gap ? 0 : state_.fruitless;
    best = {state_.bandwidths,
            state_.weights,
            bounds.function_scale * state_.dual,
            bounds.bias,
            bounds.primal,
            bounds.dual,
            gap};
  }
}

// The last step of the weights raised the optimum: a shorter one is tried, and in the end the
// closed form, which cannot raise it.
absl::Status IklLearner::RetreatWeights(const RunContext& context) {
  LastWeights& last = state_.last;
  if (++last.reductions <= kMaxReductions) {
    const Vector mixed = last.weights + kRetreat * (state_.weights - last.weights);
    state_.weights = mixed / mixed.sum();
  } else {
    state_.weights = ClosedFormStep(
        {*family_, *kernel_, 1.0, last.weights, last.dual, last.energies, CurvedSamples()});
    last.upper = kInfinity;
  }
  state_.dual = last.dual;
  return RescaleDual(state_.weights.dot(last.energies), context);
}

// Replaces the dual by its best multiple for the SVM of the new weights, whose quadratic form is
// known.
absl::Status IklLearner::RescaleDual(double quadratic, const RunContext& context) {
  MERCER_ASSIGN_OR_RETURN(const DualRay ray, MaximizeOnDualRay(*svm_.loss, svm_.targets, svm_.costs,
                                                               state_.dual, quadratic, context));
  if (ray.scale > 0) {
    state_.dual *= ray.scale;
    svm_.loss->RepairDual(svm_.targets, svm_.costs, true, state_.dual);
  }
  return absl::OkStatus();
}

absl::Status IklLearner::AdvanceWeights(const PointBounds& bounds, RunContext& context) {
  const double weight_gap = bounds.weight_gap / std::max(std::abs(bounds.primal), 1e-300);
  const double least = kLeastInnerGapShare * target_;
  if (state_.weights.size() == 1 || weight_gap <= 0.1 * target_) {
    state_.inner_gap = std::max(std::min(0.5 * target_, 0.5 * state_.inner_gap), least);
    return absl::OkStatus();
  }
  state_.inner_gap = std::max(
      std::min(state_.inner_gap, kInnerGapShare * std::min(weight_gap, bounds.RelativeGap())),
      least);
  const CurvedSamples curved = FreeSamples({*svm_.loss, svm_.targets, svm_.costs}, state_.dual);
  const WeightStepInput input{*family_,    *kernel_,  1.0,   state_.weights,
                              state_.dual, energies_, curved};
  LastWeights last{state_.weights, state_.dual, energies_, solver_->certificate().primal, 0};
  if (state_.outer < kOverRelaxedSteps) {
    state_.weights = OverRelaxedStep(input);
  } else {
    MERCER_ASSIGN_OR_RETURN(state_.weights, NewtonStep(input, context));
  }
  state_.last = std::move(last);
  MERCER_RETURN_IF_ERROR(RescaleDual(state_.weights.dot(energies_), context));
  ++state_.outer;
  return absl::OkStatus();
}

// The list is solved: is there a bandwidth outside that would lower the objective?
absl::Status IklLearner::Search(RunContext& context) {
  context.ReportStage("search");
  MERCER_ASSIGN_OR_RETURN(
      const std::vector<FoundBandwidth> found,
      FindBandwidths(problem_->tasks[0], interval_, state_.bandwidths, state_.dual, context));
  ++state_.searches;
  state_.fruitless = 0;
  const double listed = energies_.maxCoeff();
  const double largest = std::max(found.front().energy, listed);
  const double allowed = listed + 2 * options_.violation * state_.best.primal;
  const auto is_new = [&](const FoundBandwidth& one) {
    return one.energy > allowed &&
           std::none_of(state_.bandwidths.begin(), state_.bandwidths.end(), [&](double bandwidth) {
             return std::abs(std::log(bandwidth / one.bandwidth)) < kSameKernel;
           });
  };
  const auto best = std::find_if(found.begin(), found.end(), is_new);
  if (largest <= allowed) {
    state_.end = SearchEnd::kNoViolation;
  } else if (best == found.end()) {
    state_.end = SearchEnd::kNoProgress;
  } else if ((state_.weights.array() > 0).count() >= options_.max_kernels) {
    state_.end = SearchEnd::kMaxKernels;
  } else {
    Admit(best->bandwidth);
  }
  return absl::OkStatus();
}

// Takes a bandwidth into the list, and those without a weight out of it. The new kernel begins with
// a tenth of the weights: at weight 0 no step of the closed form would move it.
void IklLearner::Admit(double bandwidth) {
  std::vector<double> bandwidths;
  std::vector<double> weights;
  for (size_t k = 0; k < state_.bandwidths.size(); ++k) {
    const double weight = state_.weights(static_cast<Index>(k));
    if (weight > 0) {
      bandwidths.push_back(state_.bandwidths[k]);
      weights.push_back((1 - kFirstWeight) * weight);
    }
  }
  bandwidths.push_back(bandwidth);
  weights.push_back(kFirstWeight);
  state_.bandwidths = std::move(bandwidths);
  state_.weights = Eigen::Map<const Vector>(weights.data(), static_cast<Index>(weights.size()));
  state_.weights /= state_.weights.sum();
  state_.last = {};
  state_.outer = 0;
  state_.inner_gap = std::max(kInnerGapShare * options_.violation, 0.5 * target_);
  state_.best.gap = kInfinity;  // its primal value stays a bound, its lower one was for the list
}

StepReport IklLearner::Report() const {
  const bool searching = state_.end == SearchEnd::kSearching;
  StepReport report;
  report.stage = searching ? "search" : "certify";
  report.primal = state_.best.primal;
  if (!searching) {
    report.dual = state_.best.lower;
    report.accuracy = state_.best.gap;
  }
  report.fraction =
      searching ? 0.5 : 0.5 + 0.5 * FractionOfGap(report.accuracy, problem_->relative_gap);
  report.active_kernels = (state_.weights.array() > 0).count();
  report.support_vectors = (state_.dual.array() != 0).count();
  report.inner_iterations = state_.iterations;
  report.has_model = !searching && std::isfinite(state_.best.primal);
  report.stop = state_.stop;
  return report;
}

absl::StatusOr<TrainedPoint> IklLearner::CurrentModel(RunContext& /*context*/) const {
  if (state_.end == SearchEnd::kSearching || !std::isfinite(state_.best.primal)) {
    return absl::FailedPreconditionError("the bandwidths have not been found yet");
  }
  return MakePoint(state_.best);
}

// The best constant function, on one kernel, whose weight is 1 whatever the function.
absl::StatusOr<TrainedPoint> IklLearner::ConstantModel(RunContext& context) {
  if (!(interval_.high > 0)) {
    MERCER_RETURN_IF_ERROR(ResolveInterval(context));
  }
  IklPoint constant;
  constant.bandwidths = {first_bandwidth_};
  constant.weights = Vector::Ones(1);
  constant.dual = Vector::Zero(svm_.targets.size());
  MERCER_ASSIGN_OR_RETURN(const BiasInterval bias,
                          svm_.loss->ExactBias(svm_.targets, svm_.costs, constant.dual, context));
  constant.bias = bias.chosen;
  return MakePoint(constant);
}

TrainedPoint IklLearner::MakePoint(const IklPoint& best) const {
  const TaskData& task = problem_->tasks[0];
  TrainedPoint point;
  std::vector<KernelSpec> kernels;
  for (const double bandwidth : best.bandwidths) {
    kernels.push_back(GaussianOf(bandwidth));
    point.summary.kernel_names.push_back(KernelName(kernels.back()));
  }
  point.function =
      MakeKernelFunction(*task.inputs, task.rows, kernels, best.weights, best.dual, best.bias);
  point.witness.tasks.push_back({best.dual, Vector::Constant(1, best.bias)});
  point.witness.arrays = {
      {"weights", best.weights},
      {"bandwidths", Eigen::Map<const Vector>(best.bandwidths.data(),
                                              static_cast<Index>(best.bandwidths.size()))}};
  point.witness.values = {{"min_bandwidth", interval_.low},
                          {"max_bandwidth", interval_.high},
                          {"searches", static_cast<double>(state_.searches)},
                          {"search_end", static_cast<double>(state_.end)}};
  point.summary.kernel_weights = best.weights;
  point.summary.num_support_vectors = (best.dual.array() != 0).count();
  return point;
}

}  // namespace mercer::ikl
