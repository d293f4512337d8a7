#include "core/training/run/run_training.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"

#include "core/base/encoding/bytes.h"
#include "core/base/encoding/saved_fields.h"
#include "core/base/memory/scratch_space.h"
#include "core/base/process/row_vectors.h"
#include "core/base/status/status_macros.h"
#include "core/training/contract/target_unit.h"
#include "core/training/run/no_model.h"
#include "core/training/run/verification.h"

namespace mercer {
namespace {

// An objective below this share of the squared targets is 0: it consists of the squared rounding
// errors of targets.
constexpr double kRoundingOfZero = 1e-26;

// What the loop itself must remember over an interruption.
struct LoopState {
  int64_t iterations = 0;
  double target = 0;  // accuracy at which the learner's result is verified
  int64_t tightenings = 0;
  double fraction = 0;
  std::optional<StepReport> last;  // of the last whole step

  static void VisitFields(auto& visit, auto& self) {
    visit(self.iterations, self.target, self.tightenings, self.fraction,
          Nested(self.last, NoSizes()));
  }
};

class TrainingLoop {
 public:
  TrainingLoop(const LearnerEntry& entry, const OptionValues& options, Learner& learner,
               const TrainingProblem& problem, const RunLimits& limits, const SteadyClock& clock,
               RunObserver& observer)
      : entry_(entry),
        options_(options),
        learner_(learner),
        problem_(problem),
        limits_(limits),
        observer_(observer),
        interruption_(
            clock.Monotonic() + limits.max_time, [&observer] { return observer.StopRequested(); },
            clock) {
    loop_.target = limits.relative_gap;
  }

  absl::Status Begin(std::string_view state, const WarmStart* warm_start, RunContext& context) {
    if (state.empty()) {
      return learner_.Start(problem_, warm_start);
    }
    ByteReader reader(state);
    ReadFields(reader, loop_);
    begun_iterations_ = loop_.iterations;
    decide_again_ = loop_.last.has_value();
    const std::string learner_state = reader.ReadString();
    if (!reader.AtEnd()) {
      return absl::DataLossError("not the state of a training run");
    }
    return learner_.RestoreState(problem_, learner_state, context);
  }

  absl::StatusOr<TrainingOutcome> Run(RunContext& context) {
    for (;;) {
      bool interrupted = false;
      absl::StatusOr<StepReport> report = Step(context, &interrupted);
      if (interrupted) {
        return ConcludeInterrupted(context);
      }
      MERCER_RETURN_IF_ERROR(report.status());
      const std::optional<StopReason> reason = WhyStop(*report);
      if (!reason.has_value()) {
        Checkpoint();
        continue;
      }
      MERCER_ASSIGN_OR_RETURN(TrainedPoint point, CurrentModel(*reason, context));
      MERCER_ASSIGN_OR_RETURN(TrainingOutcome outcome,
                              Conclude(std::move(point), *reason, context));
      const bool go_on = *reason == StopReason::kConverged && !report->stop.has_value() &&
                         outcome.stop_reason != StopReason::kConverged &&
                         loop_.tightenings < kMaxTightenings;
      if (!go_on) {
        return outcome;
      }
      Tighten(report->accuracy, VerifiedAccuracy(outcome.certificate));
    }
  }

  // Saves the state after a cancellation that came behind the last step, so that what this led to
  // is not lost.
  void CheckpointIfUnsaved() {
    if (saved_iterations_ != loop_.iterations) {
      Checkpoint();
    }
  }

  // Saves the state after an error of the disk, and after a stop, which is kept even if the process
  // dies before the model is stored. A state that is no further than the one begun with is not
  // saved: those who count tries in vain since the last checkpoint would never come to an end.
  void CheckpointProgress() {
    if (loop_.iterations > std::max(begun_iterations_, saved_iterations_) &&
        observer_.WantsLastCheckpoint()) {
      SaveState();
    }
  }

