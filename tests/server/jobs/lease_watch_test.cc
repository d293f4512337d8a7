// Two managers on one storage: what one of them is asked, or dies with, the other one does within a second.

#include "absl/time/clock.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/server/jobs/job_harness.h"

namespace mercer::server {
namespace {

using ::testing::ElementsAre;

class LeaseWatchTest : public JobManagerFixture {
 protected:
  void SetUp() override {
    JobManagerFixture::SetUp();
    options_.num_workers = 1;
  }
  void TearDown() override {
    control_.AllowAll();
    other_.reset();
    JobManagerFixture::TearDown();
  }
  // Another server, on the same storage, whose wall clock goes wrong by so much.
  void StartOther(absl::Duration skew = absl::ZeroDuration()) {
    std::swap(manager_, other_);
    other_clock_.Jump(skew);
    StartManager(&other_clock_);
    std::swap(manager_, other_);
  }
  void Advance(absl::Duration time) {
    clock_.Advance(time);
    other_clock_.Advance(time);
  }
  // Until the storage has made all changes that it was asked for; it answers in order.
  void WaitForChanges() {
    EXPECT_EQ(
        GetReason(
            storage_->events().Append({"none", "nobody", 1}, {{0, "x"}}, clock_.Now()).status()),
        "LEASE_LOST");
  }
  // A job that this server runs, held in its third step.
  std::string RunHeld(int64_t steps = 50) {
    control_.Allow(2);
    const std::string id = Submit(Steps(steps));
    control_.WaitUntilHeldAfter(2);
    return id;
  }
  // What another server was asked for is known to the training as soon as this one has looked, once, a second after the look
  // before at the latest. From there on the learners' own promise holds, of 250 ms.
  void ExpectInterruptedByTheNextLook() {
    constexpr absl::Duration kBetweenRounds = absl::Milliseconds(100);  // of the housekeeping
    EXPECT_LE(kLeaseLookInterval + kBetweenRounds, absl::Seconds(1));
    EXPECT_FALSE(control_.IsHeldOneInterrupted());
    Advance(kLeaseLookInterval);
    manager_->RunHousekeeping();
    ASSERT_TRUE(control_.IsHeldOneInterrupted());
  }
  // A worker that has claimed it and is never heard of again.
  void ClaimAndDie(const std::string& id) {
    ClaimRequest claim;
    claim.worker = "dead/1/0";
    claim.now = clock_.Now();
    claim.lease = options_.lease_duration;
    claim.free_memory_bytes = std::numeric_limits<int64_t>::max();
    const auto claimed = storage_->jobs().ClaimJob(claim);
    ASSERT_TRUE(claimed.ok() && claimed->has_value());
    ASSERT_EQ((*claimed)->id, id);
  }
  std::string AddJob() {
    NewJob job;
    job.id = "left";
    job.request = "3 data";
    job.dataset_ids = {"data"};
    job.model_name = "model";
    job.learner = "chaotic";
    job.now = clock_.Now();
    EXPECT_TRUE(storage_->jobs().CreateJob(job).ok());
    return job.id;
  }

