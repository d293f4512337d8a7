// What goes wrong around a job: no memory, a storage that fails, a budget that was lowered.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/jobs/job_attempt.h"
#include "server/jobs/upkeep/blob_collector.h"
#include "tests/server/jobs/job_harness.h"

namespace mercer::server {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

class JobFailuresTest : public JobManagerFixture {
 protected:
  // Lets the time pass that the longest pause between two tries takes.
  void RunHousekeepingLater() {
    clock_.Advance(absl::Minutes(1));
    manager_->RunHousekeeping();
  }
  // A job of 4 steps with a checkpoint after the third, whose model the disk has refused.
  std::string TrainWithFullDiskAtTheEnd() {
    StartManager();
    control_.Allow(3);
    const std::string id = Submit(Steps(4));
    control_.WaitUntilHeldAfter(3);
    files_.full = true;
    control_.AllowAll();
    files_.WaitUntilRefused(2);  // a checkpoint, perhaps, and the model
    return id;
  }
};

TEST_F(JobFailuresTest, LackOfMemoryBeforeTheTrainingFailsTheJobAlone) {
  options_.num_workers = 1;
  StartManager();
  control_.Allow(0);
  const std::string unlucky = Submit(Steps(2));
  control_.WaitUntilAsked(1);
  const std::string after = Submit(Steps(2));
  planner_.plans_without_memory = 1;  // of the attempt after the restart
  CrashAndRestart();
  control_.AllowAll();
  manager_->WaitUntilIdle();
  EXPECT_EQ(ErrorReason(unlucky), "OUT_OF_MEMORY");
  EXPECT_THAT(Reasons(unlucky), ElementsAre(AttemptReason::kWorkerLost, AttemptReason::kFailed));
  EXPECT_EQ(Job(after).state, JobState::kSucceeded);
}

TEST_F(JobFailuresTest, LackOfMemoryAfterTheTrainingFailsTheJobAlone) {
  StartManager();
  planner_.summaries_without_memory = 1;
  const std::string unlucky = Submit(Steps(2));
  manager_->WaitUntilIdle();
  EXPECT_EQ(ErrorReason(unlucky), "OUT_OF_MEMORY");
  const std::string after = Submit(Steps(2));
  manager_->WaitUntilIdle();
  EXPECT_EQ(Job(after).state, JobState::kSucceeded);
}

TEST_F(JobFailuresTest, FullDiskAtTheEndDelaysTheModel) {
  const std::string id = TrainWithFullDiskAtTheEnd();
  WaitUntilVerifying(id);
  files_.full = false;
  manager_->WaitUntilIdle();
  EXPECT_EQ(Job(id).state, JobState::kSucceeded);
  EXPECT_EQ(Blobs(id), UninterruptedBlobs(4));
}

TEST_F(JobFailuresTest, DrainBeforeTheDiskHasRoomForTheModelKeepsTheCheckpoint) {
  const std::string id = TrainWithFullDiskAtTheEnd();
  manager_->Drain();
  EXPECT_EQ(Job(id).state, JobState::kQueued);
  EXPECT_THAT(Reasons(id), ElementsAre(AttemptReason::kDrained));
  CloseAll();
  files_.full = false;
  OpenStores();
  StartManager();
  manager_->WaitUntilIdle();
  EXPECT_EQ(Job(id).state, JobState::kSucceeded);
  EXPECT_THAT(EventTexts(id), Contains("RESUMED 3"));
  EXPECT_EQ(Blobs(id), UninterruptedBlobs(4));
}

TEST_F(JobFailuresTest, JobWhoseModelFindsNoRoomIsCancelled) {
  const std::string id = TrainWithFullDiskAtTheEnd();
  ASSERT_TRUE(manager_->Cancel(id).ok());
  manager_->WaitUntilIdle();
  EXPECT_EQ(Job(id).state, JobState::kCancelled);
}

TEST_F(JobFailuresTest, CheckpointThatCannotBeReadForAMomentIsNotLost) {
  StartManager();
  control_.Allow(3);
  const std::string id = Submit(Steps(6));
  control_.WaitUntilHeldAfter(3);
  manager_->Drain();
  const std::string blob = (*storage_->jobs().GetCheckpoint(id))->blob;
  CloseAll();
  OpenStores();
  failures_.checkpoint_reads = 1;
  files_.FailReadings(blob, 1);
  control_.AllowAll();
  StartManager();
  manager_->WaitUntilIdle();
  EXPECT_EQ(Job(id).state, JobState::kSucceeded);
  EXPECT_THAT(EventTexts(id), Contains("RESUMED 3"));
  EXPECT_EQ(control_.taken(), 6) << "no step is done twice";
}

TEST_F(JobFailuresTest, JobWhoseCheckpointCannotBeReadIsDrainedWithIt) {
  StartManager();
  control_.Allow(3);
  const std::string id = Submit(Steps(6));
  control_.WaitUntilHeldAfter(3);
  manager_->Drain();
  const std::string blob = (*storage_->jobs().GetCheckpoint(id))->blob;
  CloseAll();
  OpenStores();
  files_.FailReadings(blob, 1'000'000);
  StartManager();
  files_.WaitUntilRefused(1);
  manager_->Drain();
  EXPECT_EQ(Job(id).state, JobState::kQueued);
  EXPECT_EQ((*storage_->jobs().GetCheckpoint(id))->blob, blob);
}

TEST_F(JobFailuresTest, EndIsTriedUntilTheStorageTakesIt) {
  StartManager();
  failures_.ends = 12;
  const std::string id = Submit(Steps(3));
  manager_->WaitUntilIdle();
  for (int i = 0; i < 11; ++i) {
    EXPECT_EQ(Job(id).state, JobState::kVerifying) << "after " << i;
    RunHousekeepingLater();
    // The model that the end will name.
    EXPECT_TRUE(CollectUnreferencedBlobs(*storage_, *blobs_).ok());
  }
  RunHousekeepingLater();
  EXPECT_EQ(Job(id).state, JobState::kSucceeded);
  EXPECT_TRUE(blobs_->Read(Blobs(id).first).ok());
  EXPECT_TRUE(blobs_->Read(Blobs(id).second).ok());
  EXPECT_EQ(Events(id).back().state, JobState::kSucceeded);
}

TEST_F(JobFailuresTest, TriesBecomeRare) {
  StartManager();
  failures_.ends = 1000;
  Submit(Steps(3));
  manager_->WaitUntilIdle();
  for (int i = 0; i < 600; ++i) {
    clock_.Advance(absl::Milliseconds(100));
    manager_->RunHousekeeping();
  }
  EXPECT_GE(failures_.ends, 1000 - 11);  // 0.1 s, 0.2 s, ..., 25.6 s, 30 s
  EXPECT_LE(failures_.ends, 1000 - 9);
  failures_.ends = 0;
}

TEST_F(JobFailuresTest, WorkerAndMemoryAreFreeWhileAnEndWaits) {
  options_.num_workers = 1;
  StartManager();
  const int64_t bytes = manager_->Estimate(Steps(3))->memory_bytes;
  CloseAll();
  OpenStores();
  options_.memory_budget_bytes = bytes;
  StartManager();
  failures_.ends = 1;
  const std::string first = Submit(Steps(3));
  manager_->WaitUntilIdle();
  const std::string second = Submit(Steps(3));
  manager_->WaitUntilIdle();
  EXPECT_EQ(Job(second).state, JobState::kSucceeded);
  EXPECT_EQ(Job(first).state, JobState::kVerifying);
  RunHousekeepingLater();
  EXPECT_EQ(Job(first).state, JobState::kSucceeded);
}

TEST_F(JobFailuresTest, LeaseIsRenewedWhileAnEndWaits) {
  StartManager();
  failures_.ends = 3;
  const std::string id = Submit(Steps(3));
  manager_->WaitUntilIdle();
  const absl::Time before = Job(id).lease_until;
  RunHousekeepingLater();
  // The writer answers in order: this comes after the renewal.
  ASSERT_EQ(
      GetReason(storage_->events().Append({id, "nobody", 1}, {{0, "x"}}, clock_.Now()).status()),
      "LEASE_LOST");
  EXPECT_GT(Job(id).lease_until, before);
  RunHousekeepingLater();
  RunHousekeepingLater();
  EXPECT_EQ(Job(id).state, JobState::kSucceeded);
}

TEST_F(JobFailuresTest, LogSaysWhyAJobFailed) {
  StartManager();
  control_.FailAtStep(2, absl::InternalError("the solver has lost its way"));
  const std::string id = Submit(Steps(3));
  manager_->WaitUntilIdle();
  EXPECT_EQ(Job(id).state, JobState::kFailed);
  EXPECT_THAT(log_text_.str(), HasSubstr(absl::StrCat("job=", id, " attempt=1 failed: INTERNAL")));
  EXPECT_THAT(log_text_.str(), HasSubstr("the solver has lost its way"));
}

TEST_F(JobFailuresTest, LogKeepsUsersDataToItself) {
  StartManager();
  control_.FailAtStep(2, WithReason(absl::InvalidArgumentError("row 7: 'secret' is no number"),
                                    "BAD_CELL", {{"row", "7"}}));
  const std::string id = Submit(Steps(3));
  manager_->WaitUntilIdle();
  EXPECT_THAT(log_text_.str(), HasSubstr("failed: INVALID_ARGUMENT BAD_CELL"));
  EXPECT_THAT(log_text_.str(), Not(HasSubstr("secret")));
}

// The attempt's destructor waits for writes of its progress, and these for the thread that answers renewals.
TEST_F(JobFailuresTest, RenewalThatIsNotAnsweredDoesNotHoldTheAttempt) {
  AttemptEnvironment environment;
  environment.dependencies.storage = storage_.get();
  environment.dependencies.clock = &clock_;
  JobRecord job;
  job.id = "job";
  auto attempt = std::make_shared<JobAttempt>(&environment, job);
  const std::weak_ptr<JobAttempt> watched = attempt;
  failures_.hold_renewals = true;
  clock_.Advance(environment.options.lease_duration);
  attempt->RunHousekeeping();
  ASSERT_EQ(failures_.held_renewals.size(), 1U);
  attempt.reset();
  EXPECT_TRUE(watched.expired());
  failures_.held_renewals[0](absl::AbortedError("nobody is there to be told"));
  failures_.hold_renewals = false;
}

TEST_F(JobFailuresTest, JobWhoseEndWaitsIsCancelled) {
  StartManager();
  failures_.ends = 1;
  const std::string id = Submit(Steps(3));
  manager_->WaitUntilIdle();
  ASSERT_TRUE(manager_->Cancel(id).ok());
  RunHousekeepingLater();
  EXPECT_EQ(Job(id).state, JobState::kCancelled);
}

TEST_F(JobFailuresTest, JobThatIsLeftIsDeletedWithTheReserveOfAFullDisk) {
  const std::string path = folder_ + "/reserve";
  reserve_ = std::make_unique<DiskReserve>(path);
  ASSERT_TRUE(reserve_->Refill().ok());
  StartManager();
  const std::string id = Submit(Steps(1));
  manager_->WaitUntilIdle();
  failures_.disk_is_full = [&] { return std::filesystem::exists(path); };
  EXPECT_EQ(GetReason(manager_->Forget(id).status()), "DISK_FULL");
  manager_->RunHousekeeping();
  EXPECT_TRUE(absl::IsNotFound(storage_->jobs().GetJob(id).status()));
}

TEST_F(JobFailuresTest, ReserveOfAFullDiskWaitsForTheEndOfAJobThatIsLeft) {
  const std::string path = folder_ + "/reserve";
  reserve_ = std::make_unique<DiskReserve>(path);
  ASSERT_TRUE(reserve_->Refill().ok());
  StartManager();
  control_.Allow(1);
  const std::string id = Submit(Steps(2));
  control_.WaitUntilHeldAfter(1);
  failures_.disk_is_full = [&] { return std::filesystem::exists(path); };
  EXPECT_EQ(GetReason(manager_->Forget(id).status()), "DISK_FULL");
  manager_->RunHousekeeping();
  EXPECT_TRUE(std::filesystem::exists(path)) << "there is nothing to delete yet";
  control_.AllowAll();
  manager_->WaitUntilIdle();
  manager_->RunHousekeeping();
  EXPECT_TRUE(absl::IsNotFound(storage_->jobs().GetJob(id).status()));
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST_F(JobFailuresTest, DrainStoresTheEndsThatWait) {
  StartManager();
  failures_.ends = 3;
  const std::string id = Submit(Steps(3));
  manager_->WaitUntilIdle();
  manager_->Drain();
  EXPECT_EQ(Job(id).state, JobState::kSucceeded);
}

TEST_F(JobFailuresTest, QueuedJobThatALoweredBudgetExcludesFailsAndTheRestRuns) {
  options_.num_workers = 1;
  StartManager();
  control_.Allow(0);
  const std::string running = Submit(Steps(2));
  control_.WaitUntilAsked(1);
  control_.memory_bytes = 1'000'000'000;
  const std::string large = Submit(Steps(2));
  control_.memory_bytes = 1000;
  const std::string small = Submit(Steps(2));
  const int64_t budget = 2 * manager_->Estimate(Steps(2))->memory_bytes;
  manager_->Drain();
  CloseAll();
  OpenStores();
  options_.memory_budget_bytes = budget;
  control_.AllowAll();
  StartManager();
  manager_->WaitUntilIdle();
  EXPECT_EQ(ErrorReason(large), "JOB_TOO_LARGE");
  EXPECT_THAT(GetErrorMetadata(DecodeError(*Job(large).error)),
              Contains(std::make_pair("budget_bytes", absl::StrCat(budget))));
  EXPECT_EQ(Job(running).state, JobState::kSucceeded);
  EXPECT_EQ(Job(small).state, JobState::kSucceeded);
}

TEST_F(JobFailuresTest, ResumptionIsToldAlsoWhenItsFirstWriteFails) {
  StartManager();
  control_.Allow(3);
  const std::string id = Submit(Steps(6));
  control_.WaitUntilHeldAfter(3);
  manager_->Drain();
  CloseAll();
  OpenStores();
  failures_.appends = 1;
  control_.AllowAll();
  StartManager();
  manager_->WaitUntilIdle();
  EXPECT_THAT(EventTexts(id), Contains("RESUMED 3"));
}

}  // namespace
}  // namespace mercer::server