 private:
  // `interrupted` says that stop or deadline cut the step short, and not cancellation or an error.
  absl::StatusOr<StepReport> Step(RunContext& context, bool* interrupted) {
    absl::Status status = context.CheckCancelled();
    if (status.ok() && std::exchange(decide_again_, false)) {
      return *loop_.last;
    }
    if (status.ok()) {
      const InterruptibleScope scope(context, interruption_);
      context.set_stage_callback(
          [this](std::string_view stage, std::optional<double> done) { TellStage(stage, done); });
      absl::StatusOr<StepReport> report = learner_.Step(context, loop_.target);
      context.set_stage_callback(nullptr);
      if (report.ok()) {
        loop_.iterations += report->steps;
        const double fraction =
            std::isnan(report->fraction) ? 0.0 : std::min(report->fraction, 1.0);
        loop_.fraction = std::max(loop_.fraction, fraction);
        report->fraction = loop_.fraction;
        loop_.last = *report;
        StepReport shown = *report;
        ToUserUnit(problem_.unit, shown);
        observer_.OnProgress({loop_.iterations, shown, "train"});
        return report;
      }
      status = report.status();
      *interrupted = absl::IsCancelled(status) && context.interrupted();
    }
    if (absl::IsCancelled(status) && !*interrupted) {
      Checkpoint();  // a cancelled step has left the state of the step before it
    }
    return status;
  }

  void TellStage(std::string_view stage, std::optional<double> done) const {
    StepReport report = loop_.last.value_or(StepReport());
    report.stage = stage;
    if (done.has_value()) {
      report.stage_fraction = std::clamp(*done, 0.0, 1.0);
    }
    report.fraction = loop_.fraction;
    ToUserUnit(problem_.unit, report);
    observer_.OnStage({loop_.iterations, report, "train"});
  }

  // Ends a run whose step was cut short. The learner's point may be newer than that of its last
  // whole step, or there is none yet.
  absl::StatusOr<TrainingOutcome> ConcludeInterrupted(RunContext& context) {
    const StopReason reason = StopReasonOf(interruption_);
    MERCER_ASSIGN_OR_RETURN(TrainedPoint point, CurrentModel(reason, context));
    return Conclude(std::move(point), reason, context);
  }

  // The learner's model at the end of the run, which ends for that reason.
  absl::StatusOr<TrainedPoint> CurrentModel(StopReason reason, RunContext& context) {
    if (reason == StopReason::kStopRequested) {
      CheckpointProgress();  // while the model does not take memory beside the state
    }
    absl::StatusOr<TrainedPoint> point = learner_.CurrentModel(context);
    if (absl::IsFailedPrecondition(point.status()) && limits_.constant_if_none) {
      point = learner_.ConstantModel(context);
    }
    if (absl::IsFailedPrecondition(point.status())) {
      return NoModelError(reason);
    }
    return point;
  }

  void Checkpoint() {
    if (observer_.WantsCheckpoint()) {
      SaveState();
    }
  }

  void SaveState() {
    ByteWriter writer;
    WriteFields(loop_, writer);
    writer.WriteString(learner_.SaveState());
    saved_iterations_ = loop_.iterations;
    observer_.OnCheckpoint(std::move(writer).Take());
  }

  std::optional<StopReason> WhyStop(const StepReport& report) {
    if (report.stop.has_value()) {
      return report.stop;
    }
    if (report.has_model && report.accuracy <= loop_.target) {
      return StopReason::kConverged;
    }
    if (interruption_.requested()) {
      return StopReasonOf(interruption_);
    }
    if (loop_.iterations >= limits_.max_iterations) {
      return StopReason::kIterationLimit;
    }
    return std::nullopt;
  }

  // The verified accuracy: the worse of that of the sums over the outputs and that of the worst
  // output.
  static double VerifiedAccuracy(const Certificate& certificate) {
    return std::max(certificate.accuracy, certificate.worst_accuracy);
  }

  // Bounds that cross by more than rounding prove a mistake of ours, never a good model.
  bool Contradicts(const Certificate& certificate) const {
    const double size = std::max(std::abs(certificate.primal), std::abs(certificate.dual));
    return certificate.kind == CertificateKind::kGap &&
           certificate.dual - certificate.primal > 1e-9 * size + 1e-12 * SquaredUnit();
  }
  // The factor between objectives in the user's unit and in the learner's.
  double SquaredUnit() const { return problem_.unit.deviation * problem_.unit.deviation; }

  absl::StatusOr<TrainingOutcome> Conclude(TrainedPoint point, StopReason reason,
                                           RunContext& context) {
    TrainingOutcome outcome;
    outcome.point = std::move(point);
    ToUserUnit(problem_.unit, outcome.point);
    if (!verifying_) {
      verifying_ = true;
      observer_.OnVerifying();
    }
    absl::StatusOr<VerifiedFunction> verified =
        VerifyFunction(entry_, options_, problem_, outcome.point.function, outcome.point.witness,
                       context, limits_.parts_at_once);
    if (absl::IsFailedPrecondition(verified.status()) && !IsDiskError(verified.status())) {
      return absl::InternalError(
          absl::StrCat("the learner's own result is refused: ", verified.status().message()));
    }
    MERCER_RETURN_IF_ERROR(verified.status());
    outcome.certificate = std::move(verified->certificate);
    outcome.metrics = std::move(verified->metrics);
    AddLimit(outcome);
    if (Contradicts(outcome.certificate)) {
      return absl::InternalError(absl::StrCat("the verified dual value ", outcome.certificate.dual,
                                              " is above the primal value ",
                                              outcome.certificate.primal));
    }
    outcome.iterations = loop_.iterations;
    outcome.stop_reason = HonestReason(reason, outcome.certificate);
    return outcome;
  }

