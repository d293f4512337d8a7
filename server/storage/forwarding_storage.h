// Stores that pass their calls on to others, for those that do something of their own in a few: these override what they do.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "server/storage/storage.h"

namespace mercer::server {

// Passes on what reads and leaves what changes jobs to be written: whoever has to know of every change cannot miss one.
class ForwardingJobReader : public JobStore {
 public:
  // `jobs` outlives this.
  explicit ForwardingJobReader(JobStore* jobs) : jobs_(jobs) {}

  absl::StatusOr<std::optional<JobRecord>> FindRequest(const std::string& caller,
                                                       const std::string& request_id,
                                                       const std::string& request_digest) override {
    return jobs_->FindRequest(caller, request_id, request_digest);
  }
  absl::StatusOr<bool> HasDueJobs() override { return jobs_->HasDueJobs(); }
  absl::StatusOr<std::vector<HeldJob>> HeldJobs() override { return jobs_->HeldJobs(); }
  absl::StatusOr<JobRecord> GetJob(const std::string& id) override { return jobs_->GetJob(id); }
  absl::StatusOr<Page<JobRecord>> ListJobs(const JobFilter& filter,
                                           const PageRequest& page) override {
    return jobs_->ListJobs(filter, page);
  }
  absl::StatusOr<std::vector<AttemptRecord>> ListAttempts(const std::string& job_id) override {
    return jobs_->ListAttempts(job_id);
  }
  absl::StatusOr<std::optional<CheckpointRecord>> GetCheckpoint(
      const std::string& job_id) override {
    return jobs_->GetCheckpoint(job_id);
  }
  absl::StatusOr<std::map<JobState, int64_t>> CountJobs() override { return jobs_->CountJobs(); }

 protected:
  JobStore* const jobs_;
};

class ForwardingStorage : public Storage {
 public:
  // `storage` outlives this, or is owned by the class that derives from it.
  explicit ForwardingStorage(Storage* storage) : storage_(storage) {}

  DatasetStore& datasets() override { return storage_->datasets(); }
  JobStore& jobs() override { return storage_->jobs(); }
  EventLog& events() override { return storage_->events(); }
  ModelStore& models() override { return storage_->models(); }
  absl::StatusOr<bool> IsBlobReferenced(const BlobDigest& blob) override {
    return storage_->IsBlobReferenced(blob);
  }
  absl::StatusOr<std::vector<BlobDigest>> ReferencedBlobs() override {
    return storage_->ReferencedBlobs();
  }
  int64_t SnapshotBytes() override { return storage_->SnapshotBytes(); }
  absl::StatusOr<std::vector<BlobDigest>> WriteSnapshot(
      const std::string& path, const std::function<bool()>& is_cancelled) override {
    return storage_->WriteSnapshot(path, is_cancelled);
  }

 private:
  Storage* const storage_;
};

}  // namespace mercer::server
