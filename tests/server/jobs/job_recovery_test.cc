// Interruptions: drain, crash, restart; the result is that of an uninterrupted run, bit for bit.
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/jobs/upkeep/blob_collector.h"
#include "tests/server/jobs/job_harness.h"

namespace mercer::server {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::Not;

class JobRecoveryTest : public JobManagerFixture {
 protected:
  // Submits a job of 40 steps and holds it before its 11th.
  std::string StartAndHold() {
    StartManager();
    control_.Allow(10);
    const std::string id = Submit(Steps(40));
    control_.WaitUntilAsked(11);
    return id;
  }
  JobEvent ResumedEvent(const std::string& id) {
    for (const JobEvent& event : Events(id)) {
      if (event.kind == JobEventKind::kResumed) {
        return event;
      }
    }
    ADD_FAILURE() << "no RESUMED event";
    return JobEvent();
  }
};

TEST_F(JobRecoveryTest, DrainedJobContinuesToTheSameBits) {
  const std::string id = StartAndHold();
  manager_->Drain();
  EXPECT_TRUE(manager_->draining());
  EXPECT_EQ(Job(id).state, JobState::kQueued);
  EXPECT_THAT(Reasons(id), ElementsAre(AttemptReason::kDrained));
  EXPECT_EQ(Events(id).back().state, JobState::kQueued);
  EXPECT_EQ(Events(id).back().message, "DRAINED");
  CloseAll();
  OpenStores();
  control_.AllowAll();
  StartManager();
  manager_->WaitUntilIdle();
  EXPECT_EQ(Job(id).state, JobState::kSucceeded);
  EXPECT_EQ(ResumedEvent(id).iteration, 10);
  EXPECT_EQ(ResumedEvent(id).attempt, 2);
  EXPECT_THAT(Reasons(id), ElementsAre(AttemptReason::kDrained, AttemptReason::kSucceeded));
  EXPECT_EQ(control_.asked(), 41);  // 10 taken, 1 cut, 30 more: nothing was done twice
  EXPECT_EQ(Blobs(id), UninterruptedBlobs(40));
}

TEST_F(JobRecoveryTest, AttemptThatIsCutInItsFirstStepKeepsTheIteration) {
  const std::string id = StartAndHold();
  for (int i = 0; i < 2; ++i) {
    manager_->Drain();
    EXPECT_EQ((*storage_->jobs().GetCheckpoint(id))->iteration, 10) << "after drain " << i;
    CloseAll();
    OpenStores();
    StartManager();  // no further step is allowed
    control_.WaitUntilAsked(12 + i);
  }
  control_.AllowAll();
  manager_->WaitUntilIdle();
  EXPECT_EQ(Job(id).state, JobState::kSucceeded);
  EXPECT_EQ(Events(id).back().iteration, 40);
  EXPECT_EQ(control_.taken(), 40);
}

TEST_F(JobRecoveryTest, DrainDuringTheVerificationLosesNothing) {
  absl::Mutex mutex;
  bool verifying = false;
  bool hold = true;
  entry_.verify = [&, verify = entry_.verify](const OptionValues& options,
                                              const TrainingProblem& problem,
                                              const Witness& witness, RunContext& context) {
    using Result = decltype(verify(options, problem, witness, context));
    absl::MutexLock lock(&mutex);
    verifying = true;
    // The token cannot notify, so it is looked at every millisecond.
    while (hold && !context.cancelled()) {
      mutex.AwaitWithTimeout(absl::Condition(
                                 +[](bool* held) { return !*held; }, &hold),
                             absl::Milliseconds(1));
    }
    return context.cancelled() ? Result(absl::CancelledError("cancelled"))
                               : verify(options, problem, witness, context);
  };
  options_.checkpoint_interval = absl::Hours(1);
  StartManager();
  const std::string id = Submit(Steps(40));
  {
    absl::MutexLock lock(&mutex);
    mutex.Await(absl::Condition(&verifying));
  }
  manager_->Drain();
  const auto checkpoint = storage_->jobs().GetCheckpoint(id);
  ASSERT_TRUE(checkpoint->has_value());
  EXPECT_EQ((*checkpoint)->iteration, 40);
  CloseAll();
  OpenStores();
  {
    absl::MutexLock lock(&mutex);
    hold = false;
  }
  StartManager();
  manager_->WaitUntilIdle();
  EXPECT_EQ(Job(id).state, JobState::kSucceeded);
  EXPECT_EQ(control_.taken(), 40) << "no step is done twice";
  EXPECT_EQ(ResumedEvent(id).iteration, 40);
  EXPECT_EQ(Events(id).back().iteration, 40);
  EXPECT_EQ(Blobs(id), UninterruptedBlobs(40));
}

TEST_F(JobRecoveryTest, CrashedJobContinuesToTheSameBits) {
  const std::string id = StartAndHold();
  manager_.reset();
  EXPECT_EQ(Job(id).state, JobState::kRunning);  // nobody could say anything
  control_.AllowAll();
  CrashAndRestart();
  manager_->WaitUntilIdle();
  EXPECT_EQ(Job(id).state, JobState::kSucceeded);
  EXPECT_EQ(ResumedEvent(id).iteration, 10);
  EXPECT_THAT(Reasons(id), ElementsAre(AttemptReason::kWorkerLost, AttemptReason::kSucceeded));
  EXPECT_THAT(Events(id), Contains(Field(&JobEvent::message, "WORKER_LOST")));
  EXPECT_EQ(Blobs(id), UninterruptedBlobs(40));
}

TEST_F(JobRecoveryTest, CrashBeforeTheFirstCheckpointStartsAgain) {
  options_.checkpoint_interval = absl::Hours(1);
  const std::string id = StartAndHold();
  control_.AllowAll();
  CrashAndRestart();
  manager_->WaitUntilIdle();
  EXPECT_EQ(Job(id).state, JobState::kSucceeded);
  EXPECT_EQ(ResumedEvent(id).iteration, 0);
  EXPECT_EQ(Blobs(id), UninterruptedBlobs(40));
}

TEST_F(JobRecoveryTest, CheckpointsKeepTheirInterval) {
  options_.checkpoint_interval = absl::Seconds(5);
  const std::string id = StartAndHold();
  EXPECT_FALSE(storage_->jobs().GetCheckpoint(id)->has_value());
  clock_.Advance(absl::Seconds(5));
  control_.Allow(12);
  control_.WaitUntilAsked(13);
  const auto checkpoint = storage_->jobs().GetCheckpoint(id);
  ASSERT_TRUE(checkpoint->has_value());
  EXPECT_EQ((*checkpoint)->iteration, 11);
  EXPECT_EQ((*checkpoint)->code_version, "v1");
}

TEST_F(JobRecoveryTest, ManyInterruptionsGiveTheSameBits) {
  StartManager();
  control_.Allow(0);
  const std::string id = Submit(Steps(40));
  for (int i = 1; i <= 5; ++i) {
    const int64_t steps = control_.taken() + 4;
    control_.Allow(steps);
    control_.WaitUntilHeldAfter(steps);
    if (i % 2 == 0) {
      manager_->Drain();
    }
    CrashAndRestart();
  }
  control_.AllowAll();
  manager_->WaitUntilIdle();
  EXPECT_EQ(Job(id).state, JobState::kSucceeded);
  EXPECT_EQ(Job(id).attempt, 6);
  EXPECT_EQ(Blobs(id), UninterruptedBlobs(40));
}

TEST_F(JobRecoveryTest, CancellingJobOfADeadProcessIsCancelled) {
  const std::string id = StartAndHold();
  manager_.reset();
  ASSERT_TRUE(storage_->jobs()
                  .CancelJob({id, clock_.Now(), StateEvent(JobState::kCancelling),
                              StateEvent(JobState::kCancelled)})
                  .ok());
  CrashAndRestart();
  EXPECT_EQ(Job(id).state, JobState::kCancelled);
  EXPECT_THAT(Reasons(id), ElementsAre(AttemptReason::kCancelled));
}

TEST_F(JobRecoveryTest, CheckpointOfAnotherVersionStartsAgainAndSaysSo) {
  const std::string id = StartAndHold();
  control_.AllowAll();
  options_.code_version = "v2";
  CrashAndRestart();
  manager_->WaitUntilIdle();
  EXPECT_EQ(Job(id).state, JobState::kSucceeded);
  EXPECT_EQ(ResumedEvent(id).iteration, 0);
  EXPECT_THAT(ResumedEvent(id).message, HasSubstr("v1"));
  EXPECT_EQ(Blobs(id), UninterruptedBlobs(40));
}

TEST_F(JobRecoveryTest, DamagedCheckpointStartsAgain) {
  const std::string id = StartAndHold();
  manager_.reset();
  const std::string digest = (*storage_->jobs().GetCheckpoint(id))->blob;
  std::fstream(absl::StrCat(folder_, "/blobs/", digest.substr(0, 2), "/", digest),
               std::ios::in | std::ios::out | std::ios::binary)
      << "rubbish";
  control_.AllowAll();
  CrashAndRestart();
  manager_->WaitUntilIdle();
  EXPECT_EQ(Job(id).state, JobState::kSucceeded);
  EXPECT_EQ(ResumedEvent(id).iteration, 0);
  EXPECT_EQ(Blobs(id), UninterruptedBlobs(40));
}

TEST_F(JobRecoveryTest, CheckpointThatTheRunCannotReadIsToldAsTheStartAlone) {
  const std::string id = StartAndHold();
  manager_.reset();
  const JobRecord job = Job(id);
  {
    const auto rubbish = blobs_->Put("no state of a training");
    ASSERT_TRUE(rubbish.ok()) << rubbish.status();
    ASSERT_TRUE(storage_->jobs()
                    .SaveCheckpoint({id, job.lease_worker, job.epoch},
                                    {10, "v1", rubbish->digest(), clock_.Now()})
                    .ok());
  }
  control_.AllowAll();
  CrashAndRestart();
  manager_->WaitUntilIdle();
  EXPECT_EQ(Job(id).state, JobState::kSucceeded);
  EXPECT_EQ(ResumedEvent(id).iteration, 0);
  EXPECT_THAT(ResumedEvent(id).message, HasSubstr("cannot be used"));
  const std::vector<std::string> texts = EventTexts(id);
  EXPECT_EQ(std::count(texts.begin(), texts.end(), "RESUMED 0"), 1);
  EXPECT_THAT(texts, Not(Contains("RESUMED 10")));
  EXPECT_EQ(Blobs(id), UninterruptedBlobs(40));
}

TEST_F(JobRecoveryTest, BlobsThatNothingNamesAreCollectedAtTheStart) {
  ASSERT_TRUE(blobs_->Put("left over by a crash").ok());
  EXPECT_EQ(blobs_->List()->size(), 2U);
  StartManager();
  EXPECT_EQ(blobs_->List()->size(), 1U);
  EXPECT_TRUE(manager_->OpenDataset("data", CancellationToken()).ok());
}

TEST_F(JobRecoveryTest, ReleasedBlobThatOthersNameStays) {
  DatasetRecord twin = *storage_->datasets().GetDataset("data");
  twin.id = "twin";
  ASSERT_TRUE(storage_->datasets().CreateDataset(twin).ok());
  const auto first = storage_->datasets().DeleteDataset("twin");
  EXPECT_EQ(*DeleteReleasedBlobs(*storage_, *blobs_, {first->blob}), 0);
  const auto second = storage_->datasets().DeleteDataset("data");
  EXPECT_EQ(*DeleteReleasedBlobs(*storage_, *blobs_, {second->blob}), 1);
}

TEST_F(JobRecoveryTest, WatcherFollowsAJobOverARestart) {
  const std::string id = StartAndHold();
  const int64_t seen = Job(id).last_event->sequence;
  control_.AllowAll();
  CrashAndRestart();
  absl::Mutex mutex;
  bool ended = false;
  std::vector<int64_t> sequences;
  std::unique_ptr<ProgressSubscription> subscription;
  const auto pump = [&] {
    absl::MutexLock lock(&mutex);
    while (!ended) {
      const NextEvent next = subscription->Next();
      if (next.kind == NextEvent::kWait) {
        return;
      }
      ended = next.kind == NextEvent::kEnd;
      if (!ended) {
        sequences.push_back(next.item->record.sequence);
      }
    }
  };
  {
    absl::MutexLock lock(&mutex);
    subscription = hub_->Subscribe(id, seen, pump);
  }
  pump();
  {
    absl::MutexLock lock(&mutex);
    mutex.Await(absl::Condition(&ended));
  }
  subscription.reset();
  for (size_t i = 0; i < sequences.size(); ++i) {
    EXPECT_EQ(sequences[i], seen + 1 + static_cast<int64_t>(i));
  }
  EXPECT_EQ(sequences.back(), Job(id).last_event->sequence);
}

}  // namespace
}  // namespace mercer::server
