#include "core/learners/lp_mkl/joint_learner.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/base/bytes.h"
#include "core/base/status_macros.h"
#include "core/learners/lp_mkl/loss_choice.h"
#include "core/training/single_task.h"

namespace mercer::lp_mkl {
namespace {

constexpr uint64_t kJointStateVersion = 1;
constexpr double kJointSliceOperations = 4e8;  // bound by memory, about 0.2 s
constexpr double kPassesPerIteration = 8;      // over n x m numbers

SmoMklOptions SolverOptions(const LpMklOptions& options, double relative_gap) {
  return {.p = options.p, .relative_gap = relative_gap};
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

}  // namespace

ByteCount JointSolverBytes(const LpMklOptions& options, const ProblemShape& shape) {
  return SmoMklSolver::Bytes(shape.rows, shape.kernels, SolverOptions(options, shape.relative_gap));
}

absl::Status JointLpMklLearner::Start(const TrainingProblem& problem, const WarmStart* warm_start) {
  MERCER_ASSIGN_OR_RETURN(std::unique_ptr<Loss> loss, MakeChosenLoss(options_, problem.kind));
  MERCER_ASSIGN_OR_RETURN(SvmTask task, ReadSvmTask(problem, std::move(loss), options_.C));
  problem_ = &problem;
  svm_ = {std::move(task.loss), std::move(task.targets), std::move(task.costs)};
  start_ = CarriedDual(problem, warm_start);
  goal_ = problem.relative_gap;
  kernels_ = {};
  solver_ = nullptr;
  saved_ = Serialize();
  return absl::OkStatus();
}

std::unique_ptr<SmoMklSolver> JointLpMklLearner::MakeSolver() const {
  return std::make_unique<SmoMklSolver>(*kernels_.family, SolverOptions(options_, goal_));
}

absl::Status JointLpMklLearner::Prepare(RunContext& context) {
  if (kernels_.family == nullptr) {
    MERCER_ASSIGN_OR_RETURN(kernels_, MakeLpMklKernels(options_, *problem_, context));
  }
  if (solver_ == nullptr) {
    std::unique_ptr<SmoMklSolver> solver = MakeSolver();
    MERCER_RETURN_IF_ERROR(solver->Start(svm_, start_, context));
    solver_ = std::move(solver);
  }
  return absl::OkStatus();
}

int64_t JointLpMklLearner::SliceIterations() const {
  const double numbers =
      static_cast<double>(svm_.targets.size()) * static_cast<double>(problem_->kernels.size());
  return std::max<int64_t>(
      1, static_cast<int64_t>(kJointSliceOperations / (kPassesPerIteration * numbers)));
}

absl::StatusOr<StepReport> JointLpMklLearner::Step(RunContext& context) {
  MERCER_RETURN_IF_ERROR(Prepare(context));
  const bool reached = solver_->stop() == SmoMklStop::kRelativeGap;
  if (reached && !ReasonOf(*solver_).has_value()) {  // the run goes on
    goal_ = 0.3 * std::clamp(solver_->best().certificate.RelativeGap(), 0.0, goal_);
    solver_->set_relative_gap(goal_);
  }
  // A step goes on to the end of its slice, also of one that a step before was cut short in, so
  // that slices do not depend on interruptions.
  const int64_t slice = SliceIterations();
  MERCER_RETURN_IF_ERROR(solver_->Step(slice - solver_->iterations() % slice, context));
  saved_ = Serialize();
  return Report();
}

StepReport JointLpMklLearner::Report() const {
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

absl::StatusOr<TrainedPoint> JointLpMklLearner::CurrentModel(RunContext& context) const {
  if (solver_ == nullptr || !std::isfinite(solver_->best().certificate.primal)) {
    return absl::FailedPreconditionError("no point has been certified yet");
  }
  const SmoMklPoint& best = solver_->best();
  return MakeLpMklPoint(kernels_, *problem_, {best.weights, best.dual, best.certificate.bias},
                        context);
}

absl::StatusOr<TrainedPoint> JointLpMklLearner::ConstantModel(RunContext& context) {
  return MakeConstantLpMklPoint(*problem_, {*svm_.loss, svm_.targets, svm_.costs}, options_.p,
                                context);
}

std::string JointLpMklLearner::Serialize() const {
  ByteWriter writer;
  writer.WriteUint64(kJointStateVersion);
  writer.WriteVector(start_);
  writer.WriteDouble(goal_);
  writer.WriteBool(solver_ != nullptr);
  writer.WriteString(solver_ != nullptr ? solver_->SaveState() : std::string());
  return std::move(writer).Take();
}

absl::Status JointLpMklLearner::RestoreState(const TrainingProblem& problem, std::string_view state,
                                             RunContext& context) {
  const absl::Status damaged = absl::DataLossError("not a state of lp_mkl for this problem");
  MERCER_RETURN_IF_ERROR(Start(problem, nullptr));
  ByteReader reader(state);
  const bool known = reader.ReadUint64() == kJointStateVersion;
  start_ = reader.ReadVector();
  goal_ = reader.ReadDouble();
  const bool started = reader.ReadBool();
  const std::string of_solver = reader.ReadString();
  const bool fits = start_.size() == 0 || start_.size() == svm_.targets.size();
  if (!known || !reader.AtEnd() || !fits || !(goal_ >= 0) || (!started && !of_solver.empty())) {
    return damaged;
  }
  if (started) {
    MERCER_ASSIGN_OR_RETURN(kernels_, MakeLpMklKernels(options_, *problem_, context));
    std::unique_ptr<SmoMklSolver> solver = MakeSolver();
    const absl::Status restored = solver->RestoreState(svm_, of_solver, context);
    if (!restored.ok()) {
      return absl::IsInvalidArgument(restored) ? damaged : restored;
    }
    solver_ = std::move(solver);
  }
  saved_ = std::string(state);
  return absl::OkStatus();
}

}  // namespace mercer::lp_mkl
