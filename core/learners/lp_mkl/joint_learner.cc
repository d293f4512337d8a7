#include "core/learners/lp_mkl/joint_learner.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "core/base/status/status_macros.h"
#include "core/learners/lp_mkl/kernels.h"
#include "core/solvers/mkl/smo_mkl.h"
#include "core/training/contract/loss_choice.h"
#include "core/training/contract/resumable_learner.h"
#include "core/training/contract/single_task.h"

namespace mercer::lp_mkl {
namespace {

constexpr double kJointSliceOperations = 4e8;  // bound by memory, about 0.2 s
constexpr double kPassesPerIteration = 8;      // over n x m numbers

SmoMklOptions SolverOptions(const LpMklOptions& options, double relative_gap) {
  return {.p = options.p, .weight_penalty = options.penalty(), .relative_gap = relative_gap};
}

std::optional<StopReason> ReasonOf(const SmoMklSolver& solver) {
  if (solver.upper_bound() <= 1e-300) {
    return StopReason::kObjectiveZero;
  }
  switch (solver.stop()) {
    case SmoMklStop::kIterationLimit:
      return StopReason::kIterationLimit;
    case SmoMklStop::kPrecision:
      return StopReason::kNumericalLimit;
    case SmoMklStop::kRunning:
    case SmoMklStop::kRelativeGap:
      break;
  }
  return std::nullopt;
}

struct JointState {
  Vector start;  // the dual to begin with; empty: zero

  static void VisitFields(auto& visit, auto& self, const StateSizes& of) {
    visit(SizedOrEmpty(self.start, of.rows), FormerNumber());
  }
};

class JointLpMklLearner : public ResumableLearner<JointState> {
 public:
  explicit JointLpMklLearner(const LpMklOptions& options)
      : ResumableLearner("lp_mkl", /*version=*/1), options_(options) {}

  absl::StatusOr<TrainedPoint> CurrentModel(RunContext& context) const override {
    if (solver_ == nullptr || !std::isfinite(solver_->best().certificate.primal)) {
      return absl::FailedPreconditionError("no point has been certified yet");
    }
    const SmoMklPoint& best = solver_->best();
    return MakeLpMklPoint(kernels_, *problem_, {best.weights, best.dual, best.certificate.bias},
                          context);
  }

  absl::StatusOr<TrainedPoint> ConstantModel(RunContext& context) override {
    return MakeConstantLpMklPoint(*problem_, {*svm_.loss, svm_.targets, svm_.costs}, options_.p,
                                  context);
  }

 private:
  absl::Status Begin(const WarmStart* warm_start) override {
    MERCER_ASSIGN_OR_RETURN(std::unique_ptr<Loss> loss,
                            MakeChosenLoss(options_.loss, options_.epsilon, problem_->kind));
    MERCER_ASSIGN_OR_RETURN(svm_, ReadSvmProblem(*problem_, std::move(loss), options_.C));
    state_.start = CarriedDual(*problem_, warm_start);
    kernels_ = {};
    solver_ = nullptr;
    return absl::OkStatus();
  }

  absl::Status Advance(RunContext& context) override {
    if (solver_ == nullptr) {
      MERCER_ASSIGN_OR_RETURN(std::unique_ptr<SmoMklSolver> solver, MakeSolver(context));
      MERCER_RETURN_IF_ERROR(solver->Start(svm_, state_.start, context));
      solver_ = std::move(solver);
    }
    if (!ReasonOf(*solver_).has_value()) {
      solver_->set_relative_gap(target_);
    }
    // Slices end at the same iterations whatever accuracy a step before was asked for.
    const int64_t slice = SliceIterations();
    return solver_->Step(slice - solver_->iterations() % slice, context);
  }

  StepReport Report() const override {
    StepReport report;
    report.stage = "solve";
    report.primal = solver_->upper_bound();
    report.dual = solver_->lower_bound();
    report.accuracy = solver_->best().certificate.RelativeGap();
    report.has_model = std::isfinite(report.accuracy);
    report.fraction = FractionOfGap(report.accuracy, problem_->relative_gap);
    report.active_kernels = (solver_->best().weights.array() > 0).count();
    report.support_vectors = (solver_->dual().array() != 0).count();
    report.inner_iterations = solver_->iterations();
    report.stop = ReasonOf(*solver_);
    return report;
  }

  void SaveParts(ByteWriter& writer) const override {
    writer.WriteBool(solver_ != nullptr);
    writer.WriteString(solver_ != nullptr ? solver_->SaveState() : std::string());
  }

  absl::Status LoadParts(ByteReader& reader, RunContext& context) override {
    const bool started = reader.ReadBool();
    const std::string of_solver = reader.ReadString();
    solver_ = nullptr;
    if (!started) {
      return of_solver.empty() ? absl::OkStatus() : NotAState();
    }
    MERCER_ASSIGN_OR_RETURN(std::unique_ptr<SmoMklSolver> solver, MakeSolver(context));
    MERCER_RETURN_IF_ERROR(OfPart(solver->RestoreState(svm_, of_solver, context)));
    solver_ = std::move(solver);
    return absl::OkStatus();
  }

  absl::StatusOr<std::unique_ptr<SmoMklSolver>> MakeSolver(RunContext& context) {
    if (kernels_.family == nullptr) {
      MERCER_ASSIGN_OR_RETURN(kernels_, MakeLpMklKernels(options_, *problem_, context));
    }
    return std::make_unique<SmoMklSolver>(*kernels_.family, SolverOptions(options_, target_));
  }

  int64_t SliceIterations() const {
    const double numbers =
        static_cast<double>(svm_.targets.size()) * static_cast<double>(problem_->kernels.size());
    return std::max<int64_t>(
        1, static_cast<int64_t>(kJointSliceOperations / (kPassesPerIteration * numbers)));
  }

  const LpMklOptions options_;
  SvmProblem svm_;
  LpMklKernels kernels_;                  // made by the first step
  std::unique_ptr<SmoMklSolver> solver_;  // null before the first step
};

}  // namespace

std::unique_ptr<Learner> MakeJointLearner(const LpMklOptions& options) {
  return std::make_unique<JointLpMklLearner>(options);
}

ByteCount JointSolverBytes(const LpMklOptions& options, const ProblemShape& shape) {
  return SmoMklSolver::Bytes(shape.rows, shape.kernels, SolverOptions(options, shape.relative_gap));
}

}  // namespace mercer::lp_mkl
