#include "server/jobs/job_manager.h"

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/server/jobs/job_harness.h"

namespace mercer::server {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsSupersetOf;
using ::testing::Not;

class JobManagerTest : public JobManagerFixture {};

TEST_F(JobManagerTest, JobBecomesAModel) {
  StartManager();
  JobSubmission submission = Steps(20);
  submission.labels = {{"team", "blue"}};
  const std::string id = Submit(submission);
  manager_->WaitUntilIdle();
  const JobRecord job = Job(id);
  EXPECT_EQ(job.state, JobState::kSucceeded);
  EXPECT_EQ(job.model_name, "model");
  EXPECT_EQ(job.model_version, 1);
  EXPECT_EQ(job.memory_bytes > 0, true);
  EXPECT_THAT(Reasons(id), ElementsAre(AttemptReason::kSucceeded));
  const auto version = storage_->models().GetVersion("model", 0);
  ASSERT_TRUE(version.ok()) << version.status();
  EXPECT_EQ(version->job_id, id);
  EXPECT_EQ(version->summary, id + " chaotic data");
  EXPECT_EQ(version->labels, submission.labels);
  const auto model_bytes = blobs_->Read(version->model_blob);
  ASSERT_TRUE(model_bytes.ok()) << model_bytes.status();
  const auto model = LoadModel((*model_bytes)->contents());
  ASSERT_TRUE(model.ok()) << model.status();
  EXPECT_EQ(model->seed, 20U);
  EXPECT_TRUE(LoadWitness((*blobs_->Read(version->witness_blob))->contents()).ok());
  // The checkpoints are gone, and their blobs.
  EXPECT_FALSE(storage_->jobs().GetCheckpoint(id)->has_value());
  EXPECT_EQ(blobs_->List()->size(), 3U);  // data set, model, witness
}

TEST_F(JobManagerTest, WithoutTimePassingOnlyFirstStagesAndLastAreTold) {
  StartManager();
  const std::string id = Submit(Steps(50));
  manager_->WaitUntilIdle();
  EXPECT_THAT(EventTexts(id), IsSupersetOf({"QUEUED", "RUNNING", "1 warm-up", "3 solve", "50 solve",
                                            "VERIFYING", "SUCCEEDED"}));
  EXPECT_LE(Events(id).size(), 9U);  // a stage's event may take the one that waited before it along
  EXPECT_EQ(Events(id).back().state, JobState::kSucceeded);
}

TEST_F(JobManagerTest, HeldBackProgressIsToldWhenItsTimeComes) {
  StartManager();
  control_.Allow(5);
  const std::string id = Submit(Steps(50));
  control_.WaitUntilAsked(6);
  clock_.Advance(absl::Milliseconds(250));
  manager_->RunHousekeeping();
  control_.AllowAll();
  manager_->WaitUntilIdle();
  EXPECT_THAT(EventTexts(id), Contains("5 solve"));
}

TEST_F(JobManagerTest, ShortAttemptWritesItsProgressAlongWithItsEnd) {
  options_.quiet_start = absl::Milliseconds(20);
  HoldVerifications();
  StartManager();
  const std::string id = Submit(Steps(50));
  WaitForVerification();
  EXPECT_THAT(EventTexts(id), ElementsAre("QUEUED", "RUNNING"));
  LetVerificationsGo();
  manager_->WaitUntilIdle();
  EXPECT_THAT(EventTexts(id), IsSupersetOf({"1 warm-up", "3 solve", "50 solve"}));
  const std::vector<JobEvent> events = Events(id);
  EXPECT_EQ(events[events.size() - 2].state, JobState::kVerifying);
  EXPECT_EQ(events.back().state, JobState::kSucceeded);
}

TEST_F(JobManagerTest, LongerAttemptTellsOfItsQuietStartAfterwards) {
  options_.quiet_start = absl::Milliseconds(20);
  HoldVerifications();
  StartManager();
  const std::string id = Submit(Steps(50));
  WaitForVerification();
  clock_.Advance(options_.quiet_start);
  manager_->RunHousekeeping();
  WaitUntilVerifying(id);
  EXPECT_THAT(EventTexts(id), IsSupersetOf({"1 warm-up", "3 solve", "50 solve", "VERIFYING"}));
  LetVerificationsGo();
}

// By another process, say: the attempt hears of it when its end is refused.
TEST_F(JobManagerTest, JobCancelledInItsQuietStartIsNeverVerifying) {
  options_.quiet_start = absl::Milliseconds(20);
  HoldVerifications();
  StartManager();
  const std::string id = Submit(Steps(3));
  WaitForVerification();
  ASSERT_TRUE(storage_->jobs()
                  .CancelJob({id, clock_.Now(), StateEvent(JobState::kCancelling),
                              StateEvent(JobState::kCancelled)})
                  .ok());
  LetVerificationsGo();
  manager_->WaitUntilIdle();
  EXPECT_EQ(Job(id).state, JobState::kCancelled);
  EXPECT_THAT(EventTexts(id), IsSupersetOf({"CANCELLING", "1 warm-up", "CANCELLED"}));
  EXPECT_THAT(EventTexts(id), Not(Contains("VERIFYING")));
}

TEST_F(JobManagerTest, NoJobStartsAThreadForItsFiles) {
  options_.num_workers = 1;
  StartManager();
  for (int i = 0; i < 5; ++i) {
    Submit(Steps(1));
    manager_->WaitUntilIdle();
  }
  // This one, which has stored the data set; the worker; and the one that stores the witness beside it.
  EXPECT_LE(files_.creators().size(), 3U);
}

TEST_F(JobManagerTest, SameRequestIdIsTheSameJob) {
  StartManager();
  JobSubmission submission = Steps(3);
  submission.request_id = "r1";
  const std::string id = Submit(submission);
  EXPECT_EQ(Submit(submission), id);
  manager_->WaitUntilIdle();
  manager_->Drain();
  EXPECT_EQ(Submit(submission), id);  // also when no new job would be taken
  submission.request = "4 data";
  EXPECT_EQ(manager_->Submit(submission).status().code(), absl::StatusCode::kAlreadyExists);
}

TEST_F(JobManagerTest, RefusesBadSubmissions) {
  StartManager();
  JobSubmission submission = Steps(3);
  submission.request = "rubbish";
  EXPECT_EQ(manager_->Submit(submission).status().code(), absl::StatusCode::kInvalidArgument);
  submission.request = "3 nothing";
  EXPECT_EQ(GetReason(manager_->Submit(submission).status()), "DATASET_NOT_FOUND");
  manager_->Drain();
  const absl::Status refused = manager_->Submit(Steps(3)).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(GetReason(refused), "DRAINING");
}

TEST_F(JobManagerTest, AbsurdEstimateFitsNowhere) {
  StartManager();
  for (const int64_t bytes : {int64_t{-1}, std::numeric_limits<int64_t>::min() + 1}) {
    control_.memory_bytes = bytes;  // as a size_t: far more than any machine has
    EXPECT_EQ(GetReason(manager_->Submit(Steps(3)).status()), "JOB_TOO_LARGE") << bytes;
  }
}

TEST_F(JobManagerTest, JobThatNeverFitsIsRefusedWithItsEstimate) {
  options_.memory_budget_bytes = 500;
  StartManager();
  const absl::Status refused = manager_->Submit(Steps(3)).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(GetReason(refused), "JOB_TOO_LARGE");
  const auto estimate = manager_->Estimate(Steps(3));
  ASSERT_TRUE(estimate.ok()) << estimate.status();
  EXPECT_GE(estimate->memory_bytes, 1000);
  EXPECT_EQ(estimate->memory_budget_bytes, 500);
  EXPECT_GT(estimate->time, absl::ZeroDuration());
  EXPECT_THAT(GetErrorMetadata(refused),
              ElementsAre(std::make_pair("estimate_bytes", absl::StrCat(estimate->memory_bytes)),
                          std::make_pair("budget_bytes", "500")));
}

TEST_F(JobManagerTest, JobThatFitsLaterWaits) {
  options_.num_workers = 2;
  StartManager();
  const int64_t bytes = manager_->Estimate(Steps(5))->memory_bytes;
  CloseAll();
  OpenStores();
  options_.memory_budget_bytes = bytes + bytes / 2;
  StartManager();
  control_.Allow(0);
  const std::string first = Submit(Steps(5));
  const std::string second = Submit(Steps(5));
  control_.WaitUntilAsked(1);
  EXPECT_EQ(Job(second).state, JobState::kQueued);
  control_.AllowAll();
  manager_->WaitUntilIdle();
  EXPECT_EQ(Job(first).state, JobState::kSucceeded);
  EXPECT_EQ(Job(second).state, JobState::kSucceeded);
  EXPECT_GE(Job(second).start_time, Job(first).end_time);
}

TEST_F(JobManagerTest, FailureKeepsItsStatusWithDetails) {
  StartManager();
  const absl::Status bad =
      WithReason(absl::InvalidArgumentError("row 3 is bad"), "BAD_ROW", {{"row", "3"}});
  control_.FailAtStep(2, bad);
  const std::string id = Submit(Steps(5));
  manager_->WaitUntilIdle();
  const JobRecord job = Job(id);
  EXPECT_EQ(job.state, JobState::kFailed);
  ASSERT_TRUE(job.error.has_value());
  EXPECT_EQ(DecodeError(*job.error), bad);
  EXPECT_THAT(Reasons(id), ElementsAre(AttemptReason::kFailed));
  EXPECT_EQ(Events(id).back().message, "BAD_ROW");
}

TEST_F(JobManagerTest, QueuedJobIsCancelled) {
  options_.num_workers = 1;
  StartManager();
  control_.Allow(0);
  Submit(Steps(5));
  control_.WaitUntilAsked(1);
  const std::string queued = Submit(Steps(5));
  const auto cancelled = manager_->Cancel(queued);
  ASSERT_TRUE(cancelled.ok()) << cancelled.status();
  EXPECT_EQ(cancelled->state, JobState::kCancelled);
  EXPECT_EQ(GetReason(manager_->Cancel(queued).status()), "JOB_IS_FINAL");
  EXPECT_EQ(manager_->Cancel("nobody").status().code(), absl::StatusCode::kNotFound);
}

TEST_F(JobManagerTest, RunningJobIsCancelled) {
  StartManager();
  control_.Allow(3);
  const std::string id = Submit(Steps(5));
  control_.WaitUntilAsked(4);
  const auto cancelling = manager_->Cancel(id);
  ASSERT_TRUE(cancelling.ok()) << cancelling.status();
  EXPECT_EQ(cancelling->state, JobState::kCancelling);
  manager_->WaitUntilIdle();
  EXPECT_EQ(Job(id).state, JobState::kCancelled);
  EXPECT_THAT(Reasons(id), ElementsAre(AttemptReason::kCancelled));
  EXPECT_THAT(EventTexts(id), IsSupersetOf({"CANCELLING", "CANCELLED"}));
  EXPECT_FALSE(storage_->jobs().GetCheckpoint(id)->has_value());
  EXPECT_EQ(blobs_->List()->size(), 1U);  // the data set
}

TEST_F(JobManagerTest, JobsOfHigherPriorityRunFirst) {
  options_.num_workers = 1;
  StartManager();
  control_.Allow(0);
  Submit(Steps(1));
  control_.WaitUntilAsked(1);
  const std::string low = Submit(Steps(1));
  JobSubmission urgent = Steps(1);
  urgent.priority = 5;
  const std::string high = Submit(urgent);
  control_.AllowAll();
  manager_->WaitUntilIdle();
  EXPECT_LT(Job(high).model_version, Job(low).model_version);
}

TEST_F(JobManagerTest, LeaseIsRenewedAndALostLeaseEndsTheAttemptSilently) {
  StartManager();
  control_.Allow(2);
  const std::string id = Submit(Steps(5));
  control_.WaitUntilAsked(3);
  const absl::Time before = Job(id).lease_until;
  clock_.Advance(absl::Seconds(11));
  manager_->RunHousekeeping();
  // The writer answers in order: this comes after the renewal.
  ASSERT_EQ(
      GetReason(storage_->events().Append({id, "nobody", 1}, {{0, "x"}}, clock_.Now()).status()),
      "LEASE_LOST");
  const JobRecord job = Job(id);
  EXPECT_GT(job.lease_until, before);
  AttemptEnd stolen;
  stolen.lease = {id, job.lease_worker, job.epoch};
  stolen.state = JobState::kFailed;
  stolen.reason = AttemptReason::kWorkerLost;
  stolen.events = {StateEvent(JobState::kFailed, "taken away")};
  ASSERT_TRUE(storage_->jobs().EndAttempt(stolen).ok());
  control_.AllowAll();
  manager_->WaitUntilIdle();
  EXPECT_EQ(Job(id).state, JobState::kFailed);
  EXPECT_EQ(Events(id).back().message, "taken away");
  EXPECT_EQ(storage_->models().GetModel("model").status().code(), absl::StatusCode::kNotFound);
}

TEST_F(JobManagerTest, FullDiskCostsACheckpointButNotTheJob) {
  StartManager();
  control_.Allow(3);
  const std::string id = Submit(Steps(6));
  control_.WaitUntilAsked(4);
  files_.full = true;
  control_.Allow(5);
  control_.WaitUntilAsked(6);
  files_.full = false;
  control_.AllowAll();
  manager_->WaitUntilIdle();
  EXPECT_EQ(Job(id).state, JobState::kSucceeded);
}

TEST_F(JobManagerTest, DatasetOfARunningJobCannotBeDeleted) {
  StartManager();
  control_.Allow(1);
  Submit(Steps(4));
  control_.WaitUntilAsked(2);
  EXPECT_EQ(GetReason(storage_->datasets().DeleteDataset("data").status()), "DATASET_IN_USE");
  control_.AllowAll();
  manager_->WaitUntilIdle();
  EXPECT_TRUE(storage_->datasets().DeleteDataset("data").ok());
}

TEST_F(JobManagerTest, ShapesAreOpenedWithoutReadingAllValues) {
  StartManager();
  const std::string blob = storage_->datasets().GetDataset("data")->blob;
  ASSERT_TRUE(manager_->OpenShape("data").ok());
  files_.FailReadings(blob, 1);
  const auto shape = manager_->OpenShape("data");
  ASSERT_TRUE(shape.ok()) << shape.status();
  EXPECT_EQ((*shape)->rows, 6);
  EXPECT_FALSE(manager_->OpenDataset("data", CancellationToken()).ok());
  EXPECT_EQ(GetReason(manager_->OpenShape("none").status()), "DATASET_NOT_FOUND");
}

}  // namespace
}  // namespace mercer::server
