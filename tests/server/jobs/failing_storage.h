// A storage that passes everything on, and refuses some changes while it is told to.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"

#include "core/base/status/errors.h"
#include "server/storage/forwarding_storage.h"
#include "tests/support/server/forwarding_jobs.h"

namespace mercer::server {

// So many calls, from now on, fail.
struct StorageFailures {
  std::atomic<int> ends{0};
  std::atomic<int> cancelled_ends{0};
  std::atomic<int> appends{0};
  std::atomic<int> checkpoint_reads{0};
  std::atomic<int> lists{0};
  std::atomic<int> claims{0};
  std::function<bool()> disk_is_full = [] { return false; };  // for deletions of jobs
  // Lists end at once in the midst of the jobs, as when many were looked at that are not asked for.
  std::atomic<bool> empty_pages{false};
  std::atomic<int> lists_begun{0};
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

class FailingJobStore final : public ForwardingJobStore {
 public:
  FailingJobStore(JobStore* real, StorageFailures* failures)
      : ForwardingJobStore(real), failures_(failures) {}

  void RenewLease(Lease lease, absl::Duration duration, Done<RenewedLease> done) override {
    if (failures_->hold_renewals) {
      failures_->held_renewals.push_back(std::move(done));
      return;
    }
    jobs_->RenewLease(std::move(lease), duration, std::move(done));
  }
  void ClaimJob(ClaimRequest request, Done<std::optional<JobRecord>> done) override {
    if (StorageFailures::Take(failures_->claims)) {
      done(WithReason(absl::ResourceExhaustedError("no space left"), "DISK_FULL"));
    } else {
      jobs_->ClaimJob(std::move(request), std::move(done));
    }
  }
  void EndAttempt(AttemptEnd end, Done<EndedAttempt> done) override {
    if (StorageFailures::Take(failures_->ends) ||
        (end.state == JobState::kCancelled && StorageFailures::Take(failures_->cancelled_ends))) {
      done(StorageFailures::Failure());
    } else {
      jobs_->EndAttempt(std::move(end), std::move(done));
    }
  }
  absl::StatusOr<std::optional<CheckpointRecord>> GetCheckpoint(
      const std::string& job_id) override {
    if (StorageFailures::Take(failures_->checkpoint_reads)) {
      return StorageFailures::Failure();
    }
    return jobs_->GetCheckpoint(job_id);
  }

  absl::StatusOr<Page<JobRecord>> ListJobs(const JobFilter& filter,
                                           const PageRequest& page) override {
    ++failures_->lists_begun;
    if (StorageFailures::Take(failures_->lists)) {
      return StorageFailures::Failure();
    }
    return failures_->empty_pages ? Page<JobRecord>{{}, "more"} : jobs_->ListJobs(filter, page);
  }

  void DeleteJob(std::string id, OwnerCheck check, Done<DeletedJob> done) override {
    if (failures_->disk_is_full()) {
      done(WithReason(absl::ResourceExhaustedError("no space left"), "DISK_FULL"));
    } else {
      jobs_->DeleteJob(std::move(id), std::move(check), std::move(done));
    }
  }

  using JobStore::ClaimJob;
  using JobStore::DeleteJob;
  using JobStore::EndAttempt;
  using JobStore::RenewLease;

 private:
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

class FailingStorage final : public ForwardingStorage {
 public:
  FailingStorage(std::unique_ptr<Storage> real, StorageFailures* failures)
      : ForwardingStorage(real.get()),
        real_(std::move(real)),
        jobs_(&real_->jobs(), failures),
        events_(&real_->events(), failures) {}

  JobStore& jobs() override { return jobs_; }
  EventLog& events() override { return events_; }

 private:
  const std::unique_ptr<Storage> real_;
  FailingJobStore jobs_;
  FailingEventLog events_;
};

}  // namespace mercer::server
