// The limit of time: over all attempts, by a clock that does not jump.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/server/jobs/job_harness.h"

namespace mercer::server {
namespace {

using ::testing::ElementsAre;

class JobTimeLimitTest : public JobManagerFixture {
 protected:
  // A job that may run for ten seconds, held after its third step.
  std::string StartAndHold() {
    StartManager();
    control_.Allow(3);
    JobSubmission submission = Steps(40);
    submission.request = "40 data 10";
    const std::string id = Submit(submission);
    control_.WaitUntilHeldAfter(3);
    return id;
  }
  void ExpectEndedByTheLimit(const std::string& id, int64_t steps) {
    EXPECT_EQ(Job(id).state, JobState::kSucceeded);
    EXPECT_EQ(control_.taken(), steps);
    const auto bytes = blobs_->Read(Blobs(id).first);
    ASSERT_TRUE(bytes.ok()) << bytes.status();
    EXPECT_EQ(LoadModel((*bytes)->contents())->stop_reason, StopReason::kTimeLimit);
  }
};

TEST_F(JobTimeLimitTest, EndsTheJobWithTheModelSoFar) {
  const std::string id = StartAndHold();
  clock_.Advance(absl::Seconds(10));
  manager_->WaitUntilIdle();
  ExpectEndedByTheLimit(id, 3);
}

TEST_F(JobTimeLimitTest, WallClockThatJumpsNeitherEndsNorExtendsARun) {
  const std::string id = StartAndHold();
  clock_.Jump(absl::Hours(1000));
  control_.Allow(5);
  control_.WaitUntilHeldAfter(5);
  EXPECT_EQ(Job(id).state, JobState::kRunning);
  clock_.Jump(-absl::Hours(2000));
  control_.Allow(6);
  control_.WaitUntilHeldAfter(6);
  clock_.Advance(absl::Seconds(10));
  manager_->WaitUntilIdle();
  ExpectEndedByTheLimit(id, 6);
}

TEST_F(JobTimeLimitTest, CountsTheRunningTimeOfAllAttempts) {
  const std::string id = StartAndHold();
  clock_.Advance(absl::Seconds(6));
  manager_->Drain();
  CloseAll();
  clock_.Advance(absl::Hours(5));  // nothing runs: this does not count
  OpenStores();
  control_.Allow(5);
  StartManager();
  control_.WaitUntilHeldAfter(5);
  clock_.Advance(absl::Seconds(3.9));
  control_.Allow(6);
  control_.WaitUntilHeldAfter(6);
  EXPECT_EQ(Job(id).state, JobState::kRunning);
  clock_.Advance(absl::Seconds(0.1));
  manager_->WaitUntilIdle();
  ExpectEndedByTheLimit(id, 6);
  EXPECT_THAT(Reasons(id), ElementsAre(AttemptReason::kDrained, AttemptReason::kSucceeded));
}

// The checkpoint says how much time was used; what a crash has cost since then is given again.
TEST_F(JobTimeLimitTest, CountsUpToTheLastCheckpointAfterACrash) {
  const std::string id = StartAndHold();
  clock_.Advance(absl::Seconds(6));
  control_.Allow(4);
  control_.WaitUntilHeldAfter(4);  // its checkpoint says six seconds
  clock_.Advance(absl::Seconds(3));
  CrashAndRestart();
  control_.Allow(5);
  control_.WaitUntilHeldAfter(5);
  EXPECT_EQ(Job(id).state, JobState::kRunning);
  clock_.Advance(absl::Seconds(4));
  manager_->WaitUntilIdle();
  ExpectEndedByTheLimit(id, 5);
}

}  // namespace
}  // namespace mercer::server
