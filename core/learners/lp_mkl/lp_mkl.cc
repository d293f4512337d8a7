#include "core/learners/lp_mkl/lp_mkl.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "core/base/status/status_macros.h"
#include "core/learners/lp_mkl/kernels.h"
#include "core/learners/lp_mkl/sample_start.h"
#include "core/objectives/lp_weights.h"
#include "core/solvers/mkl/mkl_loop.h"
#include "core/training/contract/loss_choice.h"
#include "core/training/contract/resumable_learner.h"
#include "core/training/contract/single_task.h"

namespace mercer::lp_mkl {
namespace {

constexpr double kFirstInnerGap = 0.1;

WeightSteps StepsOf(OuterLoopChoice choice) {
  return choice == OuterLoopChoice::kAlternation   ? WeightSteps::kAlternation
         : choice == OuterLoopChoice::kOverRelaxed ? WeightSteps::kOverRelaxed
                                                   : WeightSteps::kNewton;
}

// Whether it is the Newton method on features.
bool StartsAtFunction(InnerSolverChoice choice) {
  return choice == InnerSolverChoice::kAuto || choice == InnerSolverChoice::kNewton;
}

struct LpMklState {
  MklState mkl;
  std::optional<StopReason> stop;

  static void VisitFields(auto& visit, auto& self, const StateSizes& of) {
    visit(Nested(self.mkl, MklSizes{of.rows, of.kernels}),
          UpTo(self.stop, StopReason::kObjectiveZero));
  }
};

class LpMklLearner : public ResumableLearner<LpMklState> {
 public:
  // Of low rank, states of solvers are in terms of factors that are made anew: 8 since these are on
  // another basis.
  explicit LpMklLearner(const LpMklOptions& options)
      : ResumableLearner("lp_mkl", options.is_low_rank() ? 8 + LandmarkVersion(options) : 3),
        options_(options),
        ball_(options.p),
        loop_options_{options.inner_solver, StepsOf(options.outer_loop)} {}

  absl::StatusOr<TrainedPoint> CurrentModel(RunContext& context) const override {
    const BestPoint& best = state_.mkl.best;
    if (std::isfinite(best.gap)) {
      return MakeLpMklPoint(kernels_, *problem_, {best.weights, best.dual, best.bias}, context);
    }
    if (!loop_.has_value()) {
      return absl::FailedPreconditionError("no machine has been begun yet");
    }
    MERCER_ASSIGN_OR_RETURN(const Vector biases, loop_->BiasesSoFar(context));
    return MakeLpMklPoint(kernels_, *problem_,
                          {state_.mkl.weights, loop_->inner().dual(), biases(0)}, context);
  }

  absl::StatusOr<TrainedPoint> ConstantModel(RunContext& context) override {
    return MakeConstantLpMklPoint(*problem_, {*svm_.loss, svm_.targets, svm_.costs}, options_.p,
                                  context);
  }

 private:
  absl::Status Begin(const WarmStart* warm_start) override {
    MERCER_RETURN_IF_ERROR(CheckApproximation(options_, problem_->kernels));
    MERCER_ASSIGN_OR_RETURN(std::unique_ptr<Loss> loss,
                            MakeChosenLoss(options_.loss, options_.epsilon, problem_->kind));
    MERCER_ASSIGN_OR_RETURN(svm_, ReadSvmProblem(*problem_, std::move(loss), options_.C));
    state_.mkl.dual = Vector::Zero(svm_.targets.size());
    const Vector carried = CarriedDual(*problem_, warm_start);
    if (carried.size() > 0) {
      state_.mkl.dual = carried;
      svm_.loss->RepairDual(svm_.targets, svm_.costs, true, state_.mkl.dual);
    }
    loop_.emplace(ball_, svm_, loop_options_, state_.mkl);
    loop_->Begin(StartWeights(warm_start), kFirstInnerGap, target_);
    kernels_ = {};
    return absl::OkStatus();
  }

