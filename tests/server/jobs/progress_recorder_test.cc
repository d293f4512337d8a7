#include "server/jobs/progress_recorder.h"

#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/jobs/record/job_event.h"
#include "tests/server/jobs/failing_storage.h"
#include "tests/server/jobs/fake_clock.h"
#include "tests/support/server/forwarding_jobs.h"
#include "tests/support/server/test_storage.h"

namespace mercer::server {
namespace {

using ::testing::ElementsAre;

constexpr absl::Duration kInterval = absl::Milliseconds(250);

// Has answered what the recorder writes when the call returns: tests look at what is stored right behind it.
class PromptJobStore final : public ForwardingJobStore {
 public:
  using ForwardingJobStore::BeginVerifying;
  using ForwardingJobStore::ForwardingJobStore;

  void BeginVerifying(Lease lease, EventDraft event, absl::Time now,
                      Done<EventRecord> done) override {
    done(jobs_->BeginVerifying(std::move(lease), std::move(event), now));
  }
};

class PromptEventLog final : public EventLog {
 public:
  using EventLog::Append;

  explicit PromptEventLog(EventLog* real) : real_(real) {}

  void Append(Lease lease, std::vector<EventDraft> events, absl::Time now,
              Done<std::vector<EventRecord>> done) override {
    done(real_->Append(std::move(lease), std::move(events), now));
  }
  absl::StatusOr<std::vector<EventRecord>> Read(const std::string& job_id, int64_t after,
                                                int limit) override {
    return real_->Read(job_id, after, limit);
  }

 private:
  EventLog* const real_;
};

class ProgressRecorderTest : public ::testing::Test {
 protected:
  void SetUp() override {
    DatasetRecord dataset;
    dataset.id = "data";
    ASSERT_TRUE(storage_.datasets().CreateDataset(dataset).ok());
    NewJob job;
    job.id = "job";
    job.dataset_ids = {"data"};
    job.model_name = "model";
    job.event = StateEvent(JobState::kQueued);
    ASSERT_TRUE(storage_.jobs().CreateJob(job).ok());
    ClaimRequest claim;
    claim.worker = "w";
    claim.event = StateEvent(JobState::kRunning);
    const auto claimed = storage_.jobs().ClaimJob(claim);
    ASSERT_TRUE(claimed.ok() && claimed->has_value());
    epoch_ = (*claimed)->epoch;
    MakeRecorder(absl::ZeroDuration());
  }
  void MakeRecorder(absl::Duration quiet) {
    const ProgressRecorder::Dependencies dependencies = {
        &events_, &clock_, [this](const absl::Status& status) { errors_.push_back(status); },
        &jobs_};
    recorder_ = std::make_unique<ProgressRecorder>(dependencies, Lease{"job", "w", epoch_},
                                                   kInterval, quiet);
  }

  static ProgressEvent Step(int64_t iteration, const std::string& stage) {
    ProgressEvent event;
    event.iteration = iteration;
    event.report.stage = stage;
    event.phase = "train";
    return event;
  }
  static EventDraft Urgent(int64_t iteration) {
    JobEvent event;
    event.kind = JobEventKind::kResumed;
    return {iteration, EncodeJobEvent(event)};
  }
  // The iterations of the stored events, the first two (queued, running) left out.
  std::vector<int64_t> Stored() {
    std::vector<int64_t> iterations;
    const auto records = storage_.events().Read("job", 2, 1000);
    EXPECT_TRUE(records.ok()) << records.status();
    for (const EventRecord& record : *records) {
      iterations.push_back(record.iteration);
    }
    return iterations;
  }