  void AddLimit(TrainingOutcome& outcome) const {
    if (outcome.point.limit_reached.has_value()) {
      const Metric& limit = *outcome.point.limit_reached;
      outcome.metrics.push_back({absl::StrCat(kLimitPrefix, limit.name), limit.value});
    }
  }

  // The reason as the certificate sees it: kConverged and kObjectiveZero are what the certificate
  // says, not what the learner says.
  StopReason HonestReason(StopReason reason, const Certificate& certificate) const {
    if (certificate.kind == CertificateKind::kNone || reason == StopReason::kStopRequested) {
      return reason;
    }
    if (reason == StopReason::kObjectiveZero && IsZeroOrConverged(certificate)) {
      return reason;
    }
    if (VerifiedAccuracy(certificate) <= limits_.relative_gap) {
      return StopReason::kConverged;
    }
    const bool claim = reason == StopReason::kConverged || reason == StopReason::kObjectiveZero;
    return claim ? StopReason::kNumericalLimit : reason;
  }

  // Whether some output's objective is zero, and that of every other is zero or within the gap that
  // was asked for.
  bool IsZeroOrConverged(const Certificate& certificate) const {
    if (certificate.outputs.empty()) {
      return IsZero(certificate.primal, 0);
    }
    bool some_zero = false;
    for (size_t o = 0; o < certificate.outputs.size(); ++o) {
      const auto [primal, dual] = certificate.outputs[o];
      const bool zero = IsZero(primal, static_cast<Index>(o));
      if (!zero && !(RelativeGap(primal, dual) <= limits_.relative_gap)) {
        return false;
      }
      some_zero = some_zero || zero;
    }
    return some_zero;
  }

  // Whether an objective is zero: at the floor of a relative gap, or what rounding leaves of
  // targets that a bias alone fits.
  bool IsZero(double primal, Index output) const {
    double of_targets = 0;
    for (const TaskData& task :
         problem_.tasks) {  // several are one output each, certified together
      const Eigen::ArrayXd size = task.targets.col(output).array().abs();
      const Vector of_rows = size * (1.0 + size);
      of_targets += DotOfRows(task.costs, of_rows);
    }
    return primal <= SquaredUnit() * std::max(1e-300, kRoundingOfZero * of_targets);
  }

  void Tighten(double reported, double verified) {
    const double excess = std::isfinite(verified) ? limits_.relative_gap / verified : 0;
    const double from = reported > 0 ? std::min(reported, loop_.target) : loop_.target;
    loop_.target = from * std::clamp(excess / 2, 0.01, 0.5);
    ++loop_.tightenings;
  }

  const LearnerEntry& entry_;
  const OptionValues& options_;
  Learner& learner_;
  const TrainingProblem& problem_;
  const RunLimits& limits_;
  RunObserver& observer_;
  const Interruption interruption_;
  LoopState loop_;
  // A restored run may have been cut between a step and what follows from it, the verification
  // above all: it decides again what that is before it steps.
  bool decide_again_ = false;
  int64_t begun_iterations_ = 0;   // of the state begun with
  int64_t saved_iterations_ = -1;  // of the last checkpoint
  bool verifying_ = false;
};

}  // namespace

absl::StatusOr<TrainingOutcome> RunTraining(const LearnerEntry& entry, const OptionValues& options,
                                            Learner& learner, const TrainingProblem& problem,
                                            const RunLimits& limits, std::string_view state,
                                            RunContext& context, RunObserver& observer,
                                            const WarmStart* warm_start) {
  TrainingLoop loop(entry, options, learner, problem, limits, context.clock(), observer);
  MERCER_RETURN_IF_ERROR(loop.Begin(state, warm_start, context));
  absl::StatusOr<TrainingOutcome> outcome = loop.Run(context);
  if (absl::IsCancelled(outcome.status())) {
    loop.CheckpointIfUnsaved();
  } else if (IsDiskError(outcome.status())) {
    loop.CheckpointProgress();
  }
  return outcome;
}

}  // namespace mercer
