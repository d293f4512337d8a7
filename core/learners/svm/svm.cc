#include "core/learners/svm/svm.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "core/base/status/status_macros.h"
#include "core/solvers/svm/smo.h"
#include "core/training/contract/kernel_sum.h"
#include "core/training/contract/resumable_learner.h"
#include "core/training/contract/single_task.h"

namespace mercer::svm {
namespace {

constexpr double kSliceEntries = 4e8;  // kernel entries read per step, about 0.2 s
constexpr int64_t kMinSlice = 100;     // iterations

StopReason ReasonOf(SvmStop stop) {
  return stop == SvmStop::kIterationLimit ? StopReason::kIterationLimit
                                          : StopReason::kNumericalLimit;
}

struct SvmState {
  bool begun = false;
  Vector first_dual;          // where to begin; empty: at zero
  int64_t iterations = 0;     // of runs of the solver before the present one
  double primal = kInfinity;  // best bounds so far
  double dual = -kInfinity;
  std::optional<StopReason> stop;

  static void VisitFields(auto& visit, auto& self, const StateSizes& of) {
    visit(self.begun, SizedOrEmpty(self.first_dual, of.rows), FormerNumber(), self.iterations,
          self.primal, self.dual, UpTo(self.stop, StopReason::kObjectiveZero));
    visit.Require([&] { return self.begun || !self.stop.has_value(); });
  }
};

class SvmLearner : public ResumableLearner<SvmState> {
 public:
  SvmLearner(const SvmOptions& options, int64_t slice_iterations)
      : ResumableLearner("svm", /*version=*/1),
        options_(options),
        slice_iterations_(slice_iterations) {}

  ~SvmLearner() override { DropSolver(); }

  absl::StatusOr<TrainedPoint> CurrentModel(RunContext& context) const override {
    if (solver_ == nullptr || solver_->dual().size() == 0) {
      return absl::FailedPreconditionError("the run has not begun");
    }
    const Vector& dual = solver_->dual();
    double bias = solver_->certificate().bias.chosen;
    if (!solver_->done()) {
      Matrix scores(dual.size(), 1);
      MERCER_RETURN_IF_ERROR(sum_->kernel->Apply(dual, scores, context));
      MERCER_ASSIGN_OR_RETURN(
          const BiasInterval minimisers,
          svm_.loss->ExactBias(svm_.targets, svm_.costs, scores.col(0), context));
      bias = minimisers.chosen;
    }
    return MakeKernelSumPoint(*problem_, sum_->family->scales(), dual, bias);
  }

  absl::StatusOr<TrainedPoint> ConstantModel(RunContext& context) override {
    const Vector zeros = Vector::Zero(svm_.targets.size());
    MERCER_ASSIGN_OR_RETURN(const BiasInterval bias,
                            svm_.loss->ExactBias(svm_.targets, svm_.costs, zeros, context));
    const Vector ones = Vector::Ones(static_cast<Index>(problem_->kernels.size()));
    return MakeConstantPoint(*problem_, ones, bias.chosen);
  }

 private:
  absl::Status Begin(const WarmStart* warm_start) override {
    MERCER_ASSIGN_OR_RETURN(svm_, ReadSvmProblem(*problem_, options_.C, options_.epsilon));
    state_.first_dual = CarriedDual(*problem_, warm_start);
    DropSolver();
    sum_ = nullptr;
    return absl::OkStatus();
  }

  absl::Status Advance(RunContext& context) override {
    MERCER_RETURN_IF_ERROR(MakeKernelSum(*problem_, sum_, context));
    if (state_.stop.has_value()) {
      return absl::OkStatus();
    }
    if (!state_.begun) {
      solver_ = MakeSolver();
      MERCER_ASSIGN_OR_RETURN(const SvmWarmStart warm_start, FirstPoint(context));
      MERCER_RETURN_IF_ERROR(solver_->Start(svm_, warm_start, context));
      state_.first_dual = Vector();
      state_.begun = true;
    }
    solver_->set_relative_gap(target_);
    MERCER_RETURN_IF_ERROR(solver_->Step(SliceIterations(), context));
    if (solver_->not_psd()) {
      return NotPsdError(*problem_);
    }
    state_.primal = std::min(state_.primal, solver_->certificate().unscaled_primal);
    state_.dual = std::max(state_.dual, solver_->certificate().dual);
    if (state_.primal <= 1e-300) {
      state_.stop = StopReason::kObjectiveZero;
    } else if (solver_->done() && solver_->stop() != SvmStop::kRelativeGap) {
      state_.stop = ReasonOf(solver_->stop());
    }
    return absl::OkStatus();
  }

  StepReport Report() const override {
    StepReport report;
    report.stage = "solve";
    report.primal = state_.primal;
    report.dual = state_.dual;
    report.accuracy = solver_->certificate().UnscaledRelativeGap();
    report.fraction = FractionOfGap(report.accuracy, problem_->relative_gap);
    report.active_kernels = sum_->family->num_kernels();
    report.support_vectors = (solver_->dual().array() != 0).count();
    report.inner_iterations = state_.iterations + solver_->iterations();
    report.has_model = true;
    report.stop = state_.stop;
    return report;
  }

  void SaveParts(ByteWriter& writer) const override {
    writer.WriteString(state_.begun ? solver_->SaveState() : std::string());
  }

  absl::Status LoadParts(ByteReader& reader, RunContext& context) override {
    const std::string solver_state = reader.ReadString();
    DropSolver();
    MERCER_RETURN_IF_ERROR(MakeKernelSum(*problem_, sum_, context));
    if (!state_.begun) {
      return absl::OkStatus();
    }
    solver_ = MakeSolver();
    return OfPart(solver_->RestoreState(svm_, solver_state, context));
  }

  // The dual of another cost with its products, which its certificate has computed as a rule.
  absl::StatusOr<SvmWarmStart> FirstPoint(RunContext& context) const {
    SvmWarmStart first{.dual = state_.first_dual};
    if (first.dual.size() > 0) {
      first.scores.resize(first.dual.size());
      first.rescale = true;
      MERCER_RETURN_IF_ERROR(sum_->Product(first.dual, first.scores, context));
    }
    return first;
  }

  std::unique_ptr<SmoSolver> MakeSolver() const {
    SmoOptions options;
    options.relative_gap = target_;
    options.gap_of_function = true;
    return std::make_unique<SmoSolver>(*sum_->kernel, options, sum_->spare_columns->Take());
  }

  // Its columns serve the next value of a path.
  void DropSolver() {
    if (solver_ != nullptr) {
      sum_->spare_columns->Leave(solver_->TakeColumns());
      solver_ = nullptr;
    }
  }

  int64_t SliceIterations() const {
    if (slice_iterations_ > 0) {
      return slice_iterations_;
    }
    // A slice has as many iterations as make about 0.2 s: each reads two columns and two vectors.
    return std::max(
        kMinSlice,
        static_cast<int64_t>(kSliceEntries / (4.0 * static_cast<double>(svm_.targets.size()))));
  }

  const SvmOptions options_;
  const int64_t slice_iterations_;
  SvmProblem svm_;
  std::shared_ptr<const KernelSum> sum_;  // a function of the problem alone
  std::unique_ptr<SmoSolver> solver_;     // null until the first step
};

}  // namespace

std::unique_ptr<Learner> MakeLearner(const SvmOptions& options, int64_t slice_iterations) {
  return std::make_unique<SvmLearner>(options, slice_iterations);
}

}  // namespace mercer::svm
