// A wall clock that is set, hours forwards or backwards: neither leases nor progress nor recovery believe it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/server/jobs/job_harness.h"

namespace mercer::server {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;

class ClockJumpTest : public JobManagerFixture, public ::testing::WithParamInterface<int> {
 protected:
  void SetUp() override {
    JobManagerFixture::SetUp();
    StartManager();
  }
  absl::Duration jump() const { return absl::Hours(GetParam()); }
};

TEST_P(ClockJumpTest, RunningJobKeepsItsLeaseAndGoesOn) {
  control_.Allow(2);
  const std::string id = Submit(Steps(6));
  control_.WaitUntilHeldAfter(2);
  clock_.Jump(jump());
  manager_->RunHousekeeping();
  // Longer than a lease, renewed as often as the housekeeping thread would.
  for (int second = 0; second < 40; ++second) {
    clock_.Advance(absl::Seconds(1));
    manager_->RunHousekeeping();
  }
  clock_.Jump(-2 * jump());
  manager_->RunHousekeeping();
  control_.AllowAll();
  manager_->WaitUntilIdle();
  EXPECT_EQ(Job(id).state, JobState::kSucceeded);
  EXPECT_THAT(Reasons(id), ElementsAre(AttemptReason::kSucceeded));
  EXPECT_EQ(Blobs(id), UninterruptedBlobs(6));
}

TEST_P(ClockJumpTest, ProgressIsWrittenAsOftenAsBefore) {
  control_.Allow(3);
  const std::string id = Submit(Steps(6));
  control_.WaitUntilHeldAfter(3);
  const size_t before = Events(id).size();
  clock_.Jump(jump());
  clock_.Advance(options_.event_interval);
  control_.Allow(4);
  control_.WaitUntilHeldAfter(4);
  clock_.Advance(options_.event_interval);
  manager_->RunHousekeeping();
  control_.AllowAll();
  manager_->WaitUntilIdle();
  EXPECT_THAT(EventTexts(id), Contains("4 solve"));
  EXPECT_GT(Events(id).size(), before);
}

TEST_P(ClockJumpTest, JobOfADeadProcessIsRecovered) {
  control_.Allow(3);
  const std::string id = Submit(Steps(6));
  const std::string behind = Submit(Steps(2));
  control_.WaitUntilHeldAfter(3);
  clock_.Jump(jump());
  CrashAndRestart();
  control_.AllowAll();
  manager_->WaitUntilIdle();
  EXPECT_EQ(Job(id).state, JobState::kSucceeded);
  EXPECT_THAT(Reasons(id), ElementsAre(AttemptReason::kWorkerLost, AttemptReason::kSucceeded));
  EXPECT_EQ(Job(behind).state, JobState::kSucceeded);
  EXPECT_EQ(Blobs(id), UninterruptedBlobs(6));
}

INSTANTIATE_TEST_SUITE_P(Hours, ClockJumpTest, ::testing::Values(-7, 7),
                         [](const auto& hours) { return hours.param < 0 ? "Back" : "Forward"; });

}  // namespace
}  // namespace mercer::server