  FakeClock other_clock_;
  std::unique_ptr<JobManager> other_;
};

TEST_F(LeaseWatchTest, CancellationByAnotherServerIsHeardOfAtTheNextLook) {
  StartManager();
  const std::string id = RunHeld();
  StartOther();
  EXPECT_EQ(Job(id).state, JobState::kRunning) << "a start takes over nothing that is alive";
  manager_->RunHousekeeping();
  ASSERT_TRUE(other_->Cancel(id).ok());
  EXPECT_EQ(Job(id).state, JobState::kCancelling);
  ExpectInterruptedByTheNextLook();
  manager_->WaitUntilIdle();
  EXPECT_EQ(Job(id).state, JobState::kCancelled);
  EXPECT_EQ(control_.taken(), 2);
  EXPECT_THAT(Reasons(id), ElementsAre(AttemptReason::kCancelled));
}

TEST_F(LeaseWatchTest, StopByAnotherServerIsHeardOfAtTheNextLook) {
  StartManager();
  const std::string id = RunHeld();
  StartOther();
  manager_->RunHousekeeping();
  ASSERT_TRUE(other_->Stop(id).ok());
  ExpectInterruptedByTheNextLook();
  manager_->WaitUntilIdle();
  EXPECT_EQ(Job(id).state, JobState::kSucceeded);
  EXPECT_EQ(control_.taken(), 2);
}

// With the threads and the clock of a server: a second to the look, 250 ms to the end.
TEST_F(LeaseWatchTest, CancellationByAnotherServerTakesASecondAndABit) {
  options_.housekeeping_thread = true;
  StartManager(&RealClock());
  const std::string id = RunHeld();
  StartOther();
  absl::SleepFor(absl::Milliseconds(200));  // beyond the first look, which comes at once
  const absl::Time begin = absl::Now();
  ASSERT_TRUE(other_->Cancel(id).ok());
  while (Job(id).state != JobState::kCancelled && absl::Now() - begin < absl::Seconds(20)) {
    absl::SleepFor(absl::Milliseconds(5));
  }
  const absl::Duration took = absl::Now() - begin;
  EXPECT_EQ(Job(id).state, JobState::kCancelled);
  RecordProperty("milliseconds", static_cast<int>(absl::ToInt64Milliseconds(took)));
  EXPECT_LT(took, absl::Seconds(5)) << "far less than the renewal, after 10 s, and the lease";
}

TEST_F(LeaseWatchTest, LeaseThatExpiresWhileTheServerRunsIsTakenOver) {
  StartManager();
  const std::string id = RunHeld();
  const std::string left = AddJob();
  ClaimAndDie(left);
  for (int second = 0; second < 29; ++second) {
    Advance(absl::Seconds(1));
    manager_->RunHousekeeping();
  }
  EXPECT_EQ(Job(left).state, JobState::kRunning);
  Advance(absl::Seconds(1));
  manager_->RunHousekeeping();
  EXPECT_EQ(Job(left).state, JobState::kQueued);
  EXPECT_EQ(Job(id).state, JobState::kRunning) << "its own it renews";
  control_.AllowAll();
  manager_->WaitUntilIdle();
  EXPECT_EQ(Job(left).state, JobState::kSucceeded);
  EXPECT_THAT(Reasons(left), ElementsAre(AttemptReason::kWorkerLost, AttemptReason::kSucceeded));
  EXPECT_THAT(Reasons(id), ElementsAre(AttemptReason::kSucceeded));
}

TEST_F(LeaseWatchTest, WallClockOfAProcessDecidesAboutNoLease) {
  StartManager();
  const std::string id = RunHeld();
  for (const absl::Duration skew : {absl::Hours(5), -absl::Hours(10)}) {
    StartOther(skew);
    other_->RunHousekeeping();
    EXPECT_EQ(Job(id).state, JobState::kRunning);
    Advance(absl::Seconds(10));
    manager_->RunHousekeeping();
    other_->RunHousekeeping();
    WaitForChanges();
    EXPECT_EQ(Job(id).state, JobState::kRunning);
    EXPECT_EQ(Job(id).lease_until, clock_.Now() + options_.lease_duration);
  }
  // What it claims itself lasts as long as it should by the clock of the storage.
  other_->WaitUntilIdle();  // its worker looks no more, and leaves the job to the one that dies
  const std::string left = AddJob();
  ClaimAndDie(left);
  Advance(absl::Seconds(29));
  manager_->RunHousekeeping();
  other_->RunHousekeeping();
  EXPECT_EQ(Job(left).state, JobState::kRunning);
  Advance(absl::Seconds(1));
  other_->RunHousekeeping();
  const JobRecord taken = Job(left);  // by the other's worker, or not yet
  EXPECT_EQ(taken.attempt, 1 + (taken.state == JobState::kRunning ? 1 : 0));
  EXPECT_EQ(Reasons(left).front(), AttemptReason::kWorkerLost);
  EXPECT_THAT(Reasons(id), ElementsAre(AttemptReason::kRunning));
}

TEST_F(LeaseWatchTest, LostLeaseEndsTheWorkAtTheNextLook) {
  StartManager();
  const std::string id = RunHeld();
  const JobRecord job = Job(id);
  AttemptEnd stolen;
  stolen.lease = {id, job.lease_worker, job.epoch};
  stolen.state = JobState::kFailed;
  stolen.reason = AttemptReason::kWorkerLost;
  stolen.events = {StateEvent(JobState::kFailed, "taken away")};
  ASSERT_TRUE(storage_->jobs().EndAttempt(stolen).ok());
  Advance(kLeaseLookInterval);
  manager_->RunHousekeeping();
  manager_->WaitUntilIdle();
  EXPECT_EQ(control_.taken(), 2);
  EXPECT_EQ(Job(id).state, JobState::kFailed);
}

TEST_F(LeaseWatchTest, JobThatFitsAnotherServerIsAcceptedAndLeftToIt) {
  StartManager();
  const int64_t bytes = manager_->Estimate(Steps(3))->memory_bytes;
  manager_.reset();
  options_.memory_budget_bytes = bytes - 1;
  StartManager();
  EXPECT_EQ(GetReason(manager_->Submit(Steps(3)).status()), "JOB_TOO_LARGE");
  manager_.reset();
  options_.largest_budget_bytes = bytes;
  StartManager();
  const std::string id = Submit(Steps(3));
  manager_->WaitUntilIdle();
  EXPECT_EQ(Job(id).state, JobState::kQueued);
  options_.memory_budget_bytes = bytes;
  StartOther();
  other_->WaitUntilIdle();
  EXPECT_EQ(Job(id).state, JobState::kSucceeded);
}

}  // namespace
}  // namespace mercer::server