  absl::Status Advance(RunContext& context) override {
    MERCER_RETURN_IF_ERROR(Prepare(context));
    if (state_.stop.has_value()) {
      return absl::OkStatus();
    }
    MERCER_RETURN_IF_ERROR(StartFromSampleOnce(context));
    MERCER_ASSIGN_OR_RETURN(const MklProgress progress, loop_->Solve(context));
    if (progress == MklProgress::kSolved) {
      return loop_->MoveWeights(target_, context);
    }
    if (progress != MklProgress::kSolving) {
      state_.stop = progress == MklProgress::kObjectiveZero ? StopReason::kObjectiveZero
                                                            : StopReason::kNumericalLimit;
    }
    return absl::OkStatus();
  }

  StepReport Report() const override {
    const MklState& mkl = state_.mkl;
    StepReport report;
    report.stage = mkl.solving ? "solve" : "weights";
    report.primal = mkl.best.primal;
    report.dual = mkl.best.lower;
    report.accuracy = mkl.best.gap;
    report.has_model = std::isfinite(mkl.best.gap) || loop_->inner().has_point();
    report.fraction = FractionOfGap(report.accuracy, problem_->relative_gap);
    report.active_kernels = (mkl.weights.array() > 0).count();
    report.support_vectors =
        ((mkl.solving ? loop_->inner().dual() : mkl.dual).array() != 0).count();
    report.inner_iterations = loop_->inner().iterations();
    report.stop = state_.stop;
    return report;
  }

  void SaveParts(ByteWriter& writer) const override { loop_->Save(writer); }

  absl::Status LoadParts(ByteReader& reader, RunContext& context) override {
    MERCER_RETURN_IF_ERROR(Prepare(context));
    return OfPart(loop_->Load(reader, context));
  }

  Vector StartWeights(const WarmStart* warm_start) const {
    const Vector uniform = UniformWeights(static_cast<Index>(problem_->kernels.size()), options_.p);
    const Vector carried =
        ball_.AreFixed(uniform.size()) ? Vector() : CarriedWeights(uniform, warm_start);
    return carried.size() > 0 ? ball_.Normalized(carried) : uniform;
  }

  absl::Status Prepare(RunContext& context) {
    if (kernels_.family == nullptr) {
      MERCER_ASSIGN_OR_RETURN(kernels_, MakeLpMklKernels(options_, *problem_, context));
      loop_->SetKernels(kernels_.family.get());
    }
    return absl::OkStatus();
  }

  // Before the first machine, of kernels of low rank and a solver that begins at a function.
  absl::Status StartFromSampleOnce(RunContext& context) {
    if (loop_->inner().has_point() || kernels_.low_rank == nullptr ||
        !svm_.loss->is_piecewise_linear() || !StartsAtFunction(options_.inner_solver) ||
        !state_.mkl.dual.isZero(0)) {
      return absl::OkStatus();
    }
    const double gap = std::max(kSampleStartGap, target_);
    MERCER_ASSIGN_OR_RETURN(std::optional<SampleStart> start,
                            StartFromSample(*kernels_.low_rank, ball_, svm_, loop_options_,
                                            state_.mkl.weights, gap, problem_->seed, context));
    if (start.has_value()) {
      loop_->Begin(std::move(start->weights), gap, target_);
      loop_->BeginAt(std::move(start->machine));
      state_.mkl.newton_from = 0;  // the weights are near the optimum already
    }
    return absl::OkStatus();
  }

  const LpMklOptions options_;
  const LpBall ball_;
  const MklLoopOptions loop_options_;
  SvmProblem svm_;
  LpMklKernels kernels_;         // made by the first step
  std::optional<MklLoop> loop_;  // on state_.mkl
};

}  // namespace

std::unique_ptr<Learner> MakeAlternatingLearner(const LpMklOptions& options) {
  return std::make_unique<LpMklLearner>(options);
}

}  // namespace mercer::lp_mkl
