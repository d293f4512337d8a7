// The deletion of one job, on every storage.
#include <gmock/gmock.h>

#include "core/base/status/errors.h"
#include "server/storage/sqlite/database/connection.h"
#include "server/storage/sqlite/database/database_check.h"
#include "tests/server/storage/storage_conformance.h"

namespace mercer::server {
namespace {

using testing::IsEmpty;

class JobDeletionConformance : public StorageConformance {
 protected:
  void SetUp() override {
    StorageConformance::SetUp();
    AddDataset("data");
  }

  // Makes the version 1 of "model-{id}".
  void AddSucceeded(const std::string& id) {
    NewJob job = MakeJob(id);
    job.model_name = "model-" + id;
    job.request_id = "request-" + id;
    job.labels = {{"team", "red"}};
    job.caller = "ada";
    AddJob(job);
    const std::optional<JobRecord> claimed = Claim("w");
    ASSERT_TRUE(claimed.has_value());
    const auto stored = storage_->jobs().EndAttempt(MakeSuccess(*claimed, "blob-" + id));
    ASSERT_TRUE(stored.ok()) << stored.status();
  }
  std::string ReasonOfDeleting(const std::string& id) {
    return GetReason(storage_->jobs().DeleteJob(id).status());
  }
};

TEST_F(JobDeletionConformance, AllThatBelongsToTheJobGoesAndNothingElse) {
  AddSucceeded("gone");
  AddSucceeded("kept");
  const auto deleted = storage_->jobs().DeleteJob("gone");
  ASSERT_TRUE(deleted.ok()) << deleted.status();
  EXPECT_EQ(deleted->job.id, "gone");
  EXPECT_EQ(deleted->job.state, JobState::kSucceeded);
  EXPECT_EQ(deleted->job.labels, (Labels{{"team", "red"}}));
  EXPECT_THAT(deleted->released_blobs, IsEmpty()) << "the model is still there";
  EXPECT_EQ(GetReason(storage_->jobs().GetJob("gone").status()), "JOB_NOT_FOUND");
  EXPECT_EQ(ReasonOfDeleting("gone"), "JOB_NOT_FOUND");
  EXPECT_THAT(*storage_->jobs().ListAttempts("gone"), IsEmpty());
  EXPECT_TRUE(storage_->jobs().GetJob("kept").ok());
  EXPECT_EQ(storage_->jobs().ListAttempts("kept")->size(), 1u);
  const auto version = storage_->models().GetVersion("model-gone", 1);
  ASSERT_TRUE(version.ok()) << version.status();
  EXPECT_EQ(version->job_id, "gone");
  EXPECT_TRUE(*storage_->IsBlobReferenced("blob-gone"));
  EXPECT_TRUE(storage_->datasets().GetDataset("data").ok());

  ASSERT_TRUE(storage_->jobs().DeleteJob("kept").ok());
  storage_.reset();
  const auto connection = Connection::Open(folder_ + "/mercer.db", Connection::Mode::kReadWrite);
  ASSERT_TRUE(connection.ok()) << connection.status();
  const auto expect_none = [](const Finding& finding) {
    ADD_FAILURE() << finding.reason << " " << finding.subject << ": " << finding.meaning;
  };
  EXPECT_TRUE(CheckDatabaseRows(**connection, expect_none).ok());
  for (const char* table : {"jobs", "job_requests", "job_labels", "job_datasets", "attempts",
                            "events", "checkpoints"}) {
    auto count = (*connection)->Prepare(absl::StrCat("SELECT COUNT(*) FROM ", table));
    ASSERT_TRUE(count.ok() && count->Step().ok());
    EXPECT_EQ(count->Int64(0), 0) << table;
  }
}

TEST_F(JobDeletionConformance, JobThatHasNotEndedIsRefusedInEveryState) {
  AddJob("a");
  EXPECT_EQ(ReasonOfDeleting("a"), "JOB_NOT_FINAL");
  const std::optional<JobRecord> running = Claim("w");
  ASSERT_TRUE(running.has_value());
  EXPECT_EQ(ReasonOfDeleting("a"), "JOB_NOT_FINAL");
  ASSERT_TRUE(
      storage_->jobs().BeginVerifying({"a", "w", running->epoch}, {0, "verifying"}, At(5)).ok());
  EXPECT_EQ(ReasonOfDeleting("a"), "JOB_NOT_FINAL");
  ASSERT_TRUE(storage_->jobs().CancelJob({"a", At(6), {0, "cancelling"}, {0, "cancelled"}}).ok());
  const absl::Status refused = storage_->jobs().DeleteJob("a").status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(refused.message()), testing::HasSubstr("CANCELLING"));
  ASSERT_TRUE(storage_->jobs()
                  .EndAttempt(MakeEnd(*running, JobState::kCancelled, AttemptReason::kCancelled))
                  .ok());
  EXPECT_TRUE(storage_->jobs().DeleteJob("a").ok());
}

TEST_F(JobDeletionConformance, OwnerIsAskedBeforeTheState) {
  AddSucceeded("a");
  NewJob queued = MakeJob("b");
  queued.caller = "ada";
  AddJob(queued);
  const OwnerCheck check = [](const std::string& owner) {
    return absl::PermissionDeniedError("it is " + owner + "'s");
  };
  for (const char* id : {"a", "b"}) {
    const absl::Status refused = storage_->jobs().DeleteJob(id, check).status();
    EXPECT_EQ(refused, absl::PermissionDeniedError("it is ada's"));
    EXPECT_TRUE(storage_->jobs().GetJob(id).ok());
  }
  EXPECT_TRUE(absl::IsNotFound(storage_->jobs().DeleteJob("c", check).status()));
}

TEST_F(JobDeletionConformance, RequestIdIsForgottenWithTheJob) {
  AddSucceeded("a");
  NewJob again = MakeJob("b");
  again.caller = "ada";
  again.request_id = "request-a";
  EXPECT_TRUE(absl::IsAlreadyExists(storage_->jobs().CreateJob(again).status()));
  ASSERT_TRUE(storage_->jobs().DeleteJob("a").ok());
  const auto created = storage_->jobs().CreateJob(again);
  ASSERT_TRUE(created.ok()) << created.status();
  EXPECT_TRUE(created->created);
}

}  // namespace
}  // namespace mercer::server
