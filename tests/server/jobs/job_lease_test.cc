// A worker that has lost its lease changes nothing, whatever it is doing then.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/server/jobs/job_harness.h"

namespace mercer::server {
namespace {

using ::testing::ElementsAre;

class JobLeaseTest : public JobManagerFixture {
 protected:
  // Somebody else ends the attempt, as if the lease had expired.
  void TakeAway(const std::string& id) {
    const JobRecord job = Job(id);
    AttemptEnd stolen;
    stolen.lease = {id, job.lease_worker, job.epoch};
    stolen.state = JobState::kFailed;
    stolen.reason = AttemptReason::kWorkerLost;
    stolen.events = {StateEvent(JobState::kFailed, "taken away")};
    ASSERT_TRUE(storage_->jobs().EndAttempt(stolen).ok());
    events_ = Events(id).size();
  }
  void ExpectUntouched(const std::string& id) {
    EXPECT_EQ(Job(id).state, JobState::kFailed);
    EXPECT_EQ(Events(id).size(), events_);
    EXPECT_THAT(Reasons(id), ElementsAre(AttemptReason::kWorkerLost));
    EXPECT_FALSE(storage_->jobs().GetCheckpoint(id)->has_value());
    EXPECT_EQ(storage_->models().GetModel("model").status().code(), absl::StatusCode::kNotFound);
  }

 private:
  size_t events_ = 0;
};

TEST_F(JobLeaseTest, LostWhileItRuns) {
  StartManager();
  control_.Allow(2);
  const std::string id = Submit(Steps(50));
  control_.WaitUntilHeldAfter(2);
  TakeAway(id);
  control_.AllowAll();
  manager_->WaitUntilIdle();
  ExpectUntouched(id);
  EXPECT_LT(control_.taken(), 50) << "the first checkpoint that is refused ends the work";
}

TEST_F(JobLeaseTest, LostWhileItVerifies) {
  HoldVerifications();
  StartManager();
  const std::string id = Submit(Steps(5));
  WaitForVerification();
  TakeAway(id);
  LetVerificationsGo();
  manager_->WaitUntilIdle();
  ExpectUntouched(id);
}

TEST_F(JobLeaseTest, LostWhileItsEndWaits) {
  StartManager();
  failures_.ends = 1;
  const std::string id = Submit(Steps(5));
  manager_->WaitUntilIdle();
  ASSERT_EQ(Job(id).state, JobState::kVerifying);
  TakeAway(id);
  clock_.Advance(absl::Minutes(1));
  manager_->RunHousekeeping();
  ExpectUntouched(id);
}

TEST_F(JobLeaseTest, LostBeforeItIsDrained) {
  StartManager();
  control_.Allow(2);
  const std::string id = Submit(Steps(5));
  control_.WaitUntilHeldAfter(2);
  TakeAway(id);
  manager_->Drain();
  ExpectUntouched(id);
}

TEST_F(JobLeaseTest, LostBeforeItIsStopped) {
  StartManager();
  control_.Allow(2);
  const std::string id = Submit(Steps(5));
  control_.WaitUntilHeldAfter(2);
  TakeAway(id);
  EXPECT_EQ(GetReason(manager_->Stop(id).status()), "JOB_IS_FINAL");
  control_.AllowAll();
  manager_->WaitUntilIdle();
  ExpectUntouched(id);
}

}  // namespace
}  // namespace mercer::server
