// Attempts that the server has failed, and not the job.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/jobs/record/retry_policy.h"
#include "tests/server/jobs/job_harness.h"

namespace mercer::server {
namespace {

using ::testing::Contains;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Field;

TEST(RetryPolicyTest, DelaysDoubleUpToALimit) {
  EXPECT_EQ(RetryDelay(1), absl::Seconds(2));
  EXPECT_EQ(RetryDelay(2), absl::Seconds(4));
  EXPECT_EQ(RetryDelay(9), absl::Seconds(512));
  EXPECT_EQ(RetryDelay(10), absl::Minutes(10));
  EXPECT_EQ(RetryDelay(1'000'000), absl::Minutes(10));
}

TEST(RetryPolicyTest, KnowsTheErrorsThatPass) {
  EXPECT_TRUE(IsMomentary(absl::UnavailableError("later")));
  for (const char* reason : {"DISK_FULL", "DATABASE_BUSY", "DATABASE_ERROR", "STORAGE_READ_ONLY"}) {
    EXPECT_TRUE(IsMomentary(WithReason(absl::InternalError("x"), reason))) << reason;
    EXPECT_FALSE(IsForGood(WithReason(absl::FailedPreconditionError("x"), reason))) << reason;
  }
  EXPECT_FALSE(IsMomentary(absl::InvalidArgumentError("row 3")));
  EXPECT_FALSE(IsMomentary(absl::InternalError("a defect")));
  EXPECT_FALSE(IsMomentary(WithReason(absl::ResourceExhaustedError("x"), "JOB_TOO_LARGE")));
  for (const absl::Status& gone :
       {absl::NotFoundError("x"), absl::DataLossError("x"), absl::InvalidArgumentError("x"),
        WithReason(absl::FailedPreconditionError("x"), "NEWER_FORMAT")}) {
    EXPECT_TRUE(IsForGood(gone)) << gone;
  }
}

class JobRetryTest : public JobManagerFixture {
 protected:
  // A job of 6 steps that was drained after its third, and whose checkpoint cannot be read `times` times.
  std::string StartWithUnreadableCheckpoint(int times) {
    StartManager();
    control_.Allow(3);
    const std::string id = Submit(Steps(6));
    control_.WaitUntilHeldAfter(3);
    manager_->Drain();
    const std::string blob = (*storage_->jobs().GetCheckpoint(id))->blob;
    CloseAll();
    OpenStores();
    files_.FailReadings(blob, times);
    control_.AllowAll();
    StartManager();
    manager_->WaitUntilIdle();
    return id;
  }
  void PassTime(absl::Duration time) {
    clock_.Advance(time);
    manager_->RunHousekeeping();
    manager_->WaitUntilIdle();
  }
};

TEST_F(JobRetryTest, AttemptThatCannotReadItsCheckpointIsTriedAgainLater) {
  const std::string id = StartWithUnreadableCheckpoint(5);  // as often as one attempt tries
  const JobRecord waiting = Job(id);
  EXPECT_EQ(waiting.state, JobState::kQueued);
  EXPECT_EQ(waiting.not_before, clock_.Now() + absl::Seconds(2));
  EXPECT_EQ(DecodeError(*waiting.error), absl::InternalError("Too many open files"));
  EXPECT_THAT(Reasons(id), ElementsAre(AttemptReason::kDrained, AttemptReason::kRetry));
  EXPECT_EQ(Events(id).back().message, "RETRY");
  EXPECT_TRUE(storage_->jobs().GetCheckpoint(id)->has_value()) << "nothing is lost";
  PassTime(absl::Seconds(1.9));
  EXPECT_EQ(Job(id).attempt, 2) << "not before its time";
  PassTime(absl::Seconds(0.1));
  EXPECT_EQ(Job(id).state, JobState::kSucceeded);
  EXPECT_FALSE(Job(id).error.has_value());
  EXPECT_THAT(EventTexts(id), Contains("RESUMED 3"));
  EXPECT_EQ(control_.taken(), 6) << "no step is done twice";
  EXPECT_EQ(Blobs(id), UninterruptedBlobs(6));
}

TEST_F(JobRetryTest, JobFailsWithTheLastErrorAfterTheLastAttempt) {
  options_.max_lost_attempts = 3;
  const std::string id = StartWithUnreadableCheckpoint(1'000'000);
  PassTime(absl::Seconds(2));
  EXPECT_EQ(Job(id).state, JobState::kQueued);
  EXPECT_EQ(Job(id).not_before, clock_.Now() + absl::Seconds(4));
  PassTime(absl::Seconds(4));
  EXPECT_EQ(Job(id).state, JobState::kFailed);
  EXPECT_EQ(DecodeError(*Job(id).error), absl::InternalError("Too many open files"));
  EXPECT_THAT(Reasons(id), ElementsAre(AttemptReason::kDrained, AttemptReason::kRetry,
                                       AttemptReason::kRetry, AttemptReason::kFailed));
}

TEST_F(JobRetryTest, ErrorOfTheServerWithinATrainingIsTriedAgainFromTheCheckpoint) {
  StartManager();
  control_.FailAtStep(4, WithReason(absl::ResourceExhaustedError("full"), "DISK_FULL"));
  const std::string id = Submit(Steps(6));
  manager_->WaitUntilIdle();
  EXPECT_EQ(Job(id).state, JobState::kQueued);
  EXPECT_EQ(Events(id).back().message, "DISK_FULL");
  control_.FailAtStep(-1, absl::OkStatus());
  PassTime(absl::Seconds(2));
  EXPECT_EQ(Job(id).state, JobState::kSucceeded);
  EXPECT_EQ(control_.taken(), 6);
}

TEST_F(JobRetryTest, StepsBeforeAFullDiskAreNotDoneAgain) {
  options_.checkpoint_interval = absl::Hours(1);
  StartManager();
  control_.FailAtStep(4, WithReason(absl::ResourceExhaustedError("full"), "DISK_FULL"));
  const std::string id = Submit(Steps(6));
  manager_->WaitUntilIdle();
  EXPECT_TRUE(storage_->jobs().GetCheckpoint(id)->has_value());
  control_.FailAtStep(-1, absl::OkStatus());
  PassTime(absl::Seconds(2));
  EXPECT_EQ(Job(id).state, JobState::kSucceeded);
  EXPECT_THAT(EventTexts(id), Contains("RESUMED 3"));
  EXPECT_EQ(control_.taken(), 6) << "no step is done twice";
  EXPECT_EQ(Blobs(id), UninterruptedBlobs(6));
}

TEST_F(JobRetryTest, DelayRunsByTheClockOfTheStorage) {
  for (const absl::Duration off : {-absl::Hours(1), absl::Hours(1)}) {
    FakeClock clock;  // of the manager
    clock.Jump(off);
    StartManager(&clock);
    control_.FailAtStep(4, absl::UnavailableError("not now"));
    const std::string id = Submit(Steps(6));
    manager_->WaitUntilIdle();
    EXPECT_EQ(Job(id).not_before, clock_.Now() + absl::Seconds(2));
    control_.FailAtStep(-1, absl::OkStatus());
    PassTime(absl::Seconds(1.9));
    EXPECT_EQ(Job(id).state, JobState::kQueued);
    PassTime(absl::Seconds(0.1));
    EXPECT_EQ(Job(id).state, JobState::kSucceeded);
    manager_.reset();
  }
}

// Every attempt gets on: that may go on for ever.
TEST_F(JobRetryTest, NewCheckpointStartsTheCountAgain) {
  options_.max_lost_attempts = 2;
  StartManager();
  control_.FailAtStep(1, absl::UnavailableError("not now"));
  const std::string id = Submit(Steps(6));
  manager_->WaitUntilIdle();
  for (int step = 2; step <= 6; ++step) {
    EXPECT_EQ(Job(id).state, JobState::kQueued);
    control_.FailAtStep(step, absl::UnavailableError("not now"));
    PassTime(absl::Seconds(2));
  }
  control_.FailAtStep(-1, absl::OkStatus());
  PassTime(absl::Seconds(2));
  EXPECT_EQ(Job(id).state, JobState::kSucceeded);
  EXPECT_EQ(Job(id).attempt, 7);
}

TEST_F(JobRetryTest, ErrorOfTheInputIsNotTriedAgain) {
  StartManager();
  control_.FailAtStep(2, WithReason(absl::InvalidArgumentError("row 3 is bad"), "BAD_ROW"));
  const std::string id = Submit(Steps(5));
  manager_->WaitUntilIdle();
  EXPECT_EQ(ErrorReason(id), "BAD_ROW");
  EXPECT_THAT(Reasons(id), ElementsAre(AttemptReason::kFailed));
}

TEST_F(JobRetryTest, WaitingJobIsCancelledAndHoldsNobodyUp) {
  options_.num_workers = 1;
  StartManager();
  control_.FailAtStep(2, absl::UnavailableError("not now"));
  const std::string waiting = Submit(Steps(5));
  manager_->WaitUntilIdle();
  control_.FailAtStep(-1, absl::OkStatus());
  const std::string other = Submit(Steps(5));
  manager_->WaitUntilIdle();
  EXPECT_EQ(Job(other).state, JobState::kSucceeded);
  EXPECT_EQ(Job(waiting).state, JobState::kQueued);
  EXPECT_EQ(manager_->Cancel(waiting)->state, JobState::kCancelled);
}

TEST_F(JobRetryTest, StopOfAWaitingJobKeepsItsModelAtOnce) {
  StartManager();
  control_.FailAtStep(4, absl::UnavailableError("not now"));
  const std::string id = Submit(Steps(6));
  manager_->WaitUntilIdle();
  ASSERT_EQ(Job(id).state, JobState::kQueued);
  ASSERT_TRUE(manager_->Stop(id).ok());
  manager_->WaitUntilIdle();
  EXPECT_EQ(Job(id).state, JobState::kSucceeded);
  EXPECT_EQ(control_.taken(), 3);
}

TEST_F(JobRetryTest, ClockThatJumpsParksNoJob) {
  StartManager();
  control_.FailAtStep(4, absl::UnavailableError("not now"));
  const std::string forwards = Submit(Steps(6));
  manager_->WaitUntilIdle();
  clock_.Jump(absl::Hours(10'000));
  PassTime(absl::ZeroDuration());
  EXPECT_EQ(Job(forwards).attempt, 2);
  ASSERT_EQ(Job(forwards).state, JobState::kQueued);
  control_.FailAtStep(-1, absl::OkStatus());
  clock_.Jump(-absl::Hours(20'000));
  PassTime(absl::ZeroDuration());
  EXPECT_EQ(Job(forwards).state, JobState::kSucceeded);
}

// As on a full disk. The worker tries by itself once a second, however slow the machine is.
TEST_F(JobRetryTest, DueJobThatCannotBeClaimedIsTriedOnceASecond) {
  constexpr int kTries = 1000;
  options_.num_workers = 1;
  StartManager();
  control_.FailAtStep(4, absl::UnavailableError("not now"));
  const std::string id = Submit(Steps(6));
  manager_->WaitUntilIdle();
  control_.FailAtStep(-1, absl::OkStatus());
  failures_.claims = kTries;
  for (int second = 0; second < 3; ++second) {
    for (int round = 0; round < 20; ++round) {
      PassTime(second == 0 && round == 0 ? absl::Seconds(2) : absl::Milliseconds(50));
    }
  }
  EXPECT_GE(kTries - failures_.claims, 3);
  EXPECT_LT(kTries - failures_.claims, 40) << "and not in each of 60 rounds";
  failures_.claims = 0;
  PassTime(absl::Seconds(1));
  EXPECT_EQ(Job(id).state, JobState::kSucceeded);
}

TEST_F(JobRetryTest, DelayOutlastsARestart) {
  StartManager();
  control_.FailAtStep(4, absl::UnavailableError("not now"));
  const std::string id = Submit(Steps(6));
  manager_->WaitUntilIdle();
  control_.FailAtStep(-1, absl::OkStatus());
  CrashAndRestart();
  manager_->WaitUntilIdle();
  EXPECT_EQ(Job(id).attempt, 1);
  PassTime(absl::Seconds(2));
  EXPECT_EQ(Job(id).state, JobState::kSucceeded);
}

TEST_F(JobRetryTest, EndThatIsStoredLateLetsTheNextJobOfItsCallerBegin) {
  options_.num_workers = 1;
  options_.max_running_jobs_per_caller = 1;
  StartManager();
  failures_.ends = 1;
  Submit(Steps(3));
  const std::string second = Submit(Steps(3));
  manager_->WaitUntilIdle();
  EXPECT_EQ(Job(second).state, JobState::kQueued) << "the first is still held";
  PassTime(absl::Minutes(1));
  EXPECT_EQ(Job(second).state, JobState::kSucceeded);
}

TEST_F(JobRetryTest, QuotaOfACallerRefusesFurtherJobs) {
  options_.num_workers = 1;
  options_.queue_limits = QueueLimits{0, 1};
  StartManager();
  control_.Allow(0);
  JobSubmission submission = Steps(2);
  submission.caller = "ann";
  Submit(submission);
  control_.WaitUntilAsked(1);  // it runs
  EXPECT_EQ(Job(Submit(submission)).caller, "ann");
  EXPECT_EQ(GetReason(manager_->Submit(submission).status()), "QUOTA_EXCEEDED");
  submission.caller = "bob";
  EXPECT_TRUE(manager_->Submit(submission).ok());
}

}  // namespace
}  // namespace mercer::server