  StorageFailures failures_;
  FailingStorage storage_{MakeTestStorage(), &failures_};
  PromptJobStore jobs_{&storage_.jobs()};
  PromptEventLog events_{&storage_.events()};
  FakeClock clock_;
  int64_t epoch_ = 0;
  std::vector<absl::Status> errors_;
  std::unique_ptr<ProgressRecorder> recorder_;
};

TEST_F(ProgressRecorderTest, FirstOfAStageAndUrgentOnesAreWrittenAtOnce) {
  recorder_->Record(Step(1, "warm-up"));
  recorder_->Record(Step(2, "warm-up"));
  recorder_->Record(Step(3, "solve"));
  recorder_->Record(Step(4, "solve"));
  EXPECT_THAT(Stored(), ElementsAre(1, 3));
  recorder_->WriteNow(Urgent(4));
  EXPECT_THAT(Stored(), ElementsAre(1, 3, 4, 4));
}

TEST_F(ProgressRecorderTest, WhatComesInTheQuietStartIsWrittenBehindIt) {
  MakeRecorder(absl::Milliseconds(20));
  const absl::Time time = clock_.Now();
  recorder_->Record(Step(1, "warm-up"));
  recorder_->Record(Step(2, "warm-up"));
  recorder_->Record(Step(3, "solve"));
  recorder_->Flush();
  EXPECT_THAT(Stored(), ElementsAre());
  clock_.Advance(absl::Milliseconds(20));
  recorder_->Flush();
  EXPECT_THAT(Stored(), ElementsAre(1, 3));
  EXPECT_EQ(storage_.jobs().GetJob("job")->last_event->time, time) << "that of the progress";
  recorder_->WriteNow(Urgent(4));
  EXPECT_THAT(Stored(), ElementsAre(1, 3, 4)) << "from then on without delay";
}

TEST_F(ProgressRecorderTest, TheEndOfAShortAttemptTakesItsEventsAlong) {
  MakeRecorder(absl::Milliseconds(20));
  recorder_->Record(Step(1, "solve"));
  recorder_->Record(Step(2, "solve"));
  const absl::Time time = clock_.Now();
  recorder_->BeginVerifying({2, StateEvent(JobState::kVerifying).payload});
  clock_.Advance(absl::Milliseconds(1));
  EXPECT_THAT(Stored(), ElementsAre());
  const ProgressRecorder::Waiting waiting = recorder_->TakeWaiting();
  ASSERT_EQ(waiting.events.size(), 2U);
  EXPECT_EQ(waiting.events[1].iteration, 2);
  ASSERT_TRUE(waiting.verifying.has_value());
  EXPECT_EQ(waiting.verifying->time, time);
}

TEST_F(ProgressRecorderTest, UrgentEventsSurviveWritesThatFail) {
  failures_.appends = 2;
  recorder_->WriteNow(Urgent(7));
  recorder_->Record(Step(8, "solve"));
  recorder_->Record(Step(9, "solve"));
  recorder_->Flush();
  EXPECT_THAT(Stored(), ElementsAre()) << "the next try waits for the interval";
  clock_.Advance(kInterval);
  recorder_->Flush();
  EXPECT_EQ(errors_.size(), 2U);
  EXPECT_THAT(Stored(), ElementsAre());
  clock_.Advance(kInterval);
  recorder_->Flush();
  EXPECT_THAT(Stored(), ElementsAre(7, 8, 9));
}

TEST_F(ProgressRecorderTest, WhatCouldNotBeWrittenGoesAlongWithTheEnd) {
  failures_.appends = 1;
  recorder_->WriteNow(Urgent(7));
  recorder_->Record(Step(8, "solve"));
  const std::vector<EventDraft> waiting = recorder_->TakeWaiting().events;
  ASSERT_EQ(waiting.size(), 2U);
  EXPECT_EQ(waiting[0].iteration, 7);
  EXPECT_EQ(waiting[1].iteration, 8);
}

TEST_F(ProgressRecorderTest, VerificationBeginsBehindAllThatWaits) {
  recorder_->Record(Step(1, "solve"));
  recorder_->Record(Step(2, "solve"));
  clock_.Advance(absl::Milliseconds(1));
  const absl::Time time = clock_.Now();
  recorder_->BeginVerifying({2, StateEvent(JobState::kVerifying).payload});
  EXPECT_THAT(Stored(), ElementsAre(1, 2, 2));
  const auto job = storage_.jobs().GetJob("job");
  EXPECT_EQ(job->state, JobState::kVerifying);
  EXPECT_EQ(job->last_event->time, time);
  EXPECT_TRUE(recorder_->TakeWaiting().events.empty());
}

TEST_F(ProgressRecorderTest, VerificationAfterAFailureWaitsWithTheEvents) {
  failures_.appends = 1;
  recorder_->WriteNow(Urgent(7));
  const absl::Time time = clock_.Now();
  recorder_->BeginVerifying({8, StateEvent(JobState::kVerifying).payload});
  EXPECT_THAT(Stored(), ElementsAre());
  clock_.Advance(kInterval);
  recorder_->Flush();
  EXPECT_THAT(Stored(), ElementsAre(7, 8));
  EXPECT_EQ(storage_.jobs().GetJob("job")->last_event->time, time)
      << "the verification began when it was told of";
}

TEST_F(ProgressRecorderTest, VerificationOfACancelledJobIsNotShown) {
  ASSERT_TRUE(storage_.jobs()
                  .CancelJob({"job", clock_.Now(), StateEvent(JobState::kCancelling),
                              StateEvent(JobState::kCancelled)})
                  .ok());
  recorder_->Record(Step(3, "solve"));
  recorder_->BeginVerifying({3, StateEvent(JobState::kVerifying).payload});
  ASSERT_EQ(errors_.size(), 1U);
  EXPECT_TRUE(absl::IsFailedPrecondition(errors_[0])) << errors_[0];
  EXPECT_EQ(storage_.jobs().GetJob("job")->state, JobState::kCancelling);
}

TEST_F(ProgressRecorderTest, LongFailureKeepsTheNewestOfWhatIsNotUrgent) {
  recorder_->Record(Step(1, "solve"));
  failures_.appends = 1000;
  recorder_->WriteNow(Urgent(1));
  for (int64_t i = 2; i <= 500; ++i) {
    clock_.Advance(kInterval);
    recorder_->Record(Step(i, "solve"));
  }
  EXPECT_GT(errors_.size(), 400U);
  failures_.appends = 0;
  clock_.Advance(kInterval);
  recorder_->Flush();
  EXPECT_THAT(Stored(), ElementsAre(1, 1, 500));
}

TEST_F(ProgressRecorderTest, NothingIsTriedAgainWithoutTheLease) {
  AttemptEnd end;
  end.lease = {"job", "w", storage_.jobs().GetJob("job")->epoch};
  end.state = JobState::kFailed;
  end.events = {StateEvent(JobState::kFailed)};
  ASSERT_TRUE(storage_.jobs().EndAttempt(end).ok());
  recorder_->WriteNow(Urgent(7));
  ASSERT_EQ(errors_.size(), 1U);
  EXPECT_TRUE(absl::IsAborted(errors_[0]));
  EXPECT_TRUE(recorder_->TakeWaiting().events.empty());
}

TEST_F(ProgressRecorderTest, IterationIsThatOfTheLastEvent) {
  EXPECT_EQ(recorder_->iteration(), 0);
  recorder_->WriteNow(Urgent(7));
  EXPECT_EQ(recorder_->iteration(), 7);
  recorder_->Record(Step(8, "solve"));
  EXPECT_EQ(recorder_->iteration(), 8);
}

}  // namespace
}  // namespace mercer::server
