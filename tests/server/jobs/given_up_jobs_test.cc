// Jobs that were claimed and whose attempts could not be begun, on a storage that refuses their ends.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/server/jobs/job_harness.h"

namespace mercer::server {
namespace {

using ::testing::ElementsAre;

class GivenUpJobsTest : public JobManagerFixture {
 protected:
  // A job whose first attempt finds no memory to begin with, and whose end the storage refuses `refusals` times.
  std::string SubmitAndGiveUp(int refusals) {
    StartManager();
    failures_.ends = refusals;
    clock_.readings_without_memory = 1;
    const std::string id = Submit(Steps(3));
    manager_->WaitUntilIdle();
    EXPECT_EQ(clock_.readings_without_memory, 0);
    return id;
  }
};

TEST_F(GivenUpJobsTest, EndIsTriedUntilItIsStoredAndTheJobRunsAgain) {
  const std::string id = SubmitAndGiveUp(2);
  EXPECT_EQ(Job(id).state, JobState::kRunning);
  manager_->RunHousekeeping();
  EXPECT_EQ(Job(id).state, JobState::kRunning);
  manager_->RunHousekeeping();
  EXPECT_EQ(Job(id).state, JobState::kQueued);
  EXPECT_THAT(Reasons(id), ElementsAre(AttemptReason::kRetry));
  manager_->WaitUntilIdle();  // and the workers know when it may begin
  clock_.Advance(absl::Minutes(1));
  manager_->RunHousekeeping();
  manager_->WaitUntilIdle();
  EXPECT_EQ(Job(id).state, JobState::kSucceeded);
  EXPECT_THAT(Reasons(id), ElementsAre(AttemptReason::kRetry, AttemptReason::kSucceeded));
}

TEST_F(GivenUpJobsTest, CancellationThatComesFirstEndsTheJob) {
  const std::string id = SubmitAndGiveUp(1);
  ASSERT_TRUE(manager_->Cancel(id).ok());
  EXPECT_EQ(Job(id).state, JobState::kCancelling);
  manager_->RunHousekeeping();
  EXPECT_EQ(Job(id).state, JobState::kCancelled);
  EXPECT_THAT(Reasons(id), ElementsAre(AttemptReason::kCancelled));
}

TEST_F(GivenUpJobsTest, LostLeaseLeavesNothingToEnd) {
  const JobRecord job = Job(SubmitAndGiveUp(1));
  AttemptEnd stolen;
  stolen.lease = {job.id, job.lease_worker, job.epoch};
  stolen.state = JobState::kFailed;
  stolen.events = {StateEvent(JobState::kFailed, "taken away")};
  ASSERT_TRUE(storage_->jobs().EndAttempt(stolen).ok());
  manager_->RunHousekeeping();  // finds the lease lost
  failures_.ends = 1;
  manager_->RunHousekeeping();
  EXPECT_EQ(failures_.ends, 1) << "nothing waits";
}

}  // namespace
}  // namespace mercer::server
