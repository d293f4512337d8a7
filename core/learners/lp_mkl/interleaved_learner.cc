#include "core/learners/lp_mkl/interleaved_learner.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "core/base/status/status_macros.h"
#include "core/learners/lp_mkl/kernels.h"
#include "core/objectives/lp_weights.h"
#include "core/solvers/factor/factor_svm.h"
#include "core/solvers/mkl/best_point.h"
#include "core/solvers/mkl/mkl_bounds.h"
#include "core/training/contract/loss_choice.h"
#include "core/training/contract/resumable_learner.h"
#include "core/training/contract/single_task.h"

namespace mercer::lp_mkl {
namespace {

constexpr double kInterleavedSliceOperations = 4e9;  // about 0.2 s of matrix products on one core
constexpr double kInterleavedGapShare = 0.1;         // of the gap asked for: that of fixed weights
constexpr int64_t kMaxFruitlessPoints = 300;

struct InterleavedState {
  Vector weights;
  Vector start;  // the dual to begin with; empty: zero
  int64_t iterations = 0;
  int64_t fruitless = 0;  // certified points since the gap improved
  BestPoint best;
  std::optional<StopReason> stop;

  static void VisitFields(auto& visit, auto& self, const StateSizes& of) {
    visit(Sized(self.weights, of.kernels), SizedOrEmpty(self.start, of.rows));
    self.best.VisitArrays(visit, self.best, {of.rows, of.kernels});
    visit(FormerNumber());
    self.best.VisitNumbers(visit, self.best);
    visit(self.iterations, self.fruitless, UpTo(self.stop, StopReason::kObjectiveZero));
    visit.Require([&] { return self.weights.allFinite() && self.weights.minCoeff() >= 0; });
  }
};

class InterleavedLpMklLearner : public ResumableLearner<InterleavedState> {
 public:
  // Version 6 since factors are those of another basis.
  explicit InterleavedLpMklLearner(const LpMklOptions& options)
      : ResumableLearner("lp_mkl", 6 + LandmarkVersion(options)), options_(options) {}

  absl::StatusOr<TrainedPoint> CurrentModel(RunContext& context) const override {
    if (!std::isfinite(state_.best.gap)) {
      return absl::FailedPreconditionError("no point has been certified yet");
    }
    const BestPoint& best = state_.best;
    return MakeLpMklPoint(kernels_, *problem_, {best.weights, best.dual, best.bias}, context);
  }

  absl::StatusOr<TrainedPoint> ConstantModel(RunContext& context) override {
    return MakeConstantLpMklPoint(*problem_, {*svm_.loss, svm_.targets, svm_.costs}, options_.p,
                                  context);
  }

 private:
  // A kernel of some weights, and the solver that works on it.
  struct Work {
    std::unique_ptr<KernelOperator> kernel;
    std::unique_ptr<FactorSvmSolver> solver;
  };

  absl::Status Begin(const WarmStart* warm_start) override {
    MERCER_RETURN_IF_ERROR(CheckApproximation(options_, problem_->kernels));
    MERCER_ASSIGN_OR_RETURN(std::unique_ptr<Loss> loss,
                            MakeChosenLoss(options_.loss, options_.epsilon, problem_->kind));
    MERCER_ASSIGN_OR_RETURN(svm_, ReadSvmProblem(*problem_, std::move(loss), options_.C));
    state_.weights = UniformWeights(static_cast<Index>(problem_->kernels.size()), options_.p);
    state_.start = CarriedDual(*problem_, warm_start);
    kernels_ = {};
    work_ = {};
    return absl::OkStatus();
  }

  absl::Status Advance(RunContext& context) override {
    MERCER_RETURN_IF_ERROR(Prepare(context));
    for (double work = 0; work < kInterleavedSliceOperations && !state_.stop.has_value();) {
      if (!work_.solver->done()) {
        work += work_.solver->NextCost();
        MERCER_RETURN_IF_ERROR(work_.solver->Step(1, context));
        ++state_.iterations;
      }
      if (work_.solver->done()) {
        MERCER_RETURN_IF_ERROR(Certify(context));
      }
      const bool reached = state_.best.gap <= target_;
      MERCER_RETURN_IF_ERROR(MoveWeights(context));
      // A change of the weights costs the combination of all kernels.
      const auto rank = static_cast<double>(kernels_.low_rank->joint_rank());
      work += 2.0 * rank * rank * static_cast<double>(kernels_.low_rank->num_features());
      if (reached) {
        return absl::OkStatus();
      }
    }
    // The bounds are computed now: they are what a run that ends here gives, and what is shown of
    // it.
    return state_.stop.has_value() || work_.solver->done() ? absl::OkStatus() : Certify(context);
  }

  StepReport Report() const override {
    StepReport report;
    report.stage = "solve";
    report.primal = state_.best.primal;
    report.dual = state_.best.lower;
    report.accuracy = state_.best.gap;
    report.has_model = std::isfinite(state_.best.gap);
    report.fraction = FractionOfGap(report.accuracy, problem_->relative_gap);
    report.active_kernels = (state_.weights.array() > 0).count();
    report.support_vectors = (work_.solver->dual().array() != 0).count();
    report.inner_iterations = state_.iterations;
    report.stop = state_.stop;
    return report;
  }

