// Jobs of a dead process: who is to blame, and how often a job is tried again.
#include "server/jobs/orphans.h"

#include <fstream>
#include <memory>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/storage/forwarding_storage.h"
#include "tests/server/jobs/job_harness.h"
#include "tests/support/server/hooked_jobs.h"

namespace mercer::server {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr int kMaxLosses = 4;

// A running job with these attempts before its present one.
Orphan MakeOrphan(const std::vector<AttemptReason>& before, int32_t checkpoint_attempt = 0) {
  Orphan orphan;
  orphan.job.id = "job";
  orphan.job.state = JobState::kRunning;
  for (const AttemptReason reason : before) {
    AttemptRecord attempt;
    attempt.attempt = ++orphan.job.attempt;
    attempt.reason = reason;
    orphan.attempts.push_back(attempt);
  }
  AttemptRecord present;
  present.attempt = ++orphan.job.attempt;
  orphan.attempts.push_back(present);
  if (checkpoint_attempt > 0) {
    orphan.checkpoint.emplace();
    orphan.checkpoint->attempt = checkpoint_attempt;
  }
  return orphan;
}

OrphanVerdict Judge(const Orphan& orphan, const std::vector<CrashedAttempt>& crashes = {}) {
  return JudgeOrphan(orphan, crashes, kMaxLosses);
}

const AttemptReason kLost = AttemptReason::kWorkerLost;
const AttemptReason kCrashed = AttemptReason::kCrashed;

TEST(JudgeOrphanTest, OnlyTrainingsHaveAModelToKeep) {
  for (const int32_t checkpoint_attempt : {0, 1}) {
    Orphan orphan = MakeOrphan({kLost}, checkpoint_attempt);
    orphan.job.stop_requested = true;
    EXPECT_EQ(Judge(orphan).state, JobState::kQueued);
    orphan.job.kind = JobKind::kEvaluation;
    EXPECT_EQ(Judge(orphan).state, JobState::kCancelled);
  }
}

TEST(JudgeOrphanTest, OneLossIsNobodysFault) {
  const OrphanVerdict verdict = Judge(MakeOrphan({}));
  EXPECT_EQ(verdict.state, JobState::kQueued);
  EXPECT_EQ(verdict.reason, kLost);
  EXPECT_TRUE(verdict.error.ok());
}

TEST(JudgeOrphanTest, LossesWithoutACheckpointAreCounted) {
  EXPECT_EQ(Judge(MakeOrphan({kLost, kLost})).state, JobState::kQueued);
  const OrphanVerdict verdict = Judge(MakeOrphan({kLost, kLost, kLost}));
  EXPECT_EQ(verdict.state, JobState::kFailed);
  EXPECT_EQ(verdict.reason, kLost);
  EXPECT_EQ(verdict.error.code(), absl::StatusCode::kAborted) << "clients are told the metadata";
  EXPECT_EQ(GetReason(verdict.error), "JOB_LOST_REPEATEDLY");
  EXPECT_THAT(GetErrorMetadata(verdict.error), ElementsAre(std::make_pair("attempts", "4")));
}

TEST(JudgeOrphanTest, CheckpointIsHeadway) {
  const std::vector<AttemptReason> losses(20, kLost);
  EXPECT_EQ(Judge(MakeOrphan(losses, 21)).state, JobState::kQueued) << "of the present attempt";
  EXPECT_EQ(Judge(MakeOrphan(losses, 18)).state, JobState::kQueued) << "19, 20, 21 had none";
  EXPECT_EQ(Judge(MakeOrphan(losses, 17)).state, JobState::kFailed);
}

TEST(JudgeOrphanTest, OnlyLossesCountAsLosses) {
  EXPECT_EQ(Judge(MakeOrphan({kLost, AttemptReason::kDrained, AttemptReason::kServerCrashed, kLost,
                              AttemptReason::kDrained}))
                .state,
            JobState::kQueued);
  EXPECT_EQ(Judge(MakeOrphan({kLost, AttemptReason::kDrained, kLost, kLost})).state,
            JobState::kFailed)
      << "an orderly end in between is no headway";
}

TEST(JudgeOrphanTest, FirstCrashIsForgiven) {
  const OrphanVerdict verdict = Judge(MakeOrphan({}), {{"job", 1, 11}});
  EXPECT_EQ(verdict.state, JobState::kQueued);
  EXPECT_EQ(verdict.reason, kCrashed);
  EXPECT_TRUE(verdict.error.ok());
}

TEST(JudgeOrphanTest, SecondCrashIsTheLast) {
  const OrphanVerdict verdict =
      Judge(MakeOrphan({kCrashed, AttemptReason::kDrained, kLost}, 3), {{"job", 4, 6}});
  EXPECT_EQ(verdict.state, JobState::kFailed);
  EXPECT_EQ(verdict.reason, kCrashed);
  EXPECT_EQ(verdict.error.code(), absl::StatusCode::kAborted) << "clients are told the metadata";
  EXPECT_EQ(GetReason(verdict.error), "JOB_CRASHED_WORKER");
  EXPECT_THAT(GetErrorMetadata(verdict.error),
              ElementsAre(std::make_pair("attempts", "2"), std::make_pair("signal", "6")));
}

TEST(JudgeOrphanTest, CrashOfAnotherJobCountsForNothing) {
  const std::vector<AttemptReason> losses(kMaxLosses - 1, kLost);
  for (const CrashedAttempt& crash :
       {CrashedAttempt{"another", 1, 11}, CrashedAttempt{"job", 1, 11}}) {
    const OrphanVerdict verdict = Judge(MakeOrphan(losses), {crash});
    EXPECT_EQ(verdict.state, JobState::kQueued);
    EXPECT_EQ(verdict.reason, AttemptReason::kServerCrashed);
  }
}

TEST(JudgeOrphanTest, CancelledJobIsCancelledWhateverItDid) {
  Orphan orphan = MakeOrphan({kCrashed});
  orphan.job.state = JobState::kCancelling;
  EXPECT_EQ(Judge(orphan, {{"job", 2, 11}}).state, JobState::kCancelled);
}

class TakeoverTest : public JobManagerFixture {
 protected:
  // A job that a worker holds for so long.
  void AddHeld(const std::string& id, absl::Duration lease) {
    NewJob job;
    job.id = id;
    job.dataset_ids = {"data"};
    job.model_name = "model";
    job.now = clock_.Now();
    ASSERT_TRUE(storage_->jobs().CreateJob(job).ok());
    ClaimRequest claim;
    claim.worker = "other/1/0";
    claim.now = clock_.Now();
    claim.lease = lease;
    claim.free_memory_bytes = 1;
    ASSERT_TRUE(storage_->jobs().ClaimJob(claim)->has_value());
  }
  absl::Status Recover(Storage* storage) {
    AttemptEnvironment environment;
    environment.options.max_lost_attempts = kMaxLosses;
    environment.dependencies.storage = storage;
    environment.dependencies.blobs = blobs_.get();
    environment.dependencies.clock = &clock_;
    return RecoverOrphans(environment);
  }
};

TEST_F(TakeoverTest, OnlyExpiredLeasesAreTaken) {
  // More than a page of those that are left alone, between two that are not.
  AddHeld("first", absl::Seconds(5));
  for (int i = 0; i < kDefaultPageSize + 3; ++i) {
    AddHeld(absl::StrCat("held-", i), absl::Seconds(60));
  }
  AddHeld("last", absl::Seconds(10));
  clock_.Advance(absl::Seconds(5));
  ASSERT_TRUE(Recover(storage_.get()).ok());
  EXPECT_EQ(Job("first").state, JobState::kQueued);
  EXPECT_EQ(Job("last").state, JobState::kRunning);
  clock_.Advance(absl::Seconds(5));
  ASSERT_TRUE(Recover(storage_.get()).ok());
  EXPECT_EQ(Job("last").state, JobState::kQueued);
  EXPECT_THAT(Reasons("last"), ElementsAre(AttemptReason::kWorkerLost));
  EXPECT_EQ(Job("held-0").state, JobState::kRunning);
  EXPECT_EQ(storage_->jobs().CountJobs()->at(JobState::kRunning), kDefaultPageSize + 3);
}

// Between the look at the leases and the end of the attempt something happens to the job.
TEST_F(TakeoverTest, JobThatChangesMeanwhileIsJudgedAsItIsThen) {
  JobHooks hooks;
  HookedStorage storage(std::make_unique<ForwardingStorage>(storage_.get()), &hooks);
  AddHeld("renewed", absl::ZeroDuration());
  AddHeld("cancelled", absl::ZeroDuration());
  hooks.after_held = [this] {
    const JobRecord job = Job("renewed");
    const Lease lease{job.id, job.lease_worker, job.epoch};
    EXPECT_TRUE(storage_->jobs().RenewLease(lease, absl::Hours(1)).ok());
    EXPECT_TRUE(storage_->jobs().CancelJob({"cancelled", clock_.Now(), {}, {}}).ok());
  };
  EXPECT_EQ(Recover(&storage), absl::OkStatus());
  EXPECT_EQ(Job("renewed").state, JobState::kRunning);
  EXPECT_EQ(Job("cancelled").state, JobState::kCancelled);
}

// What a worker that is late with its lease has saved is still the job's.
TEST_F(TakeoverTest, JobIsJudgedAsItIsInTheTransaction) {
  JobHooks hooks;
  HookedStorage storage(std::make_unique<ForwardingStorage>(storage_.get()), &hooks);
  AddHeld("stopped", absl::ZeroDuration());
  ASSERT_TRUE(storage_->jobs().StopJob({"stopped", clock_.Now(), {}, {}, {}, {}, {}}).ok());
  AddHeld("cancelled", absl::ZeroDuration());
  bool changed = false;
  hooks.before_takeover = [&] {
    if (std::exchange(changed, true)) {
      return;
    }
    const JobRecord job = Job("stopped");
    EXPECT_TRUE(storage_->jobs()
                    .SaveCheckpoint({job.id, job.lease_worker, job.epoch},
                                    {1, "v1", "digest", clock_.Now()})
                    .ok());
    EXPECT_TRUE(storage_->jobs().CancelJob({"cancelled", clock_.Now(), {}, {}}).ok());
  };
  EXPECT_EQ(Recover(&storage), absl::OkStatus());
  EXPECT_EQ(Job("stopped").state, JobState::kQueued);
  EXPECT_TRUE(storage_->jobs().GetCheckpoint("stopped")->has_value());
  EXPECT_EQ(Job("cancelled").state, JobState::kCancelled);
}

// The folder is locked: whoever held it before is dead.
TEST_F(TakeoverTest, StorageOfOneProcessBeginsWithAllLeasesExpired) {
  AddHeld("job", absl::Hours(1));
  ASSERT_TRUE(Recover(storage_.get()).ok());
  EXPECT_EQ(Job("job").state, JobState::kRunning);
  CloseAll();
  clock_.Jump(-absl::Hours(5));  // whatever the clock says
  OpenStores();
  ASSERT_TRUE(Recover(storage_.get()).ok());
  EXPECT_EQ(Job("job").state, JobState::kQueued);
}

class OrphansTest : public JobManagerFixture {
 protected:
  // Lets the job take so many more steps, and waits for it.
  void StepOn(int64_t steps) {
    const int64_t target = control_.taken() + steps;
    control_.Allow(target);
    control_.WaitUntilHeldAfter(target);
  }
  // The process dies, and a handler of the crash has noted this attempt.
  void CrashWithNote(const std::string& id, int attempt) {
    CloseAll();
    std::ofstream(folder_ + "/crashes", std::ios::app) << id << " " << attempt << " 11\n";
    OpenStores();
  }
};

TEST_F(OrphansTest, JobThatCrashesTwiceFailsAndAnotherGoesOn) {
  options_.num_workers = 2;
  StartManager();
  control_.Allow(0);
  const std::string bad = Submit(Steps(40));
  control_.WaitUntilAsked(1);
  const std::string good = Submit(Steps(40));
  control_.WaitUntilAsked(2);
  CrashWithNote(bad, 1);
  EXPECT_THAT(crash_notes_->found(), ElementsAre(CrashedAttempt{bad, 1, 11}));
  StartManager();
  control_.WaitUntilAsked(4);
  EXPECT_THAT(Reasons(bad), ElementsAre(kCrashed, AttemptReason::kRunning));
  EXPECT_THAT(Reasons(good), ElementsAre(AttemptReason::kServerCrashed, AttemptReason::kRunning));
  CrashWithNote(bad, 2);
  control_.AllowAll();
  StartManager();
  manager_->WaitUntilIdle();
  EXPECT_EQ(ErrorReason(bad), "JOB_CRASHED_WORKER");
  EXPECT_THAT(Reasons(bad), ElementsAre(kCrashed, kCrashed));
  EXPECT_EQ(Events(bad).back().state, JobState::kFailed);
  EXPECT_EQ(Job(good).state, JobState::kSucceeded);
}

TEST_F(OrphansTest, NotesAreUsedOnce) {
  StartManager();
  control_.Allow(0);
  const std::string id = Submit(Steps(40));
  control_.WaitUntilAsked(1);
  CrashWithNote(id, 1);
  StartManager();
  control_.WaitUntilAsked(2);
  CloseAll();
  OpenStores();
  EXPECT_THAT(crash_notes_->found(), IsEmpty());
  StartManager();
  EXPECT_THAT(Reasons(id)[1], kLost);
}

TEST_F(OrphansTest, JobThatDiesWithoutHeadwayFails) {
  options_.max_lost_attempts = 3;
  options_.checkpoint_interval = absl::Hours(1);
  StartManager();
  control_.Allow(0);
  const std::string id = Submit(Steps(40));
  for (int i = 1; i <= 3; ++i) {
    EXPECT_EQ(Job(id).state == JobState::kFailed, false) << "after " << i - 1;
    StepOn(2);
    CrashAndRestart();
  }
  EXPECT_EQ(ErrorReason(id), "JOB_LOST_REPEATEDLY");
  EXPECT_THAT(log_text_.str(), HasSubstr(absl::StrCat("job=", id, " attempt=1 was left")));
  EXPECT_THAT(log_text_.str(), HasSubstr(absl::StrCat("job=", id, " attempt=3 was left")));
  EXPECT_THAT(Reasons(id), ElementsAre(kLost, kLost, kLost));
}

TEST_F(OrphansTest, JobThatMakesHeadwayMayDieAsOftenAsItLikes) {
  options_.max_lost_attempts = 2;
  StartManager();
  control_.Allow(0);
  const std::string id = Submit(Steps(40));
  for (int i = 0; i < 12; ++i) {
    StepOn(2);  // each with a checkpoint
    CrashAndRestart();
  }
  control_.AllowAll();
  manager_->WaitUntilIdle();
  EXPECT_EQ(Job(id).state, JobState::kSucceeded);
  EXPECT_EQ(Job(id).attempt, 13);
}

}  // namespace
}  // namespace mercer::server
