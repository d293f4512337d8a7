// Jobs that were claimed and whose attempts could not be begun, on a storage that refuses their ends.
#include "server/jobs/given_up_jobs.h"

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
  AttemptEnvironment environment;
  environment.dependencies.storage = storage_.get();
  environment.dependencies.clock = &clock_;
  environment.options = options_;
  GivenUpJobs given_up(&environment);
  JobRecord job;
  job.id = "unknown";
  failures_.ends = 1;
  given_up.GiveUp(job, absl::InternalError("no thread"));
  EXPECT_TRUE(given_up.TryAgain());   // the lease is lost
  EXPECT_FALSE(given_up.TryAgain());  // nothing waits
}

}  // namespace
}  // namespace mercer::server