  void SaveParts(ByteWriter& writer) const override {
    writer.WriteBool(work_.solver != nullptr);
    writer.WriteString(work_.solver != nullptr ? work_.solver->SaveState() : std::string());
  }

  absl::Status LoadParts(ByteReader& reader, RunContext& context) override {
    const bool started = reader.ReadBool();
    const std::string of_solver = reader.ReadString();
    work_ = {};
    if (!started) {
      return absl::OkStatus();
    }
    MERCER_ASSIGN_OR_RETURN(Work work, MakeWork(context));
    MERCER_RETURN_IF_ERROR(OfPart(work.solver->RestoreState(svm_, of_solver, context)));
    work_ = std::move(work);
    return absl::OkStatus();
  }

  absl::Status Prepare(RunContext& context) {
    if (work_.solver != nullptr) {
      work_.solver->set_relative_gap(InnerGap());
      return absl::OkStatus();
    }
    MERCER_ASSIGN_OR_RETURN(Work work, MakeWork(context));
    SvmWarmStart start;
    start.dual = state_.start;
    MERCER_RETURN_IF_ERROR(work.solver->Start(svm_, start, context));
    work_ = std::move(work);
    return Certify(context);
  }

  absl::StatusOr<Work> MakeWork(RunContext& context) {
    if (kernels_.family == nullptr) {
      MERCER_ASSIGN_OR_RETURN(kernels_, MakeLpMklKernels(options_, *problem_, context));
    }
    Work work;
    MERCER_ASSIGN_OR_RETURN(work.kernel,
                            kernels_.family->CombineForSearch(state_.weights, context));
    work.solver = std::make_unique<FactorSvmSolver>(*work.kernel->Factored(), InnerGap());
    return work;
  }

  double InnerGap() const { return kInterleavedGapShare * target_; }

  // Computes the bounds of the whole problem at the solver's dual, with the present weights.
  absl::Status Certify(RunContext& context) {
    const Vector& dual = work_.solver->dual();
    Matrix energies(kernels_.family->num_kernels(), 1);
    MERCER_RETURN_IF_ERROR(kernels_.family->QuadraticFormsForSearch(dual, {}, energies, context));
    Matrix scores(dual.size(), 1);
    MERCER_RETURN_IF_ERROR(work_.kernel->Apply(dual, scores, context));
    MERCER_ASSIGN_OR_RETURN(
        const PointBounds bounds,
        BoundPoint({*svm_.loss, svm_.targets, svm_.costs, LpBall(options_.p), state_.weights, dual,
                    energies.col(0).cwiseMax(0.0), scores.col(0)},
                   context));
    state_.fruitless += work_.solver->done() ? 1 : 0;
    if (state_.best.Improve(bounds, state_.weights, dual)) {
      state_.fruitless = 0;
    }
    if (work_.solver->stop() == SvmStop::kPrecision) {
      state_.fruitless += kMaxFruitlessPoints / 5;
    }
    if (state_.best.primal <= 1e-300) {
      state_.stop = StopReason::kObjectiveZero;
    } else if (state_.fruitless >= kMaxFruitlessPoints) {
      state_.stop = StopReason::kNumericalLimit;
    }
    return absl::OkStatus();
  }

  // Moves the weights to the closed form for the function of the subproblem, and the solver to
  // their kernel. Where rounding lets the norm of the function grow, weights stay.
  absl::Status MoveWeights(RunContext& context) {
    MERCER_ASSIGN_OR_RETURN(const Vector parts, kernels_.low_rank->PartNorms(
                                                    work_.solver->FunctionInMetric(), context));
    const Vector norms = state_.weights.cwiseProduct(parts);
    Vector weights = WeightsFromNorms(norms, options_.p, state_.weights);
    if (weights.allFinite() && weights != state_.weights) {
      Work next;
      MERCER_ASSIGN_OR_RETURN(next.kernel, kernels_.family->CombineForSearch(weights, context));
      MERCER_ASSIGN_OR_RETURN(
          next.solver, work_.solver->OnKernel(*next.kernel->Factored(), InnerGap(), context));
      if (next.solver != nullptr) {
        state_.weights = std::move(weights);
        work_ = std::move(next);
        return absl::OkStatus();
      }
    }
    if (work_.solver->done()) {
      MERCER_ASSIGN_OR_RETURN(
          std::unique_ptr<FactorSvmSolver> same,
          work_.solver->OnKernel(*work_.kernel->Factored(), InnerGap(), context));
      if (same == nullptr) {  // rounding alone moves the function
        state_.stop = StopReason::kNumericalLimit;
        return absl::OkStatus();
      }
      work_.solver = std::move(same);
    }
    return absl::OkStatus();
  }

  const LpMklOptions options_;
  SvmProblem svm_;
  LpMklKernels kernels_;  // made by the first step
  Work work_;             // of state_.weights; empty before the first step
};

}  // namespace

std::unique_ptr<Learner> MakeInterleavedLearner(const LpMklOptions& options) {
  return std::make_unique<InterleavedLpMklLearner>(options);
}

}  // namespace mercer::lp_mkl
