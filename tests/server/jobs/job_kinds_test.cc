// Jobs of other kinds than trainings: who runs them, and what becomes of their attempts.
#include <functional>
#include <memory>
#include <set>
#include <string>

#include "absl/time/clock.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/jobs/attempt_frame.h"
#include "server/jobs/job_work.h"
#include "tests/server/jobs/job_harness.h"

namespace mercer::server {
namespace {

using ::testing::ElementsAre;
using ::testing::EndsWith;

// Lasts until it is let go or interrupted; then a data set and a result.
class HeldWork final : public JobWork {
 public:
  using Hold = std::function<absl::Status(AttemptFrame&)>;
  HeldWork(AttemptFrame& frame, Hold hold) : frame_(frame), hold_(std::move(hold)) {}

  absl::StatusOr<WorkOutcome> Run() override {
    if (frame_.job().attempt > 1) {
      frame_.TellResumed(0, "begun anew");
    }
    MERCER_RETURN_IF_ERROR(hold_(frame_));
    MERCER_ASSIGN_OR_RETURN(PinnedBlob blob,
                            frame_.dependencies().blobs->Put("rows of " + frame_.job().id));
    WorkOutcome outcome;
    outcome.dataset.emplace();
    outcome.dataset->id = "of-" + frame_.job().id;
    outcome.dataset->blob = blob.digest();
    outcome.result = "result of " + frame_.job().request;
    outcome.blobs.push_back(std::move(blob));
    return outcome;
  }

 private:
  AttemptFrame& frame_;
  const Hold hold_;
};

class JobKindsTest : public JobManagerFixture {
 protected:
  void SetUp() override {
    JobManagerFixture::SetUp();
    for (const JobKind kind : {JobKind::kPrediction, JobKind::kEvaluation}) {
      other_works_[kind] = [this](AttemptFrame& frame) {
        return std::make_unique<HeldWork>(frame, [this](AttemptFrame& held) { return Hold(held); });
      };
    }
  }
  void TearDown() override {
    LetGo();
    JobManagerFixture::TearDown();
  }
  absl::Status Hold(AttemptFrame& frame) {
    absl::MutexLock lock(&mutex_);
    begun_.insert(frame.job().id);
    if (!watched_.empty()) {
      const JobState state = states_then_[frame.job().id] = Job(watched_).state;
      // Until the worker of trainings, which the system may let wait, has looked for those that wait.
      for (int i = 0; state == JobState::kQueued && failures_.lists_begun == 0 && i < 10'000; ++i) {
        absl::SleepFor(absl::Milliseconds(1));
      }
      EXPECT_TRUE(state != JobState::kQueued || failures_.lists_begun > 0);
    }
    while (!let_go_ && !(minds_cancellation_ && frame.token().cancelled()) &&
           !frame.interruption()->stop_requested()) {
      mutex_.AwaitWithTimeout(absl::Condition(&let_go_), absl::Milliseconds(1));
    }
    if (frame.token().cancelled()) {
      return absl::CancelledError();
    }
    if (frame.interruption()->stop_requested()) {
      return WithReason(absl::FailedPreconditionError("stopped"), "NO_MODEL");
    }
    return std::exchange(failure_, absl::OkStatus());
  }
  void LetGo() {
    absl::MutexLock lock(&mutex_);
    let_go_ = true;
  }
  void FailOnce(absl::Status status) {
    absl::MutexLock lock(&mutex_);
    failure_ = std::move(status);
  }
  bool Begun(const std::string& id) {
    absl::MutexLock lock(&mutex_);
    return begun_.contains(id);
  }
  void WaitUntilBegun(const std::string& id) {
    while (!Begun(id)) {
      std::this_thread::yield();
    }
  }
  JobSubmission Prediction(const std::string& request = "predict") {
    JobSubmission submission;
    submission.kind = JobKind::kPrediction;
    submission.request = request;
    return submission;
  }
  absl::StatusOr<CreatedJob> TryToSubmit(const JobSubmission& submission, int64_t memory = 1000) {
    return manager_->SubmitOther(submission, [&]() -> absl::StatusOr<AdmittedJob> {
      ++admissions_;
      return AdmittedJob{submission.request + ", resolved", {"data"}, memory};
    });
  }
  void ExpectThatAChainStarvesNoTraining(bool empty_pages);
  std::string SubmitPrediction(int64_t memory = 1000) {
    const auto created = TryToSubmit(Prediction(), memory);
    EXPECT_TRUE(created.ok()) << created.status();
    return created.ok() ? created->job.id : "";
  }

