#include "tests/fault/files/store_script.h"

#include <optional>

#include "absl/strings/str_cat.h"
#include <gtest/gtest.h>

#include "core/base/status/status_macros.h"
#include "server/digest/sha256.h"
#include "server/jobs/upkeep/blob_collector.h"
#include "server/storage/sqlite/sqlite_storage.h"

namespace mercer::server {
namespace {

const char kJobId[] = "job";
const char kDataset[] = "data";
const char kModel[] = "model";

absl::Time At(int second) { return absl::FromUnixSeconds(1'700'000'000 + second); }

// More than a page of the database, so that no write is the only one of its file.
std::string ContentOf(const std::string& what) {
  std::string content;
  for (int i = 0; i < 1500; ++i) {
    absl::StrAppend(&content, what, " ", i, "\n");
  }
  return content;
}

absl::StatusOr<Lease> ReadLease(Stores& stores) {
  MERCER_ASSIGN_OR_RETURN(const JobRecord job, stores.storage->jobs().GetJob(kJobId));
  return Lease{job.id, job.lease_worker, job.epoch};
}

absl::Status MakeDataset(Stores& stores) {
  MERCER_ASSIGN_OR_RETURN(const PinnedBlob blob, stores.blobs->Put(ContentOf("data")));
  DatasetRecord dataset;
  dataset.id = kDataset;
  dataset.blob = blob.digest();
  dataset.size_bytes = blob.size();
  dataset.info = ContentOf("info");
  dataset.create_time = At(1);
  return stores.storage->datasets().CreateDataset(std::move(dataset)).status();
}

absl::Status MakeJob(Stores& stores) {
  NewJob job;
  job.id = kJobId;
  job.request = "request";
  job.request_id = "request-1";
  job.request_digest = "digest";
  job.learner = "svm";
  job.dataset_ids = {kDataset};
  job.model_name = kModel;
  job.now = At(2);
  job.event = {0, "queued"};
  return stores.storage->jobs().CreateJob(std::move(job)).status();
}

absl::Status Claim(Stores& stores) {
  ClaimRequest claim;
  claim.worker = "worker";
  claim.host = "host";
  claim.now = At(3);
  claim.lease = absl::Seconds(1000);
  claim.free_memory_bytes = 1;
  claim.event = {0, "running"};
  return stores.storage->jobs().ClaimJob(std::move(claim)).status();
}

absl::Status AppendEvents(Stores& stores) {
  MERCER_ASSIGN_OR_RETURN(const Lease lease, ReadLease(stores));
  return stores.storage->events()
      .Append(lease, {{1, ContentOf("first")}, {2, ContentOf("second")}}, At(4))
      .status();
}

absl::Status SaveCheckpoint(Stores& stores, int iteration) {
  MERCER_ASSIGN_OR_RETURN(const Lease lease, ReadLease(stores));
  MERCER_ASSIGN_OR_RETURN(const PinnedBlob blob,
                          stores.blobs->Put(ContentOf(absl::StrCat("checkpoint ", iteration))));
  MERCER_ASSIGN_OR_RETURN(
      const std::optional<BlobDigest> before,
      stores.storage->jobs().SaveCheckpoint(lease, {iteration, "version", blob.digest(), At(5)}));
  return before.has_value()
             ? DeleteReleasedBlobs(*stores.storage, *stores.blobs, {*before}).status()
             : absl::OkStatus();
}

absl::Status BeginVerifying(Stores& stores) {
  MERCER_ASSIGN_OR_RETURN(const Lease lease, ReadLease(stores));
  return stores.storage->jobs().BeginVerifying(lease, {2, "verifying"}, At(6)).status();
}

absl::Status Succeed(Stores& stores) {
  AttemptEnd end;
  MERCER_ASSIGN_OR_RETURN(end.lease, ReadLease(stores));
  MERCER_ASSIGN_OR_RETURN(const PinnedBlob model, stores.blobs->Put(ContentOf("model")));
  MERCER_ASSIGN_OR_RETURN(const PinnedBlob witness, stores.blobs->Put(ContentOf("witness")));
  end.state = JobState::kSucceeded;
  end.reason = AttemptReason::kSucceeded;
  NewVersion& version = end.versions.emplace_back();
  version.learner = "svm";
  version.model_blob = model.digest();
  version.witness_blob = witness.digest();
  end.now = At(7);
  end.events = {{2, "succeeded"}};
  MERCER_ASSIGN_OR_RETURN(const EndedAttempt ended,
                          stores.storage->jobs().EndAttempt(std::move(end)));
  return DeleteReleasedBlobs(*stores.storage, *stores.blobs, ended.released_blobs).status();
}

absl::Status DeleteTheDataset(Stores& stores) {
  MERCER_ASSIGN_OR_RETURN(const DatasetRecord deleted,
                          stores.storage->datasets().DeleteDataset(kDataset));
  return DeleteReleasedBlobs(*stores.storage, *stores.blobs, {deleted.blob}).status();
}

absl::Status DeleteTheModel(Stores& stores) {
  MERCER_ASSIGN_OR_RETURN(const DeletedVersions deleted,
                          stores.storage->models().DeleteModel(kModel, 1, At(8)));
  return DeleteReleasedBlobs(*stores.storage, *stores.blobs, deleted.released_blobs).status();
}

void ExpectContent(Stores& stores, const std::string& digest, const std::string& what) {
  EXPECT_EQ(digest, Sha256Hex(ContentOf(what))) << what;
  const auto blob = stores.blobs->Read(digest);
  EXPECT_TRUE(blob.ok()) << what << ": " << blob.status();
}

// How far a running job is.
int ReadRunning(Stores& stores, size_t num_events) {
  const auto checkpoint = stores.storage->jobs().GetCheckpoint(kJobId);
  EXPECT_TRUE(checkpoint.ok()) << checkpoint.status();
  if (!checkpoint.ok() || !checkpoint->has_value()) {
    return num_events == 2 ? 3 : 4;
  }
  const int64_t iteration = (*checkpoint)->iteration;
  EXPECT_EQ(num_events, 4U);
  ExpectContent(stores, (*checkpoint)->blob, absl::StrCat("checkpoint ", iteration));
  return 4 + static_cast<int>(iteration);
}

int ReadSucceeded(Stores& stores, bool has_dataset) {
  const auto version = stores.storage->models().GetVersion(kModel, 1);
  EXPECT_TRUE(version.ok() || absl::IsNotFound(version.status())) << version.status();
  const auto checkpoint = stores.storage->jobs().GetCheckpoint(kJobId);
  EXPECT_TRUE(checkpoint.ok() && !checkpoint->has_value());
  if (!version.ok()) {
    EXPECT_FALSE(has_dataset);
    return 10;
  }
  ExpectContent(stores, version->model_blob, "model");
  ExpectContent(stores, version->witness_blob, "witness");
  return has_dataset ? 8 : 9;
}

}  // namespace

absl::StatusOr<Stores> OpenStores(const std::string& folder) {
  SqliteOptions options;
  options.folder = folder;
  options.num_readers = 1;
  Stores stores;
  MERCER_ASSIGN_OR_RETURN(stores.storage, OpenSqliteStorage(options));
  MERCER_ASSIGN_OR_RETURN(stores.blobs, OpenBlobStore(folder + "/blobs"));
  return stores;
}

absl::Status RunStoreStep(int step, Stores& stores) {
  switch (step) {
    case 1:
      return MakeDataset(stores);
    case 2:
      return MakeJob(stores);
    case 3:
      return Claim(stores);
    case 4:
      return AppendEvents(stores);
    case 5:
      return SaveCheckpoint(stores, 1);
    case 6:
      return SaveCheckpoint(stores, 2);
    case 7:
      return BeginVerifying(stores);
    case 8:
      return Succeed(stores);
    case 9:
      return DeleteTheDataset(stores);
    default:
      return DeleteTheModel(stores);
  }
}

int ReadProgress(Stores& stores) {
  const auto dataset = stores.storage->datasets().GetDataset(kDataset);
  EXPECT_TRUE(dataset.ok() || absl::IsNotFound(dataset.status())) << dataset.status();
  if (dataset.ok()) {
    ExpectContent(stores, dataset->blob, "data");
    EXPECT_EQ(dataset->info, ContentOf("info"));
  }
  const auto job = stores.storage->jobs().GetJob(kJobId);
  if (!job.ok()) {
    EXPECT_TRUE(absl::IsNotFound(job.status())) << job.status();
    return dataset.ok() ? 1 : 0;
  }
  const auto events = stores.storage->events().Read(kJobId, 0, 100);
  EXPECT_TRUE(events.ok()) << events.status();
  for (size_t i = 0; i < events->size(); ++i) {
    EXPECT_EQ(events->at(i).sequence, static_cast<int64_t>(i) + 1);
  }
  EXPECT_EQ(job->last_event, events->back());
  switch (job->state) {
    case JobState::kQueued:
      EXPECT_EQ(events->size(), 1U);
      return 2;
    case JobState::kRunning:
      return ReadRunning(stores, events->size());
    case JobState::kVerifying:
      EXPECT_EQ(events->size(), 5U);
      return 7;
    default:
      EXPECT_EQ(job->state, JobState::kSucceeded);
      EXPECT_EQ(events->size(), 6U);
      return ReadSucceeded(stores, dataset.ok());
  }
}

void ExpectNoLeftovers(Stores& stores) {
  const auto collected = CollectUnreferencedBlobs(*stores.storage, *stores.blobs);
  EXPECT_TRUE(collected.ok()) << collected.status();
  const auto referenced = stores.storage->ReferencedBlobs();
  const auto stored = stores.blobs->List();
  ASSERT_TRUE(referenced.ok() && stored.ok()) << referenced.status() << stored.status();
  EXPECT_EQ(*stored, *referenced);
}

}  // namespace mercer::server
