#include "core/training/run/run_training.h"

#include <gtest/gtest.h>

#include "core/base/status/errors.h"
#include "core/training/run/verification.h"
#include "tests/core/training/scripted_learner.h"

namespace mercer {
namespace {

class RunTrainingTest : public ::testing::Test {
 protected:
  absl::StatusOr<TrainingOutcome> Run(const Script& script, std::string_view state = {}) {
    const LearnerEntry entry = ScriptedEntry(script);
    ScriptedLearner learner(script);
    RunContext context(token_, 1, nullptr);
    return RunTraining(entry, {}, learner, problem_, limits_, state, context, observer_);
  }

  const TrainingProblem problem_ = ToyProblem(TargetKind::kRegression, 4, 1, {1.0});
  RunLimits limits_;  // relative gap 1e-3: ten halvings
  CancellationToken token_;
  RecordingObserver observer_;
};

TEST_F(RunTrainingTest, EndsWhenTheVerifiedAccuracyIsReached) {
  const absl::StatusOr<TrainingOutcome> outcome = Run({});
  ASSERT_TRUE(outcome.ok()) << outcome.status();
  EXPECT_EQ(outcome->stop_reason, StopReason::kConverged);
  EXPECT_EQ(outcome->iterations, 10);
  EXPECT_DOUBLE_EQ(outcome->certificate.accuracy, 1.0 / 1024);
  ASSERT_EQ(observer_.events.size(), 10u);
  EXPECT_EQ(observer_.events.back().iteration, 10);
  EXPECT_EQ(observer_.verifications, 1);
}

TEST_F(RunTrainingTest, FractionNeverDecreases) {
  ASSERT_TRUE(Run({}).ok());
  for (size_t i = 1; i < observer_.events.size(); ++i) {
    EXPECT_GE(observer_.events[i].report.fraction, observer_.events[i - 1].report.fraction)
        << "event " << i;
  }
}

TEST_F(RunTrainingTest, StagesWithinStepsAreToldWithTheReportOfTheLastStep) {
  ASSERT_TRUE(Run({.stages = {"landmarks", "factor"}}).ok());
  ASSERT_EQ(observer_.events.size(), 10u) << "stages are no steps";
  ASSERT_EQ(observer_.stages.size(), 20u);
  for (size_t i = 0; i < observer_.stages.size(); ++i) {
    const ProgressEvent& told = observer_.stages[i];
    EXPECT_EQ(told.report.stage, i % 2 == 0 ? "landmarks" : "factor");
    EXPECT_EQ(told.report.stage_fraction, 0.25);
    EXPECT_EQ(told.iteration, static_cast<int64_t>(i / 2));
    EXPECT_EQ(told.report.has_model, i >= 2);
    if (i >= 2) {
      const StepReport& last = observer_.events[i / 2 - 1].report;
      EXPECT_EQ(told.report.primal, last.primal);
      EXPECT_EQ(told.report.fraction, last.fraction);
    }
  }
}

TEST_F(RunTrainingTest, WholeStepsSayNothingOfTheShareOfAStage) {
  ASSERT_TRUE(Run({.stages = {"factor"}}).ok());
  for (const ProgressEvent& event : observer_.events) {
    EXPECT_FALSE(event.report.stage_fraction.has_value());
  }
}

TEST_F(RunTrainingTest, GoesOnWhenTheLearnerClaimedTooMuch) {
  const absl::StatusOr<TrainingOutcome> outcome = Run({.verified_factor = 3});
  ASSERT_TRUE(outcome.ok()) << outcome.status();
  EXPECT_EQ(outcome->stop_reason, StopReason::kConverged);
  EXPECT_LE(outcome->certificate.accuracy, limits_.relative_gap);
  EXPECT_GT(outcome->iterations, 10);
  EXPECT_EQ(observer_.verifications, 1);
}

TEST_F(RunTrainingTest, SaysSoWhenNoTargetIsTightEnough) {
  const absl::StatusOr<TrainingOutcome> outcome = Run({.verified_factor = 1e300});
  ASSERT_TRUE(outcome.ok()) << outcome.status();
  EXPECT_EQ(outcome->stop_reason, StopReason::kNumericalLimit);
  EXPECT_GT(outcome->certificate.accuracy, limits_.relative_gap);
  EXPECT_LT(outcome->iterations, 60);
}

TEST_F(RunTrainingTest, LearnersClaimOfConvergenceIsNotBelieved) {
  const absl::StatusOr<TrainingOutcome> outcome =
      Run({.stop_at = 3, .stop = StopReason::kConverged});
  ASSERT_TRUE(outcome.ok()) << outcome.status();
  EXPECT_EQ(outcome->stop_reason, StopReason::kNumericalLimit);
  EXPECT_EQ(outcome->iterations, 3);
}

TEST_F(RunTrainingTest, LearnersOwnReasonsEndTheRun) {
  const absl::StatusOr<TrainingOutcome> zero =
      Run({.stop_at = 4, .stop = StopReason::kObjectiveZero, .verified_primal = 0});
  ASSERT_TRUE(zero.ok()) << zero.status();
  EXPECT_EQ(zero->stop_reason, StopReason::kObjectiveZero);
}

TEST_F(RunTrainingTest, LearnersClaimOfAnObjectiveOfZeroIsNotBelieved) {
  for (const double primal : {1.0, 1e-9, 1e-200}) {
    const absl::StatusOr<TrainingOutcome> outcome =
        Run({.stop_at = 4, .stop = StopReason::kObjectiveZero, .verified_primal = primal});
    ASSERT_TRUE(outcome.ok()) << outcome.status();
    const bool within_rounding = primal < 1e-100;  // of the targets, which are of size 1
    EXPECT_EQ(outcome->stop_reason,
              within_rounding ? StopReason::kObjectiveZero : StopReason::kNumericalLimit)
        << primal;
  }
}

TEST_F(RunTrainingTest, ModelThatIsNotTheFunctionOfItsWitnessIsRefused) {
  const absl::Status status = Run({.model_bias = 1e-6}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInternal) << status;
}

TEST_F(RunTrainingTest, ReasonIsConvergedWhenTheCertificateSaysSo) {
  const absl::StatusOr<TrainingOutcome> lucky = Run({.verified_factor = 0, .stop_at = 4});
  ASSERT_TRUE(lucky.ok()) << lucky.status();
  EXPECT_EQ(lucky->stop_reason, StopReason::kConverged);
}

TEST_F(RunTrainingTest, IterationLimitKeepsTheBestModelSoFar) {
  limits_.max_iterations = 5;
  const absl::StatusOr<TrainingOutcome> outcome = Run({});
  ASSERT_TRUE(outcome.ok()) << outcome.status();
  EXPECT_EQ(outcome->stop_reason, StopReason::kIterationLimit);
  EXPECT_EQ(outcome->iterations, 5);
  EXPECT_DOUBLE_EQ(outcome->certificate.accuracy, 1.0 / 32);
}

TEST_F(RunTrainingTest, TimeLimitKeepsTheBestModelSoFar) {
  limits_.max_time = absl::Nanoseconds(1);
  const absl::StatusOr<TrainingOutcome> outcome = Run({.knows_deadlines = false});
  ASSERT_TRUE(outcome.ok()) << outcome.status();
  EXPECT_EQ(outcome->stop_reason, StopReason::kTimeLimit);
  EXPECT_EQ(outcome->iterations, 1);
}

TEST_F(RunTrainingTest, StopWithinAStepKeepsTheModelOfTheStepBefore) {
  Script script;
  script.during_step = [&](int step) { observer_.stop_now = step == 4; };
  const absl::StatusOr<TrainingOutcome> outcome = Run(script);
  ASSERT_TRUE(outcome.ok()) << outcome.status();
  EXPECT_EQ(outcome->stop_reason, StopReason::kStopRequested);
  EXPECT_EQ(outcome->iterations, 3);
  EXPECT_DOUBLE_EQ(outcome->certificate.accuracy, 1.0 / 8);
  EXPECT_EQ(observer_.verifications, 1);
}

TEST_F(RunTrainingTest, TimeLimitWithinTheFirstStepKeepsThePointThatThereIs) {
  limits_.max_time = absl::Nanoseconds(1);
  const absl::StatusOr<TrainingOutcome> outcome = Run({.model_within = 1});
  ASSERT_TRUE(outcome.ok()) << outcome.status();
  EXPECT_EQ(outcome->stop_reason, StopReason::kTimeLimit);
  EXPECT_EQ(outcome->iterations, 0);
}

TEST_F(RunTrainingTest, TimeLimitBeforeThereIsAPointIsAnErrorThatSaysSo) {
  limits_.max_time = absl::Nanoseconds(1);
  const absl::Status status = Run({}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(GetReason(status), "NO_MODEL");
  EXPECT_NE(status.message().find("TIME_LIMIT"), std::string::npos) << status;
}

TEST_F(RunTrainingTest, CancellationOutranksAStop) {
  Script script;
  script.during_step = [&](int step) {
    observer_.stop_now = step == 4;
    if (step == 4) {
      token_.Cancel();
      observer_.wants_checkpoints = true;
    }
  };
  EXPECT_EQ(Run(script).status().code(), absl::StatusCode::kCancelled);
  EXPECT_EQ(observer_.checkpoints.size(), 1u);
}

TEST_F(RunTrainingTest, WishThatIsWithdrawnHasEndedTheStepAllTheSame) {
  Script script;
  int asked = 0;
  observer_.stop_when_asked = [&] { return ++asked == 3; };  // true once, within the second step
  const absl::StatusOr<TrainingOutcome> outcome = Run(script);
  ASSERT_TRUE(outcome.ok()) << outcome.status();
  EXPECT_EQ(outcome->stop_reason, StopReason::kStopRequested);
  EXPECT_EQ(outcome->iterations, 1);
}

TEST_F(RunTrainingTest, StopRequestKeepsTheBestModelSoFar) {
  observer_.stop_after = 6;
  const absl::StatusOr<TrainingOutcome> outcome = Run({});
  ASSERT_TRUE(outcome.ok()) << outcome.status();
  EXPECT_EQ(outcome->stop_reason, StopReason::kStopRequested);
  EXPECT_EQ(outcome->iterations, 6);
}

TEST_F(RunTrainingTest, StopIsCheckpointedBeforeTheVerification) {
  observer_.stop_after = 6;
  observer_.wants_last_checkpoint = true;
  ASSERT_TRUE(Run({}).ok());
  ASSERT_EQ(observer_.checkpoints.size(), 1u);

  const std::string state = observer_.checkpoints[0];
  observer_ = RecordingObserver();
  observer_.stop_now = true;
  observer_.wants_last_checkpoint = true;
  const absl::StatusOr<TrainingOutcome> resumed = Run({}, state);
  ASSERT_TRUE(resumed.ok()) << resumed.status();
  EXPECT_TRUE(observer_.events.empty()) << "no step is taken";
  EXPECT_TRUE(observer_.checkpoints.empty()) << "it has come no further";
  EXPECT_EQ(resumed->iterations, 6);
  EXPECT_EQ(resumed->stop_reason, StopReason::kStopRequested);
}

TEST_F(RunTrainingTest, StopBeforeThereIsAModelIsAnError) {
  observer_.stop_after = 2;
  const absl::Status status = Run({.first_model = 3}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(GetReason(status), "NO_MODEL");
  EXPECT_NE(status.message().find("STOP_REQUESTED"), std::string::npos) << status;
}

TEST_F(RunTrainingTest, CancelledStepIsCheckpointedAsOfTheStepBefore) {
  Script script;
  script.during_step = [&](int step) {
    if (step == 4) {
      token_.Cancel();
      observer_.wants_checkpoints = true;
    }
  };
  EXPECT_EQ(Run(script).status().code(), absl::StatusCode::kCancelled);
  EXPECT_EQ(observer_.events.size(), 3u);
  ASSERT_EQ(observer_.checkpoints.size(), 1u);

  token_ = CancellationToken();
  const std::string state = observer_.checkpoints[0];
  observer_ = RecordingObserver();
  const absl::StatusOr<TrainingOutcome> resumed = Run({}, state);
  ASSERT_TRUE(resumed.ok()) << resumed.status();
  EXPECT_EQ(resumed->iterations, 10);
  EXPECT_EQ(observer_.events.front().iteration, 4);
}

TEST_F(RunTrainingTest, StepsBeforeAnErrorOfTheDiskAreKept) {
  for (const absl::Status& error :
       {WithReason(absl::ResourceExhaustedError("full"), "DISK_FULL"),
        WithReason(absl::FailedPreconditionError("read-only"), "STORAGE_READ_ONLY"),
        WithReason(absl::UnavailableError("no handles"), "TOO_MANY_FILES")}) {
    const Script script{.fails_at = 4, .failure = error};
    observer_ = RecordingObserver();
    observer_.wants_last_checkpoint = true;
    EXPECT_EQ(Run(script).status(), error);
    ASSERT_EQ(observer_.checkpoints.size(), 1u) << error;
    const std::string state = observer_.checkpoints[0];

    observer_ = RecordingObserver();
    observer_.wants_last_checkpoint = true;
    EXPECT_EQ(Run(script, state).status(), error);
    EXPECT_TRUE(observer_.checkpoints.empty()) << "it has come no further";

    observer_ = RecordingObserver();
    const absl::StatusOr<TrainingOutcome> resumed = Run({}, state);
    ASSERT_TRUE(resumed.ok()) << resumed.status();
    EXPECT_EQ(resumed->iterations, 10);
    EXPECT_EQ(observer_.events.front().iteration, 4);
  }
}

TEST_F(RunTrainingTest, StepsBeforeOtherErrorsAreNotKept) {
  observer_.wants_last_checkpoint = true;
  const Script script{.fails_at = 4, .failure = absl::InvalidArgumentError("no such number")};
  EXPECT_EQ(Run(script).status(), script.failure);
  EXPECT_TRUE(observer_.checkpoints.empty());
}

TEST_F(RunTrainingTest, StepsBeforeAVerificationWithoutRoomOnTheDiskAreKept) {
  const Script script;
  const absl::StatusOr<TrainingOutcome> straight = Run(script);
  ASSERT_TRUE(straight.ok()) << straight.status();
  const absl::Status full = WithReason(absl::ResourceExhaustedError("full"), "DISK_FULL");
  LearnerEntry entry = ScriptedEntry(script);
  entry.verify = [&full](const OptionValues&, const TrainingProblem&, const Witness&,
                         RunContext&) -> absl::StatusOr<Verification> { return full; };
  ScriptedLearner learner(script);
  RunContext context;
  observer_ = RecordingObserver();
  observer_.wants_last_checkpoint = true;
  EXPECT_EQ(RunTraining(entry, {}, learner, problem_, limits_, "", context, observer_).status(),
            full);
  ASSERT_EQ(observer_.checkpoints.size(), 1u);

  const std::string state = observer_.checkpoints[0];
  observer_ = RecordingObserver();
  const absl::StatusOr<TrainingOutcome> resumed = Run(script, state);
  ASSERT_TRUE(resumed.ok()) << resumed.status();
  EXPECT_TRUE(observer_.events.empty()) << "no step is taken";
  EXPECT_EQ(resumed->iterations, straight->iterations);
}

TEST_F(RunTrainingTest, CancelledVerificationIsDoneAgainWithoutAnotherStep) {
  for (const int stop_at : {0, 5}) {  // ended by the accuracy, by the learner
    const Script script{.stop_at = stop_at};
    token_ = CancellationToken();
    observer_ = RecordingObserver();
    const absl::StatusOr<TrainingOutcome> straight = Run(script);
    ASSERT_TRUE(straight.ok()) << straight.status();

    LearnerEntry entry = ScriptedEntry(script);
    entry.verify = [this, verify = entry.verify](const OptionValues& options,
                                                 const TrainingProblem& problem,
                                                 const Witness& witness, RunContext& context) {
      token_.Cancel();
      using Verified = decltype(verify(options, problem, witness, context));
      return Verified(absl::CancelledError("in the middle of the verification"));
    };
    ScriptedLearner learner(script);
    RunContext context(token_, 1, nullptr);
    observer_ = RecordingObserver();
    observer_.wants_checkpoints = true;
    const absl::Status cut =
        RunTraining(entry, {}, learner, problem_, limits_, "", context, observer_).status();
    EXPECT_EQ(cut.code(), absl::StatusCode::kCancelled);
    EXPECT_EQ(static_cast<int64_t>(observer_.checkpoints.size()), straight->iterations);

    const std::string state = observer_.checkpoints.back();
    token_ = CancellationToken();
    observer_ = RecordingObserver();
    const absl::StatusOr<TrainingOutcome> resumed = Run(script, state);
    ASSERT_TRUE(resumed.ok()) << resumed.status();
    EXPECT_EQ(observer_.events.size(), 0u) << "no step is taken";
    EXPECT_EQ(observer_.verifications, 1);
    EXPECT_EQ(resumed->iterations, straight->iterations);
    EXPECT_EQ(resumed->stop_reason, straight->stop_reason);
    EXPECT_EQ(resumed->certificate.dual, straight->certificate.dual);
  }
}

TEST_F(RunTrainingTest, EveryCheckpointLeadsToTheSameOutcome) {
  observer_.wants_checkpoints = true;
  const absl::StatusOr<TrainingOutcome> straight = Run({.verified_factor = 3});
  ASSERT_TRUE(straight.ok()) << straight.status();
  const std::vector<std::string> checkpoints = observer_.checkpoints;
  ASSERT_GT(checkpoints.size(), 9u);
  for (size_t i = 0; i < checkpoints.size(); ++i) {
    const absl::StatusOr<TrainingOutcome> resumed = Run({.verified_factor = 3}, checkpoints[i]);
    ASSERT_TRUE(resumed.ok()) << resumed.status() << " from checkpoint " << i;
    EXPECT_EQ(resumed->iterations, straight->iterations) << "from checkpoint " << i;
    EXPECT_EQ(resumed->certificate.dual, straight->certificate.dual) << "from checkpoint " << i;
  }
}

TEST_F(RunTrainingTest, DamagedStateIsDataLoss) {
  observer_.wants_checkpoints = true;
  ASSERT_TRUE(Run({}).ok());
  const std::string state = observer_.checkpoints[0];
  for (size_t length = 1; length < state.size(); ++length) {
    EXPECT_EQ(Run({}, state.substr(0, length)).status().code(), absl::StatusCode::kDataLoss)
        << "cut at " << length;
  }
}

TEST_F(RunTrainingTest, WitnessOfOtherRowsIsRefused) {
  RunContext context;
  Witness witness;
  witness.tasks.push_back({Matrix::Zero(5, 1), Vector::Zero(1)});
  const LearnerEntry entry = ScriptedEntry({});
  EXPECT_EQ(VerifyWitness(entry, {}, problem_, witness, context).status().code(),
            absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(VerifyWitness(entry, {}, problem_, Witness(), context).status().code(),
            absl::StatusCode::kFailedPrecondition);
}

}  // namespace
}  // namespace mercer