  absl::Mutex mutex_;
  bool let_go_ ABSL_GUARDED_BY(mutex_) = false;
  bool minds_cancellation_ = true;
  std::set<std::string> begun_ ABSL_GUARDED_BY(mutex_);
  std::string watched_ ABSL_GUARDED_BY(mutex_);  // a job, whose states when others begin are kept
  std::map<std::string, JobState> states_then_ ABSL_GUARDED_BY(mutex_);
  absl::Status failure_ ABSL_GUARDED_BY(mutex_);
  int admissions_ = 0;
};

TEST_F(JobKindsTest, SuccessStoresDataSetAndResult) {
  LetGo();
  StartManager();
  const std::string id = SubmitPrediction();
  manager_->WaitUntilIdle();
  const JobRecord job = Job(id);
  EXPECT_EQ(job.state, JobState::kSucceeded);
  EXPECT_EQ(job.kind, JobKind::kPrediction);
  EXPECT_EQ(job.result, "result of predict, resolved");
  const auto dataset = storage_->datasets().GetDataset("of-" + id);
  ASSERT_TRUE(dataset.ok()) << dataset.status();
  EXPECT_TRUE(blobs_->Read(dataset->blob).ok());
}

TEST_F(JobKindsTest, RunsBesideTrainingsThatHaveAllWorkers) {
  options_.num_workers = 1;
  StartManager();
  control_.Allow(0);
  const std::string training = Submit(Steps(2));
  control_.WaitUntilAsked(1);
  const std::string waiting = Submit(Steps(2));
  LetGo();
  const std::string id = SubmitPrediction();
  while (Job(id).state != JobState::kSucceeded) {
    std::this_thread::yield();
  }
  EXPECT_EQ(Job(training).state, JobState::kRunning);
  EXPECT_EQ(Job(waiting).state, JobState::kQueued);  // the other worker takes no trainings
  control_.AllowAll();
  manager_->WaitUntilIdle();
  EXPECT_EQ(Job(waiting).state, JobState::kSucceeded);
}

// Whichever worker hears of a prediction first.
TEST_F(JobKindsTest, TheWorkerOfTrainingsLeavesOthersToTheOneBesideIt) {
  options_.num_workers = 1;
  StartManager();
  for (int i = 0; i < 30; ++i) {
    const std::string prediction = SubmitPrediction();
    WaitUntilBegun(prediction);
    ASSERT_THAT(Job(prediction).lease_worker, EndsWith("/1"));
    const std::string training = Submit(Steps(1));
    while (!IsFinal(Job(training).state)) {
      absl::SleepFor(absl::Milliseconds(1));
    }
    ASSERT_EQ(Job(training).state, JobState::kSucceeded);
    ASSERT_TRUE(manager_->Cancel(prediction).ok());
    manager_->WaitUntilIdle();
  }
}

TEST_F(JobKindsTest, TheWorkerOfTrainingsHelpsWhileTheOneBesideItIsBusy) {
  options_.num_workers = 1;
  StartManager();
  for (int i = 0; i < 30; ++i) {
    const std::string first = SubmitPrediction();
    const std::string second = SubmitPrediction();
    WaitUntilBegun(first);
    WaitUntilBegun(second);
    EXPECT_THAT(Job(first).lease_worker, EndsWith("/1"));
    EXPECT_THAT(Job(second).lease_worker, EndsWith("/0"));
    ASSERT_TRUE(manager_->Cancel(second).ok());
    ASSERT_TRUE(manager_->Cancel(first).ok());
    manager_->WaitUntilIdle();
  }
}

void JobKindsTest::ExpectThatAChainStarvesNoTraining(bool empty_pages) {
  options_.num_workers = 1;
  StartManager();
  const int64_t training_bytes = Job(Submit(Steps(2))).memory_bytes;
  manager_->WaitUntilIdle();
  manager_.reset();
  options_.memory_budget_bytes = training_bytes;
  StartManager();
  failures_.empty_pages = empty_pages;
  control_.Allow(0);
  const std::string running = Submit(Steps(2));
  control_.WaitUntilAsked(3);  // two of the first training
  const std::string big = Submit(Steps(2));
  {
    absl::MutexLock lock(&mutex_);
    watched_ = big;
  }
  // One at a time fits. As soon as the first training has ended either `big` begins, or one prediction before it.
  std::vector<std::string> predictions;
  for (int i = 0; i < 12; ++i) {
    predictions.push_back(SubmitPrediction(training_bytes));
  }
  failures_.lists_begun = 0;
  LetGo();
  control_.AllowAll();
  manager_->WaitUntilIdle();
  EXPECT_EQ(Job(running).state, JobState::kSucceeded);
  EXPECT_EQ(Job(big).state, JobState::kSucceeded);
  int before = 0;
  absl::MutexLock lock(&mutex_);
  for (const std::string& id : predictions) {
    EXPECT_EQ(Job(id).state, JobState::kSucceeded);
    before += states_then_[id] == JobState::kQueued ? 1 : 0;
  }
  EXPECT_LE(before, 1);
}

TEST_F(JobKindsTest, ChainOfThemStarvesNoTrainingOfMemory) {
  ExpectThatAChainStarvesNoTraining(false);
}

TEST_F(JobKindsTest, NorDoesItWhenAPageDoesNotReachTheJobsThatWait) {
  ExpectThatAChainStarvesNoTraining(true);
}

TEST_F(JobKindsTest, JobsOfCallsGoWithTheProcessThatHadThem) {
  StartManager();
  JobSubmission of_call = Prediction();
  of_call.labels[kCallLabel] = kCallLabelValue;
  of_call.kind = JobKind::kEvaluation;
  std::vector<std::string> gone;
  for (int i = 0; i < 5; ++i) {
    const auto created = TryToSubmit(of_call);
    ASSERT_TRUE(created.ok()) << created.status();
    gone.push_back(created->job.id);
  }
  WaitUntilBegun(gone[0]);
  ASSERT_TRUE(manager_->Cancel(gone[4]).ok());
  of_call.kind = JobKind::kPrediction;  // which no call waits for, whatever its labels are
  const std::string other = TryToSubmit(of_call)->job.id;
  CrashAndRestart();
  for (const std::string& id : gone) {
    EXPECT_TRUE(absl::IsNotFound(storage_->jobs().GetJob(id).status())) << id;
  }
  EXPECT_EQ(storage_->jobs().CountJobs()->size(), 1u);
  LetGo();
  manager_->WaitUntilIdle();
  EXPECT_EQ(Job(other).state, JobState::kSucceeded);
}

TEST_F(JobKindsTest, JobsOfCallsThatCannotBeListedRefuseNoStart) {
  StartManager();
  failures_.lists = 1;
  CrashAndRestart();
  EXPECT_EQ(failures_.lists, 0);
  EXPECT_TRUE(TryToSubmit(Prediction()).ok());
}

TEST_F(JobKindsTest, ForgottenJobsAreCancelledFirstAndGoWhenTheirWorkersAreDone) {
  minds_cancellation_ = false;
  StartManager();
  const std::string id = SubmitPrediction();
  WaitUntilBegun(id);
  EXPECT_EQ(GetReason(manager_->Forget(id).status()), "JOB_NOT_FINAL");
  LetGo();
  manager_->WaitUntilIdle();
  manager_->RunHousekeeping();
  EXPECT_TRUE(absl::IsNotFound(storage_->jobs().GetJob(id).status()));
  EXPECT_TRUE(absl::IsNotFound(manager_->Forget(id).status()));
}

TEST_F(JobKindsTest, CancelEndsThemAndKeepsNothing) {
  StartManager();
  const std::string id = SubmitPrediction();
  WaitUntilBegun(id);
  ASSERT_TRUE(manager_->Cancel(id).ok());
  manager_->WaitUntilIdle();
  EXPECT_EQ(Job(id).state, JobState::kCancelled);
  EXPECT_TRUE(absl::IsNotFound(storage_->datasets().GetDataset("of-" + id).status()));
}

// The storage knows of the cancellation before the attempt does.
TEST_F(JobKindsTest, CancellationThatTheEndFindsOutstripsSuccessAndFailure) {
  StartManager();
  for (const bool fails : {false, true}) {
    SCOPED_TRACE(fails);
    const std::string id = SubmitPrediction();
    WaitUntilBegun(id);
    ASSERT_TRUE(storage_->jobs()
                    .CancelJob({id, clock_.Now(), StateEvent(JobState::kCancelling),
                                StateEvent(JobState::kCancelled)})
                    .ok());
    if (fails) {
      FailOnce(absl::InvalidArgumentError("no such thing"));
    }
    const auto before = blobs_->List();
    LetGo();
    manager_->WaitUntilIdle();
    EXPECT_EQ(Job(id).state, JobState::kCancelled);
    EXPECT_TRUE(absl::IsNotFound(storage_->datasets().GetDataset("of-" + id).status()));
    EXPECT_EQ(*blobs_->List(), *before);  // what it has made is deleted at once
    absl::MutexLock lock(&mutex_);
    let_go_ = false;
  }
}

TEST_F(JobKindsTest, EndThatIsStoredOnlyLaterLeavesNoFileEither) {
  StartManager();
  const std::string id = SubmitPrediction();
  WaitUntilBegun(id);
  ASSERT_TRUE(storage_->jobs()
                  .CancelJob({id, clock_.Now(), StateEvent(JobState::kCancelling),
                              StateEvent(JobState::kCancelled)})
                  .ok());
  const auto before = blobs_->List();
  failures_.cancelled_ends = 1;
  LetGo();
  while (failures_.cancelled_ends > 0) {
    std::this_thread::yield();
  }
  while (Job(id).state != JobState::kCancelled) {
    clock_.Advance(absl::Seconds(1));
    manager_->RunHousekeeping();
  }
  EXPECT_EQ(*blobs_->List(), *before);
}

TEST_F(JobKindsTest, StopCancelsThemForWantOfAnythingToKeep) {
  StartManager();
  const std::string id = SubmitPrediction();
  WaitUntilBegun(id);
  ASSERT_TRUE(manager_->Stop(id).ok());
  manager_->WaitUntilIdle();
  EXPECT_EQ(Job(id).state, JobState::kCancelled);
  EXPECT_EQ(GetReason(DecodeError(*Job(id).error)), "NO_MODEL");
}

TEST_F(JobKindsTest, FullDiskSendsThemBackToTheQueue) {
  FailOnce(WithReason(absl::ResourceExhaustedError("no space"), "DISK_FULL"));
  LetGo();
  StartManager();
  const std::string id = SubmitPrediction();
  manager_->WaitUntilIdle();
  EXPECT_EQ(Job(id).state, JobState::kQueued);
  clock_.Advance(absl::Minutes(1));
  manager_->RunHousekeeping();
  manager_->WaitUntilIdle();
  EXPECT_EQ(Job(id).state, JobState::kSucceeded);
  EXPECT_THAT(Reasons(id), ElementsAre(AttemptReason::kRetry, AttemptReason::kSucceeded));
}

TEST_F(JobKindsTest, CrashAndDrainLeadToAnotherAttempt) {
  StartManager();
  const std::string id = SubmitPrediction();
  WaitUntilBegun(id);
  CrashAndRestart();
  while (Job(id).attempt < 2) {
    std::this_thread::yield();
  }
  manager_->Drain();
  EXPECT_EQ(Job(id).state, JobState::kQueued);
  LetGo();
  CloseAll();
  OpenStores();
  StartManager();
  manager_->WaitUntilIdle();
  EXPECT_EQ(Job(id).state, JobState::kSucceeded);
  EXPECT_THAT(Reasons(id), ElementsAre(AttemptReason::kWorkerLost, AttemptReason::kDrained,
                                       AttemptReason::kSucceeded));
}

TEST_F(JobKindsTest, RepeatedSubmissionGetsTheSameJob) {
  LetGo();
  StartManager();
  JobSubmission submission = Prediction();
  submission.request_id = "again";
  const auto first = TryToSubmit(submission);
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_TRUE(first->created);
  const auto again = TryToSubmit(submission);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_FALSE(again->created);
  EXPECT_EQ(again->job.id, first->job.id);
  EXPECT_EQ(admissions_, 1);
  submission.kind = JobKind::kEvaluation;
  EXPECT_EQ(GetReason(TryToSubmit(submission).status()), "REQUEST_ID_REUSED");
}

TEST_F(JobKindsTest, KindsThatTheServerDoesNotKnowFail) {
  StartManager();
  JobSubmission submission = Prediction();
  submission.kind = JobKind::kVerification;
  const auto created = TryToSubmit(submission);
  ASSERT_TRUE(created.ok()) << created.status();
  manager_->WaitUntilIdle();
  EXPECT_EQ(ErrorReason(created->job.id), "UNKNOWN_KIND");
}

TEST_F(JobKindsTest, TooLargeOnesAreRefused) {
  StartManager();
  const auto created = TryToSubmit(Prediction(), options_.memory_budget_bytes + 1);
  EXPECT_EQ(GetReason(created.status()), "JOB_TOO_LARGE");
}

}  // namespace
}  // namespace mercer::server
