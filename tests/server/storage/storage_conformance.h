// The fixture of the conformance tests of the stores: a storage, and records to fill it with.
#pragma once

#include <algorithm>
#include <filesystem>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <unistd.h>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include <gtest/gtest.h>

#include "core/base/status/errors.h"
#include "server/storage/sqlite/sqlite_storage.h"
#include "server/storage/storage.h"
#include "tests/support/fast_folder.h"

namespace mercer::server {

inline constexpr int64_t kPlentyOfMemory = std::numeric_limits<int64_t>::max();

inline absl::Time At(int64_t seconds) { return absl::FromUnixSeconds(1'700'000'000 + seconds); }

// The metadata `key` of an error; empty without it.
inline std::string MetadataOf(const absl::Status& status, const std::string& key) {
  for (const auto& [name, value] : GetErrorMetadata(status)) {
    if (name == key) {
      return value;
    }
  }
  return "";
}

class StorageConformance : public ::testing::Test {
 protected:
  absl::StatusOr<std::unique_ptr<Storage>> Open(const std::string& folder) {
    SqliteOptions options;
    options.folder = folder;
    options.clock = [this] { return clock_; };
    return OpenSqliteStorage(options);
  }
  void SetUp() override {
    const auto* info = ::testing::UnitTest::GetInstance()->current_test_info();
    std::string name =
        absl::StrCat("mercer-storage-", getpid(), "-", info->test_suite_name(), "-", info->name());
    std::replace(name.begin(), name.end(), '/', '-');
    folder_ = FastFolder() / name;
    absl::StatusOr<std::unique_ptr<Storage>> storage = Open(folder_);
    ASSERT_TRUE(storage.ok()) << storage.status();
    storage_ = *std::move(storage);
  }
  void TearDown() override {
    storage_.reset();
    std::filesystem::remove_all(folder_);
  }

  DatasetRecord MakeDataset(const std::string& id, const std::string& blob = "") {
    DatasetRecord dataset;
    dataset.id = id;
    dataset.display_name = absl::StrCat("the set ", id);
    dataset.blob = blob.empty() ? absl::StrCat("blob-of-", id) : blob;
    dataset.size_bytes = 1234;
    dataset.rows = 56;
    dataset.info = std::string("schema\0with zero", 16);
    dataset.labels = {{"team", "blue"}};
    dataset.create_time = At(1);
    return dataset;
  }
  void AddDataset(const std::string& id) {
    const auto created = storage_->datasets().CreateDataset(MakeDataset(id));
    ASSERT_TRUE(created.ok()) << created.status();
  }

  NewJob MakeJob(const std::string& id) {
    NewJob job;
    job.id = id;
    job.request = absl::StrCat("request of ", id);
    job.request_digest = absl::StrCat("digest of ", id);
    job.learner = "svm";
    job.dataset_ids = {"data"};
    job.labels = {{"owner", "ann"}, {"job", id}};
    job.model_name = "model";
    job.memory_bytes = 1000;
    job.now = At(10);
    job.event = {0, "queued"};
    return job;
  }
  JobRecord AddJob(const NewJob& job) {
    auto created = storage_->jobs().CreateJob(job);
    EXPECT_TRUE(created.ok()) << created.status();
    return created.ok() ? created->job : JobRecord();
  }
  JobRecord AddJob(const std::string& id) { return AddJob(MakeJob(id)); }

  std::optional<JobRecord> Claim(const std::string& worker, int64_t memory = kPlentyOfMemory) {
    auto job = storage_->jobs().ClaimJob(
        {worker, "host-1", At(20), absl::Seconds(30), memory, {0, "running"}});
    EXPECT_TRUE(job.ok()) << job.status();
    return job.ok() ? *job : std::nullopt;
  }
  static Lease LeaseOf(const JobRecord& job) { return {job.id, job.lease_worker, job.epoch}; }

  AttemptEnd MakeEnd(const JobRecord& job, JobState state, AttemptReason reason) {
    AttemptEnd end;
    end.lease = LeaseOf(job);
    end.state = state;
    end.reason = reason;
    end.now = At(30);
    end.events = {{7, "last step"}, {7, "ended"}};
    return end;
  }
  static NewVersion MakeVersion(const std::string& blob) {
    return {"svm", blob, 10, blob + "-witness", 20, "summary", {{"stage", "test"}}};
  }
  AttemptEnd MakeSuccess(const JobRecord& job, const std::string& blob) {
    AttemptEnd end = MakeEnd(job, JobState::kSucceeded, AttemptReason::kSucceeded);
    end.versions = {MakeVersion(blob)};
    return end;
  }
  // Makes, claims and finishes a job of the model; answers the version.
  int64_t TrainVersion(const std::string& job_id, const std::string& model, const std::string& blob,
                       int64_t model_bytes = 10) {
    NewJob job = MakeJob(job_id);
    job.model_name = model;
    AddJob(job);
    const std::optional<JobRecord> claimed = Claim("w");
    EXPECT_TRUE(claimed.has_value());
    AttemptEnd end = MakeSuccess(*claimed, blob);
    end.versions.front().model_bytes = model_bytes;
    const auto ended = storage_->jobs().EndAttempt(end);
    EXPECT_TRUE(ended.ok()) << ended.status();
    return ended.ok() ? ended->job.model_version : -1;
  }
  std::vector<std::string> Payloads(const std::string& job_id) {
    std::vector<std::string> payloads;
    const auto events = storage_->events().Read(job_id, 0, 1000);
    EXPECT_TRUE(events.ok()) << events.status();
    int64_t sequence = 0;
    for (const EventRecord& event : *events) {
      EXPECT_EQ(event.sequence, ++sequence);
      payloads.push_back(event.payload);
    }
    return payloads;
  }

  std::string folder_;
  absl::Time clock_ = At(20);  // of the storage
  std::unique_ptr<Storage> storage_;
};

}  // namespace mercer::server
