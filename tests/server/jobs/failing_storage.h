// A storage that passes everything on, and refuses some changes while it is told to.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"

#include "server/storage/storage.h"

namespace mercer::server {

// So many calls, from now on, fail.
struct StorageFailures {
  std::atomic<int> ends{0};
  std::atomic<int> appends{0};
  std::atomic<int> checkpoint_reads{0};
  // Renewals of leases are not answered but kept here, for a test that calls on one thread.
  bool hold_renewals = false;
  std::vector<Done<RenewedLease>> held_renewals;

  static bool Take(std::atomic<int>& countdown) {
    int left = countdown.load();
    while (left > 0 && !countdown.compare_exchange_weak(left, left - 1)) {
    }
    return left > 0;
  }
  static absl::Status Failure() { return absl::InternalError("the storage fails"); }
};

class FailingJobStore final : public JobStore {
 public:
  FailingJobStore(JobStore* real, StorageFailures* failures) : real_(real), failures_(failures) {}

  void CreateJob(NewJob job, Done<CreatedJob> done) override {
    real_->CreateJob(std::move(job), std::move(done));
  }
  absl::StatusOr<std::optional<JobRecord>> FindRequest(const std::string& caller,
                                                       const std::string& request_id,
                                                       const std::string& digest) override {
    return real_->FindRequest(caller, request_id, digest);
  }
  void ClaimJob(ClaimRequest request, Done<std::optional<JobRecord>> done) override {
    real_->ClaimJob(std::move(request), std::move(done));
  }
  void RenewLease(Lease lease, absl::Time until, Done<RenewedLease> done) override {
    if (failures_->hold_renewals) {
      failures_->held_renewals.push_back(std::move(done));
      return;
    }
    real_->RenewLease(std::move(lease), until, std::move(done));
  }
  void BeginVerifying(Lease lease, EventDraft event, absl::Time now,
                      Done<EventRecord> done) override {
    real_->BeginVerifying(std::move(lease), std::move(event), now, std::move(done));
  }
  void SaveCheckpoint(Lease lease, NewCheckpoint checkpoint,
                      Done<std::optional<BlobDigest>> done) override {
    real_->SaveCheckpoint(std::move(lease), std::move(checkpoint), std::move(done));
  }
  void EndAttempt(AttemptEnd end, Done<EndedAttempt> done) override {
    if (StorageFailures::Take(failures_->ends)) {
      done(StorageFailures::Failure());
    } else {
      real_->EndAttempt(std::move(end), std::move(done));
    }
  }
  void CancelJob(CancelRequest request, Done<EndedAttempt> done) override {
    real_->CancelJob(std::move(request), std::move(done));
  }
  void StopJob(StopRequest request, Done<EndedAttempt> done) override {
    real_->StopJob(std::move(request), std::move(done));
  }
  void DeleteFinishedJobs(FinishedJobs which, Done<DeletedJobs> done) override {
    real_->DeleteFinishedJobs(which, std::move(done));
  }
  absl::StatusOr<absl::Time> NextReadyTime() override { return real_->NextReadyTime(); }
  absl::StatusOr<JobRecord> GetJob(const std::string& id) override { return real_->GetJob(id); }
  absl::StatusOr<Page<JobRecord>> ListJobs(const JobFilter& filter,
                                           const PageRequest& page) override {
    return real_->ListJobs(filter, page);
  }
  absl::StatusOr<std::vector<AttemptRecord>> ListAttempts(const std::string& job_id) override {
    return real_->ListAttempts(job_id);
  }
  absl::StatusOr<std::optional<CheckpointRecord>> GetCheckpoint(
      const std::string& job_id) override {
    if (StorageFailures::Take(failures_->checkpoint_reads)) {
      return StorageFailures::Failure();
    }
    return real_->GetCheckpoint(job_id);
  }
  absl::StatusOr<std::map<JobState, int64_t>> CountJobs() override { return real_->CountJobs(); }

  using JobStore::BeginVerifying;
  using JobStore::CancelJob;
  using JobStore::ClaimJob;
  using JobStore::CreateJob;
  using JobStore::DeleteFinishedJobs;
  using JobStore::EndAttempt;
  using JobStore::RenewLease;
  using JobStore::SaveCheckpoint;
  using JobStore::StopJob;

 private:
  JobStore* const real_;
  StorageFailures* const failures_;
};

class FailingEventLog final : public EventLog {
 public:
  FailingEventLog(EventLog* real, StorageFailures* failures) : real_(real), failures_(failures) {}

  void Append(Lease lease, std::vector<EventDraft> events, absl::Time now,
              Done<std::vector<EventRecord>> done) override {
    if (StorageFailures::Take(failures_->appends)) {
      done(StorageFailures::Failure());
    } else {
      real_->Append(std::move(lease), std::move(events), now, std::move(done));
    }
  }
  absl::StatusOr<std::vector<EventRecord>> Read(const std::string& job_id, int64_t after,
                                                int limit) override {
    return real_->Read(job_id, after, limit);
  }
  using EventLog::Append;

 private:
  EventLog* const real_;
  StorageFailures* const failures_;
};

class FailingStorage final : public Storage {
 public:
  FailingStorage(std::unique_ptr<Storage> real, StorageFailures* failures)
      : real_(std::move(real)),
        jobs_(&real_->jobs(), failures),
        events_(&real_->events(), failures) {}

  DatasetStore& datasets() override { return real_->datasets(); }
  JobStore& jobs() override { return jobs_; }
  EventLog& events() override { return events_; }
  ModelStore& models() override { return real_->models(); }
  absl::StatusOr<bool> IsBlobReferenced(const BlobDigest& blob) override {
    return real_->IsBlobReferenced(blob);
  }
  absl::StatusOr<std::vector<BlobDigest>> ReferencedBlobs() override {
    return real_->ReferencedBlobs();
  }

 private:
  const std::unique_ptr<Storage> real_;
  FailingJobStore jobs_;
  FailingEventLog events_;
};

}  // namespace mercer::server
