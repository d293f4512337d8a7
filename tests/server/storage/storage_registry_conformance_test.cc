// What every implementation of the stores must do: data sets, models, pages, blobs.
#include <string>

#include "absl/strings/str_cat.h"
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/status/errors.h"
#include "tests/server/storage/storage_conformance.h"

namespace mercer::server {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST_F(StorageConformance, DatasetRoundTrips) {
  const DatasetRecord dataset = MakeDataset("data");
  ASSERT_TRUE(storage_->datasets().CreateDataset(dataset).ok());
  const auto read = storage_->datasets().GetDataset("data");
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->display_name, dataset.display_name);
  EXPECT_EQ(read->blob, dataset.blob);
  EXPECT_EQ(read->size_bytes, 1234);
  EXPECT_EQ(read->rows, 56);
  EXPECT_EQ(read->info, dataset.info);
  EXPECT_EQ(read->labels, dataset.labels);
  EXPECT_EQ(read->create_time, At(1));
}

TEST_F(StorageConformance, RefusesDatasetsThatAreThereOrMissing) {
  AddDataset("data");
  EXPECT_EQ(storage_->datasets().CreateDataset(MakeDataset("data")).status().code(),
            absl::StatusCode::kAlreadyExists);
  EXPECT_EQ(storage_->datasets().GetDataset("other").status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(storage_->datasets().DeleteDataset("other").status().code(),
            absl::StatusCode::kNotFound);
}

TEST_F(StorageConformance, HiddenDatasetStaysForItsJobsAloneAndGoesAfterThem) {
  AddDataset("data");
  AddDataset("other");
  AddJob("a");
  const auto hidden = storage_->datasets().HideDataset("data");
  ASSERT_TRUE(hidden.ok()) << hidden.status();
  EXPECT_TRUE(hidden->hidden);
  EXPECT_TRUE(storage_->datasets().GetDataset("data")->hidden) << "its job needs it";
  const auto listed = storage_->datasets().ListDatasets({});
  ASSERT_EQ(listed->items.size(), 1u);
  EXPECT_EQ(listed->items[0].id, "other");
  EXPECT_THAT(*storage_->datasets().UnusedHiddenDatasets(), IsEmpty()) << "its job needs it";
  EXPECT_EQ(storage_->jobs().CreateJob(MakeJob("b")).status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(storage_->datasets().DeleteDataset("data").status().code(),
            absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(storage_->datasets().HideDataset("none").status().code(), absl::StatusCode::kNotFound);
  const auto claimed = Claim("w");
  ASSERT_TRUE(storage_->jobs()
                  .EndAttempt(MakeEnd(*claimed, JobState::kFailed, AttemptReason::kFailed))
                  .ok());
  EXPECT_THAT(*storage_->datasets().UnusedHiddenDatasets(), ElementsAre("data"));
  EXPECT_TRUE(storage_->datasets().DeleteHiddenDataset("data").ok());
  EXPECT_TRUE(storage_->datasets().UnusedHiddenDatasets()->empty());
}

TEST_F(StorageConformance, DeferredDeletionLeavesALaterDatasetOfTheSameName) {
  AddDataset("data");
  ASSERT_TRUE(storage_->datasets().HideDataset("data").ok());
  ASSERT_THAT(*storage_->datasets().UnusedHiddenDatasets(), ElementsAre("data"));
  ASSERT_TRUE(storage_->datasets().DeleteDataset("data").ok()) << "by somebody else";
  AddDataset("data");
  EXPECT_EQ(storage_->datasets().DeleteHiddenDataset("data").status().code(),
            absl::StatusCode::kNotFound);
  EXPECT_TRUE(storage_->datasets().GetDataset("data").ok());
}

TEST_F(StorageConformance, BytesOfEqualBlobsCountOnce) {
  const auto add = [&](const std::string& id, const std::string& blob, int64_t size) {
    DatasetRecord record = MakeDataset(id, blob);
    record.size_bytes = size;
    ASSERT_TRUE(storage_->datasets().CreateDataset(record).ok());
  };
  EXPECT_EQ(*storage_->datasets().StoredBytes(""), 0);
  add("one", "shared", 10);
  add("two", "shared", 10);
  add("three", "own", 5);
  EXPECT_EQ(*storage_->datasets().StoredBytes(""), 15);
  EXPECT_EQ(*storage_->datasets().StoredBytes("shared"), 5);
}

TEST_F(StorageConformance, DatasetInUseCannotBeDeleted) {
  AddDataset("data");
  AddJob("j1");
  const absl::Status refused = storage_->datasets().DeleteDataset("data").status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(GetReason(refused), "DATASET_IN_USE");
  const auto claimed = Claim("w");
  EXPECT_FALSE(storage_->datasets().DeleteDataset("data").ok());
  ASSERT_TRUE(storage_->jobs()
                  .EndAttempt(MakeEnd(*claimed, JobState::kFailed, AttemptReason::kFailed))
                  .ok());
  const auto deleted = storage_->datasets().DeleteDataset("data");
  ASSERT_TRUE(deleted.ok()) << deleted.status();
  EXPECT_EQ(deleted->blob, "blob-of-data");
  EXPECT_THAT(storage_->jobs().GetJob("j1")->dataset_ids, ElementsAre("data"));  // history stays
}

TEST_F(StorageConformance, SuccessMakesTheVersionTogetherWithTheState) {
  AddDataset("data");
  EXPECT_EQ(TrainVersion("j1", "model", "blob-1"), 1);
  const auto job = storage_->jobs().GetJob("j1");
  EXPECT_EQ(job->state, JobState::kSucceeded);
  EXPECT_EQ(job->model_version, 1);
  EXPECT_EQ(job->end_time, At(30));
  EXPECT_EQ(job->last_event->payload, "ended");
  const auto version = storage_->models().GetVersion("model", 0);
  ASSERT_TRUE(version.ok()) << version.status();
  EXPECT_EQ(version->version, 1);
  EXPECT_EQ(version->job_id, "j1");
  EXPECT_EQ(version->model_blob, "blob-1");
  EXPECT_EQ(version->witness_blob, "blob-1-witness");
  EXPECT_EQ(version->model_bytes, 10);
  EXPECT_EQ(version->witness_bytes, 20);
  EXPECT_EQ(version->summary, "summary");
  EXPECT_EQ(version->labels, (Labels{{"stage", "test"}}));
  EXPECT_EQ(version->create_time, At(30));
}

TEST_F(StorageConformance, PageTokensAreBoundToTheirQuery) {
  AddDataset("data");
  AddDataset("data2");
  for (int i = 0; i < 3; ++i) {
    AddJob(absl::StrCat("j", i));
  }
  const std::string token = storage_->jobs().ListJobs({}, {1, ""})->next_token;
  ASSERT_FALSE(token.empty());
  EXPECT_EQ(
      token.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_="),
      std::string::npos)
      << token;
  EXPECT_TRUE(storage_->jobs().ListJobs({}, {2, token}).ok());  // another size is allowed
  std::string damaged = token;
  damaged[3] = damaged[3] == 'A' ? 'B' : 'A';
  for (const absl::Status& refused :
       {storage_->jobs().ListJobs({{JobState::kQueued}, {}}, {1, token}).status(),
        storage_->jobs().ListJobs({{}, {{"a", "b"}}}, {1, token}).status(),
        storage_->jobs().ListJobs({}, {1, damaged}).status(),
        storage_->jobs().ListJobs({}, {1, "%%%"}).status(),
        storage_->datasets().ListDatasets({1, token}).status(),
        storage_->models().ListModels({1, token}).status()}) {
    EXPECT_EQ(refused.code(), absl::StatusCode::kInvalidArgument) << refused;
    EXPECT_EQ(GetReason(refused), "BAD_PAGE_TOKEN");
  }
  EXPECT_EQ(GetReason(storage_->jobs().ListJobs({}, {-1, ""}).status()), "BAD_PAGE_SIZE");
}

TEST_F(StorageConformance, DatasetListIsPagedNewestFirst) {
  for (const char* id : {"b", "c", "a"}) {
    AddDataset(id);
  }
  const auto first = storage_->datasets().ListDatasets({2, ""});
  ASSERT_EQ(first->items.size(), 2U);
  EXPECT_EQ(first->items[0].id, "a");
  EXPECT_EQ(first->items[1].id, "c");
  const auto second = storage_->datasets().ListDatasets({2, first->next_token});
  ASSERT_EQ(second->items.size(), 1U);
  EXPECT_EQ(second->items[0].id, "b");
  EXPECT_EQ(second->next_token, "");
}

TEST_F(StorageConformance, VersionNumbersAreNeverUsedAgain) {
  AddDataset("data");
  EXPECT_EQ(TrainVersion("j1", "m", "blob-1"), 1);
  EXPECT_EQ(TrainVersion("j2", "m", "blob-2"), 2);
  const auto deleted = storage_->models().DeleteModel("m", 2, At(50));
  ASSERT_TRUE(deleted.ok()) << deleted.status();
  EXPECT_THAT(deleted->versions, ElementsAre(2));
  EXPECT_THAT(deleted->released_blobs, ElementsAre("blob-2", "blob-2-witness"));
  EXPECT_EQ(storage_->models().GetVersion("m", 0)->version, 1);
  EXPECT_EQ(storage_->models().GetVersion("m", 2).status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(TrainVersion("j3", "m", "blob-3"), 3);
  EXPECT_THAT(storage_->models().DeleteModel("m", 0, At(51))->versions, ElementsAre(1, 3));
  EXPECT_EQ(storage_->models().GetModel("m").status().code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(storage_->models().DeleteModel("m", 0, At(52)).status().code(),
            absl::StatusCode::kNotFound);
  EXPECT_THAT(storage_->models().ListModels({})->items, IsEmpty());
  EXPECT_EQ(TrainVersion("j4", "m", "blob-4"), 4);
  EXPECT_EQ(storage_->models().GetModel("m")->num_versions, 1);
}

TEST_F(StorageConformance, ModelsAndVersionsAreListed) {
  AddDataset("data");
  TrainVersion("j1", "b", "blob-1");
  TrainVersion("j2", "a", "blob-2");
  TrainVersion("j3", "b", "blob-3");
  const auto first = storage_->models().ListModels({1, ""});
  ASSERT_EQ(first->items.size(), 1U);
  EXPECT_EQ(first->items[0].name, "a");
  const auto second = storage_->models().ListModels({1, first->next_token});
  ASSERT_EQ(second->items.size(), 1U);
  EXPECT_EQ(second->items[0].name, "b");
  EXPECT_EQ(second->items[0].newest_version, 2);
  EXPECT_EQ(second->next_token, "");
  const auto versions = storage_->models().ListVersions("b", {1, ""});
  ASSERT_EQ(versions->items.size(), 1U);
  EXPECT_EQ(versions->items[0].version, 2);
  EXPECT_EQ(storage_->models().ListVersions("b", {1, versions->next_token})->items[0].version, 1);
  EXPECT_EQ(GetReason(storage_->models().ListVersions("a", {1, versions->next_token}).status()),
            "BAD_PAGE_TOKEN");
  EXPECT_EQ(storage_->models().ListVersions("c", {}).status().code(), absl::StatusCode::kNotFound);
}

TEST_F(StorageConformance, KnowsWhichBlobsAreReferenced) {
  AddDataset("data");
  TrainVersion("j1", "m", "blob-1");
  EXPECT_THAT(*storage_->ReferencedBlobs(),
              ElementsAre("blob-1", "blob-1-witness", "blob-of-data"));
  for (const char* blob : {"blob-1", "blob-1-witness", "blob-of-data"}) {
    EXPECT_TRUE(*storage_->IsBlobReferenced(blob)) << blob;
  }
  EXPECT_FALSE(*storage_->IsBlobReferenced("blob-2"));
  EXPECT_FALSE(*storage_->IsBlobReferenced(""));
}

}  // namespace
}  // namespace mercer::server
