#include "core/learners/svm/svm.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/base/bytes.h"
#include "core/base/status_macros.h"
#include "core/training/single_task.h"

namespace mercer::svm {
namespace {

constexpr uint64_t kStateVersion = 1;
constexpr double kSliceEntries = 4e8;  // kernel entries read per step, about 0.2 s
constexpr int64_t kMinSlice = 100;     // iterations
// The solver's next goal as a share of its gap, when its function missed the one asked for.
constexpr double kGoOnFactor = 0.2;
constexpr double kLeastGoal = 1e-16;

StopReason ReasonOf(SmoStop stop) {
  return stop == SmoStop::kIterationLimit ? StopReason::kIterationLimit
                                          : StopReason::kNumericalLimit;
}

}  // namespace

absl::Status SvmLearner::Start(const TrainingProblem& problem, const WarmStart* warm_start) {
  MERCER_ASSIGN_OR_RETURN(SvmTask task, ReadSvmTask(problem, options_.C, options_.epsilon));
  problem_ = &problem;
  svm_ = {std::move(task.loss), std::move(task.targets), std::move(task.costs)};
  state_ = {};
  state_.goal = problem.relative_gap;
  state_.first_dual = CarriedDual(problem, warm_start);
  solver_ = nullptr;
  kernel_ = nullptr;
  family_ = nullptr;
  interrupted_ = false;
  saved_ = Serialize();
  return absl::OkStatus();
}

absl::StatusOr<StepReport> SvmLearner::Step(RunContext& context) {
  if (interrupted_) {
    MERCER_RETURN_IF_ERROR(Deserialize(saved_, context));
  }
  interrupted_ = true;
  MERCER_RETURN_IF_ERROR(Prepare(context));
  if (!state_.stop.has_value()) {
    MERCER_RETURN_IF_ERROR(Advance(context));
  }
  interrupted_ = false;
  saved_ = Serialize();
  return Report();
}

// The kernels are a function of the problem alone, so they are no part of the state.
absl::Status SvmLearner::Prepare(RunContext& context) {
  if (kernel_ != nullptr) {
    return absl::OkStatus();
  }
  const TaskData& task = problem_->tasks[0];
  if (family_ == nullptr) {
    context.ReportStage("kernels");
    MERCER_ASSIGN_OR_RETURN(
        family_, MakeExactKernelFamily(task.inputs, task.rows, problem_->kernels, context));
  }
  MERCER_ASSIGN_OR_RETURN(kernel_, family_->Combine(Vector::Ones(family_->num_kernels()), context));
  return absl::OkStatus();
}

absl::Status SvmLearner::Advance(RunContext& context) {
  if (!state_.begun) {
    SmoOptions options;
    options.relative_gap = state_.goal;
    solver_ = std::make_unique<SmoSolver>(*kernel_, options);
    MERCER_RETURN_IF_ERROR(solver_->Start(svm_, {.dual = state_.first_dual}, context));
    state_.first_dual = Vector();
    state_.begun = true;
  } else if (solver_->done()) {
    MERCER_RETURN_IF_ERROR(GoOn(context));
  }
  MERCER_RETURN_IF_ERROR(solver_->Step(SliceIterations(), context));
  if (solver_->not_psd()) {
    return NotPsdError(*problem_);
  }
  state_.primal = std::min(state_.primal, solver_->certificate().unscaled_primal);
  state_.dual = std::max(state_.dual, solver_->certificate().dual);
  if (state_.primal <= 1e-300) {
    state_.stop = StopReason::kObjectiveZero;
  } else if (solver_->done() &&
             (solver_->stop() != SmoStop::kRelativeGap || state_.goal < kLeastGoal)) {
    state_.stop = ReasonOf(solver_->stop());
  }
  return absl::OkStatus();
}

// The solver has reached its goal, and more is wanted.
absl::Status SvmLearner::GoOn(RunContext& context) {
  state_.iterations += solver_->iterations();
  state_.goal *= kGoOnFactor;
  solver_->set_relative_gap(state_.goal);
  const Vector dual = solver_->dual();
  const Vector scores = solver_->scores();
  return solver_->Start(svm_, {.dual = dual, .scores = scores}, context);
}

int64_t SvmLearner::SliceIterations() const {
  if (slice_iterations_ > 0) {
    return slice_iterations_;
  }
  // A slice has as many iterations as make about 0.2 s: each reads two columns and two vectors.
  return std::max(kMinSlice, static_cast<int64_t>(
                                 kSliceEntries / (4.0 * static_cast<double>(svm_.targets.size()))));
}

// The relative gap of the function as it stands, without the multiples that the solver's
// certificate may take.
double SvmLearner::Accuracy() const {
  return RelativeGap(solver_->certificate().unscaled_primal, solver_->certificate().dual);
}

StepReport SvmLearner::Report() const {
  StepReport report;
  report.stage = "solve";
  report.primal = state_.primal;
  report.dual = state_.dual;
  report.accuracy = Accuracy();
  report.fraction = FractionOfGap(report.accuracy, problem_->relative_gap);
  report.active_kernels = family_->num_kernels();
  report.support_vectors = (solver_->dual().array() != 0).count();
  report.inner_iterations = state_.iterations + solver_->iterations();
  report.has_model = true;
  report.stop = state_.stop;
  return report;
}

absl::StatusOr<TrainedPoint> SvmLearner::CurrentModel(RunContext& context) const {
  if (solver_ == nullptr || solver_->dual().size() == 0) {
    return absl::FailedPreconditionError("the run has not begun");
  }
  const Vector& dual = solver_->dual();
  double bias = solver_->certificate().bias.chosen;
  if (!solver_->done()) {
    Matrix scores(dual.size(), 1);
    MERCER_RETURN_IF_ERROR(kernel_->Apply(dual, scores, context));
    MERCER_ASSIGN_OR_RETURN(const BiasInterval minimisers,
                            svm_.loss->ExactBias(svm_.targets, svm_.costs, scores.col(0), context));
    bias = minimisers.chosen;
  }
  return MakeKernelSumPoint(*problem_, family_->scales(), dual, bias);
}

absl::StatusOr<TrainedPoint> SvmLearner::ConstantModel(RunContext& context) {
  const Vector zeros = Vector::Zero(svm_.targets.size());
  MERCER_ASSIGN_OR_RETURN(const BiasInterval bias,
                          svm_.loss->ExactBias(svm_.targets, svm_.costs, zeros, context));
  const Vector ones = Vector::Ones(static_cast<Index>(problem_->kernels.size()));
  return MakeConstantPoint(*problem_, ones, bias.chosen);
}

std::string SvmLearner::Serialize() const {
  ByteWriter writer;
  writer.WriteUint64(kStateVersion);
  writer.WriteBool(state_.begun);
  writer.WriteVector(state_.first_dual);
  writer.WriteDouble(state_.goal);
  writer.WriteInt64(state_.iterations);
  writer.WriteDouble(state_.primal);
  writer.WriteDouble(state_.dual);
  writer.WriteBool(state_.stop.has_value());
  writer.WriteUint8(static_cast<uint8_t>(state_.stop.value_or(StopReason::kConverged)));
  writer.WriteString(state_.begun ? solver_->SaveState() : std::string());
  return std::move(writer).Take();
}

absl::Status SvmLearner::Deserialize(std::string_view bytes, RunContext& context) {
  ByteReader reader(bytes);
  State state;
  const bool known = reader.ReadUint64() == kStateVersion;
  state.begun = reader.ReadBool();
  state.first_dual = reader.ReadVector();
  state.goal = reader.ReadDouble();
  state.iterations = reader.ReadInt64();
  state.primal = reader.ReadDouble();
  state.dual = reader.ReadDouble();
  const bool stopped = reader.ReadBool();
  const uint8_t reason = reader.ReadUint8();
  const std::string solver_state = reader.ReadString();
  const Index carried = state.first_dual.size();
  if (!reader.AtEnd() || !known || (carried != 0 && carried != svm_.targets.size()) ||
      reason > static_cast<uint8_t>(StopReason::kObjectiveZero) || (stopped && !state.begun)) {
    return absl::DataLossError("not a state of svm for this problem");
  }
  if (stopped) {
    state.stop = static_cast<StopReason>(reason);
  }
  state_ = std::move(state);
  MERCER_RETURN_IF_ERROR(Prepare(context));
  solver_ = nullptr;
  if (!state_.begun) {
    return absl::OkStatus();
  }
  SmoOptions options;
  options.relative_gap = state_.goal;
  solver_ = std::make_unique<SmoSolver>(*kernel_, options);
  const absl::Status restored = solver_->RestoreState(svm_, solver_state);
  return restored.ok() || absl::IsCancelled(restored)
             ? restored
             : absl::DataLossError("not a state of svm for this problem");
}

absl::Status SvmLearner::RestoreState(const TrainingProblem& problem, std::string_view state,
                                      RunContext& context) {
  MERCER_RETURN_IF_ERROR(Start(problem, nullptr));
  interrupted_ = true;  // a restore that is cut short is no state to go on from
  MERCER_RETURN_IF_ERROR(Deserialize(state, context));
  interrupted_ = false;
  saved_ = std::string(state);
  return absl::OkStatus();
}

}  // namespace mercer::svm
