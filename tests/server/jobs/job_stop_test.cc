// StopJob: the best model so far, whatever happens between the request and the end.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/server/jobs/job_harness.h"

namespace mercer::server {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::IsSupersetOf;

class JobStopTest : public JobManagerFixture {
 protected:
  // Submits a job of 40 steps and holds it after `steps`.
  std::string StartAndHold(int64_t steps) {
    StartManager();
    control_.Allow(steps);
    const std::string id = Submit(Steps(40));
    control_.WaitUntilHeldAfter(steps);
    return id;
  }
  // The process dies between the acceptance of a stop and its effect, and the next one ends the job.
  void DieWithAStop(const std::string& id) {
    manager_.reset();
    StopRequest request;
    request.job_id = id;
    request.running = StateEvent(JobState::kRunning, "STOP_REQUESTED");
    ASSERT_TRUE(storage_->jobs().StopJob(request).ok());
    control_.AllowAll();
    CrashAndRestart();
    manager_->WaitUntilIdle();
  }
  // Of a job of 40 steps without a checkpoint, after `steps`.
  std::string StopAsTheProcessDies(int64_t steps) {
    options_.checkpoint_interval = absl::Hours(1);
    const std::string id = StartAndHold(steps);
    DieWithAStop(id);
    return id;
  }
  // The same, with a checkpoint after `saved` steps.
  std::string StopAsTheProcessDiesBehindACheckpoint(int64_t saved, int64_t steps) {
    const std::string id = StartAndHold(saved);
    manager_->Drain();
    options_.checkpoint_interval = absl::Hours(1);
    CloseAll();
    OpenStores();
    StartManager();
    control_.Allow(steps);
    control_.WaitUntilHeldAfter(steps);
    DieWithAStop(id);
    return id;
  }
  Model ModelOf(const std::string& id) {
    const auto bytes = blobs_->Read(Blobs(id).first);
    EXPECT_TRUE(bytes.ok()) << bytes.status();
    const auto model = LoadModel((*bytes)->contents());
    EXPECT_TRUE(model.ok()) << model.status();
    return *model;
  }
  void ExpectStoppedAfter(const std::string& id, int64_t steps) {
    EXPECT_EQ(Job(id).state, JobState::kSucceeded);
    EXPECT_TRUE(Job(id).stop_requested);
    EXPECT_EQ(control_.taken(), steps) << "no step after the stop, none twice";
    EXPECT_EQ(ModelOf(id).stop_reason, StopReason::kStopRequested);
  }
  void ExpectNoModel(const std::string& id) {
    const JobRecord job = Job(id);
    EXPECT_EQ(job.state, JobState::kCancelled);
    ASSERT_TRUE(job.error.has_value());
    EXPECT_EQ(GetReason(DecodeError(*job.error)), "NO_MODEL");
    EXPECT_EQ(Events(id).back().state, JobState::kCancelled);
    EXPECT_EQ(Events(id).back().message, "NO_MODEL");
    EXPECT_EQ(storage_->models().GetModel("model").status().code(), absl::StatusCode::kNotFound);
  }
};

TEST_F(JobStopTest, RunningJobKeepsTheModelSoFar) {
  const std::string id = StartAndHold(7);
  const auto stopped = manager_->Stop(id);
  ASSERT_TRUE(stopped.ok()) << stopped.status();
  EXPECT_EQ(stopped->state, JobState::kRunning);
  EXPECT_TRUE(stopped->stop_requested);
  manager_->WaitUntilIdle();
  ExpectStoppedAfter(id, 7);
  EXPECT_THAT(Reasons(id), ElementsAre(AttemptReason::kSucceeded));
  EXPECT_THAT(Events(id), Contains(Field(&JobEvent::message, "STOP_REQUESTED")));
  EXPECT_EQ(GetReason(manager_->Stop(id).status()), "JOB_IS_FINAL");
  EXPECT_EQ(manager_->Stop("nobody").status().code(), absl::StatusCode::kNotFound);
}

TEST_F(JobStopTest, RunningJobWithoutAModelIsCancelled) {
  control_.model_from = 10;
  const std::string id = StartAndHold(7);
  ASSERT_TRUE(manager_->Stop(id).ok());
  manager_->WaitUntilIdle();
  ExpectNoModel(id);
  EXPECT_THAT(Reasons(id), ElementsAre(AttemptReason::kCancelled));
  EXPECT_EQ(blobs_->List()->size(), 1U) << "the checkpoint is gone, the data set is not";
}

TEST_F(JobStopTest, QueuedJobThatWasNeverTrainedIsCancelledAtOnce) {
  options_.num_workers = 1;
  const std::string running = StartAndHold(0);
  const std::string queued = Submit(Steps(5));
  const auto stopped = manager_->Stop(queued);
  ASSERT_TRUE(stopped.ok()) << stopped.status();
  EXPECT_EQ(stopped->state, JobState::kCancelled);
  ExpectNoModel(queued);
  EXPECT_EQ(Job(running).state, JobState::kRunning);
}

TEST_F(JobStopTest, DrainedJobResumesOnlyToKeepItsModel) {
  const std::string id = StartAndHold(7);
  manager_->Drain();
  const auto stopped = manager_->Stop(id);
  ASSERT_TRUE(stopped.ok()) << stopped.status();
  EXPECT_EQ(stopped->state, JobState::kQueued);
  CrashAndRestart();
  manager_->WaitUntilIdle();
  ExpectStoppedAfter(id, 7);
  EXPECT_THAT(EventTexts(id), IsSupersetOf({"RESUMED 7", "SUCCEEDED"}));
}

// The process dies between the acceptance and the effect.
TEST_F(JobStopTest, StopSurvivesACrash) {
  const std::string id = StartAndHold(7);
  DieWithAStop(id);
  ExpectStoppedAfter(id, 7);
  EXPECT_THAT(Reasons(id), ElementsAre(AttemptReason::kWorkerLost, AttemptReason::kSucceeded));
}

// What was lost is trained again up to the first model, and no further.
TEST_F(JobStopTest, StopSurvivesACrashBeforeTheFirstCheckpoint) {
  control_.model_from = 3;
  const std::string id = StopAsTheProcessDies(7);
  ExpectStoppedAfter(id, 7 + 3);
  EXPECT_THAT(Reasons(id), ElementsAre(AttemptReason::kWorkerLost, AttemptReason::kSucceeded));
}

TEST_F(JobStopTest, StopSurvivesACrashOfATrainingWithoutAModel) {
  control_.model_from = 10;
  const std::string id = StopAsTheProcessDies(7);
  ExpectNoModel(id);
  EXPECT_LE(control_.taken(), 7 + 7) << "no further than it was";
  EXPECT_THAT(Reasons(id), ElementsAre(AttemptReason::kWorkerLost, AttemptReason::kCancelled));
}

TEST_F(JobStopTest, StopSurvivesACheckpointThatCannotBeUsed) {
  const std::string id = StartAndHold(7);
  options_.code_version = "v2";
  DieWithAStop(id);
  ExpectStoppedAfter(id, 7 + 1);
}

// A checkpoint before the first model, of which the server has told later.
TEST_F(JobStopTest, StopSurvivesACrashBehindACheckpointWithoutAModel) {
  control_.model_from = 3;
  const std::string id = StopAsTheProcessDiesBehindACheckpoint(2, 7);
  ExpectStoppedAfter(id, 7 + 1);
  EXPECT_THAT(EventTexts(id), Contains("RESUMED 2"));
}

// A model of a step that was cut short is in no progress: the training comes as far again as it had told of.
TEST_F(JobStopTest, StopSurvivesACrashBehindACheckpointBeforeAnyModel) {
  control_.model_from = 10;
  const std::string id = StopAsTheProcessDiesBehindACheckpoint(2, 7);
  ExpectNoModel(id);
  EXPECT_GT(control_.taken(), 7) << "the first step of an attempt is always told of";
  EXPECT_LE(control_.taken(), 7 + 5) << "no further than it was";
}

// With the stop comes a checkpoint, so that nothing is trained again.
TEST_F(JobStopTest, StopSurvivesACrashDuringTheVerification) {
  options_.checkpoint_interval = absl::Hours(1);
  HoldVerifications();
  const std::string id = StartAndHold(7);
  ASSERT_TRUE(manager_->Stop(id).ok());
  WaitForVerification();
  WaitUntilVerifying(id);
  manager_.reset();
  LetVerificationsGo();
  CrashAndRestart();
  manager_->WaitUntilIdle();
  ExpectStoppedAfter(id, 7);
  EXPECT_THAT(EventTexts(id), IsSupersetOf({"RESUMED 7", "SUCCEEDED"}));
  EXPECT_THAT(Reasons(id), ElementsAre(AttemptReason::kWorkerLost, AttemptReason::kSucceeded));
}

TEST_F(JobStopTest, StopThatAnotherProcessHasAcceptedIsLearnedWithTheLease) {
  const std::string id = StartAndHold(7);
  StopRequest request;
  request.job_id = id;
  request.running = StateEvent(JobState::kRunning, "STOP_REQUESTED");
  ASSERT_TRUE(storage_->jobs().StopJob(request).ok());
  clock_.Advance(options_.lease_duration);
  manager_->RunHousekeeping();
  manager_->WaitUntilIdle();
  ExpectStoppedAfter(id, 7);
}

TEST_F(JobStopTest, StopIsIdempotentAndCancelWins) {
  HoldVerifications();
  const std::string id = StartAndHold(7);
  ASSERT_TRUE(manager_->Stop(id).ok());
  WaitForVerification();
  WaitUntilVerifying(id);
  const size_t told = Events(id).size();
  const auto again = manager_->Stop(id);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(again->state, JobState::kVerifying);
  EXPECT_EQ(Events(id).size(), told) << "the second stop says nothing twice";
  ASSERT_TRUE(manager_->Cancel(id).ok());
  manager_->WaitUntilIdle();
  EXPECT_EQ(Job(id).state, JobState::kCancelled);
  EXPECT_FALSE(Job(id).error.has_value()) << "it was cancelled, not stopped without a model";
}

TEST_F(JobStopTest, DrainAfterAStopKeepsBoth) {
  HoldVerifications();
  const std::string id = StartAndHold(7);
  ASSERT_TRUE(manager_->Stop(id).ok());
  WaitForVerification();
  manager_->Drain();
  EXPECT_EQ(Job(id).state, JobState::kQueued);
  LetVerificationsGo();
  CrashAndRestart();
  manager_->WaitUntilIdle();
  ExpectStoppedAfter(id, 7);
}

}  // namespace
}  // namespace mercer::server
