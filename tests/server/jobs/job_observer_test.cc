// What an observer hears of jobs: each thing once, whatever has ended them.
#include "server/jobs/job_observer.h"

#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/watching/watched_storage.h"
#include "tests/server/jobs/job_harness.h"

namespace mercer::server {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

class RecordingObserver final : public JobObserver {
 public:
  using Ends = std::vector<std::pair<std::string, JobState>>;

  void OnClaimed(const JobRecord& job) override {
    absl::MutexLock lock(&mutex_);
    claims_.emplace_back(job.attempt, job.start_time - job.create_time);
  }
  void OnWorked(const JobRecord& job, absl::Duration time) override {
    absl::MutexLock lock(&mutex_);
    works_.emplace_back(job.learner, time);
  }
  void OnEnded(const JobRecord& job) override {
    absl::MutexLock lock(&mutex_);
    ends_.emplace_back(job.id, job.state);
  }

  // The number of each attempt, and how long after its submission the job's first one began.
  std::vector<std::pair<int32_t, absl::Duration>> claims() const {
    absl::MutexLock lock(&mutex_);
    return claims_;
  }
  std::vector<std::pair<std::string, absl::Duration>> works() const {
    absl::MutexLock lock(&mutex_);
    return works_;
  }
  Ends ends() const {
    absl::MutexLock lock(&mutex_);
    return ends_;
  }

 private:
  mutable absl::Mutex mutex_;
  std::vector<std::pair<int32_t, absl::Duration>> claims_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::pair<std::string, absl::Duration>> works_ ABSL_GUARDED_BY(mutex_);
  Ends ends_ ABSL_GUARDED_BY(mutex_);
};

class JobObserverTest : public JobManagerFixture {
 protected:
  JobObserverTest() {
    job_observer_ = &observer_;
    options_.num_workers = 1;
  }
  ~JobObserverTest() override { CloseAll(); }  // before the observer

  absl::StatusOr<std::unique_ptr<Storage>> OpenStorage() override {
    MERCER_ASSIGN_OR_RETURN(std::unique_ptr<Storage> storage, JobManagerFixture::OpenStorage());
    return std::make_unique<WatchedStorage>(std::move(storage), &observer_);
  }

  RecordingObserver observer_;
};

TEST_F(JobObserverTest, HearsHowLongJobsWaitedAndWereWorkedOn) {
  StartManager();
  control_.Allow(0);
  const std::string first = Submit(Steps(2));
  control_.WaitUntilAsked(1);
  const std::string second = Submit(Steps(2));
  clock_.Advance(absl::Seconds(7));
  control_.AllowAll();
  manager_->WaitUntilIdle();
  EXPECT_THAT(observer_.claims(),
              ElementsAre(Pair(1, absl::ZeroDuration()), Pair(1, absl::Seconds(7))));
  EXPECT_THAT(observer_.works(), ElementsAre(Pair("chaotic", absl::Seconds(7)),
                                             Pair("chaotic", absl::ZeroDuration())));
  EXPECT_THAT(observer_.ends(),
              ElementsAre(Pair(first, JobState::kSucceeded), Pair(second, JobState::kSucceeded)));
}

TEST_F(JobObserverTest, CancelledJobsEndOnceWhetherTheyWaitOrRun) {
  StartManager();
  control_.Allow(0);
  const std::string running = Submit(Steps(2));
  control_.WaitUntilAsked(1);
  const std::string waiting = Submit(Steps(2));
  ASSERT_TRUE(manager_->Cancel(waiting).ok());
  EXPECT_THAT(observer_.ends(), ElementsAre(Pair(waiting, JobState::kCancelled)));
  ASSERT_TRUE(manager_->Cancel(running).ok());
  EXPECT_FALSE(manager_->Cancel(waiting).ok());
  manager_->WaitUntilIdle();
  EXPECT_THAT(observer_.ends(), ElementsAre(Pair(waiting, JobState::kCancelled),
                                            Pair(running, JobState::kCancelled)));
  EXPECT_EQ(observer_.claims().size(), 1u);
  EXPECT_EQ(observer_.works().size(), 1u);
}

TEST_F(JobObserverTest, StopIsNeitherAClaimNorAnEnd) {
  StartManager();
  control_.Allow(3);
  const std::string running = Submit(Steps(40));
  control_.WaitUntilHeldAfter(3);
  const std::string waiting = Submit(Steps(2));
  ASSERT_TRUE(manager_->Stop(waiting).ok());  // without a checkpoint it has nothing to keep
  EXPECT_THAT(observer_.ends(), ElementsAre(Pair(waiting, JobState::kCancelled)));
  ASSERT_TRUE(manager_->Stop(running).ok());
  manager_->WaitUntilIdle();
  EXPECT_EQ(observer_.claims().size(), 1u);
  EXPECT_THAT(observer_.ends(), ElementsAre(Pair(waiting, JobState::kCancelled),
                                            Pair(running, JobState::kSucceeded)));
}

TEST_F(JobObserverTest, DrainedJobIsClaimedAgainAndFailsOnce) {
  StartManager();
  control_.Allow(3);
  const std::string id = Submit(Steps(40));
  control_.WaitUntilHeldAfter(3);
  manager_->Drain();
  EXPECT_THAT(observer_.ends(), IsEmpty());
  EXPECT_EQ(observer_.works().size(), 1u);
  CloseAll();
  OpenStores();
  control_.FailAtStep(5, absl::InvalidArgumentError("planted"));
  control_.AllowAll();
  StartManager();
  manager_->WaitUntilIdle();
  EXPECT_THAT(observer_.claims(), ElementsAre(Pair(1, testing::_), Pair(2, testing::_)));
  EXPECT_EQ(observer_.works().size(), 2u);
  EXPECT_THAT(observer_.ends(), ElementsAre(Pair(id, JobState::kFailed)));
}

// Nobody trained it to its end: the process that did is dead.
TEST_F(JobObserverTest, JobThatIsGivenUpWhileTheServerRecoversEnds) {
  options_.max_lost_attempts = 1;
  options_.checkpoint_interval = absl::InfiniteDuration();
  StartManager();
  control_.Allow(3);
  const std::string id = Submit(Steps(40));
  control_.WaitUntilHeldAfter(3);
  CrashAndRestart();
  EXPECT_EQ(ErrorReason(id), "JOB_LOST_REPEATEDLY");
  EXPECT_THAT(observer_.ends(), ElementsAre(Pair(id, JobState::kFailed)));
}

}  // namespace
}  // namespace mercer::server
