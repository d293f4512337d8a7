// A storage whose reads of jobs a test counts, fails, and lets changes happen behind.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"

#include "core/base/status/errors.h"
#include "server/storage/storage.h"

namespace mercer::server {

struct JobHooks {
  // Called after the read and before its answer.
  std::function<void()> after_list;
  std::function<void()> after_get;
  int lists = 0;          // so far
  int failing_lists = 0;  // of the next ones
  int failing_gets = 0;

  static absl::Status Failure() {
    return WithReason(absl::InternalError("the storage fails"), "TEST_FAILURE");
  }
};

class HookedJobStore final : public JobStore {
 public:
  HookedJobStore(JobStore* real, JobHooks* hooks) : real_(real), hooks_(hooks) {}

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
    real_->EndAttempt(std::move(end), std::move(done));
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
  absl::StatusOr<JobRecord> GetJob(const std::string& id) override {
    if (hooks_->failing_gets > 0) {
      --hooks_->failing_gets;
      return JobHooks::Failure();
    }
    return Answer(real_->GetJob(id), hooks_->after_get);
  }
  absl::StatusOr<Page<JobRecord>> ListJobs(const JobFilter& filter,
                                           const PageRequest& page) override {
    ++hooks_->lists;
    if (hooks_->failing_lists > 0) {
      --hooks_->failing_lists;
      return JobHooks::Failure();
    }
    return Answer(real_->ListJobs(filter, page), hooks_->after_list);
  }
  absl::StatusOr<std::vector<AttemptRecord>> ListAttempts(const std::string& job_id) override {
    return real_->ListAttempts(job_id);
  }
  absl::StatusOr<std::optional<CheckpointRecord>> GetCheckpoint(
      const std::string& job_id) override {
    return real_->GetCheckpoint(job_id);
  }
  absl::StatusOr<std::map<JobState, int64_t>> CountJobs() override { return real_->CountJobs(); }

 private:
  template <typename T>
  static T Answer(T answer, std::function<void()> hook) {
    if (hook) {
      hook();
    }
    return answer;
  }

  JobStore* const real_;
  JobHooks* const hooks_;
};

class HookedStorage final : public Storage {
 public:
  HookedStorage(std::unique_ptr<Storage> real, JobHooks* hooks)
      : real_(std::move(real)), jobs_(&real_->jobs(), hooks) {}

  DatasetStore& datasets() override { return real_->datasets(); }
  JobStore& jobs() override { return jobs_; }
  EventLog& events() override { return real_->events(); }
  ModelStore& models() override { return real_->models(); }
  absl::StatusOr<bool> IsBlobReferenced(const BlobDigest& blob) override {
    return real_->IsBlobReferenced(blob);
  }
  absl::StatusOr<std::vector<BlobDigest>> ReferencedBlobs() override {
    return real_->ReferencedBlobs();
  }

 private:
  const std::unique_ptr<Storage> real_;
  HookedJobStore jobs_;
};

}  // namespace mercer::server
