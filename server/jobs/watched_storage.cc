#include "server/jobs/watched_storage.h"

#include <map>
#include <optional>
#include <utility>

#include "core/base/process/run_safely.h"

namespace mercer::server {
namespace {

using SlotPointer = std::shared_ptr<JobListenerSlot>;

// Every change of a job is a method without a body here until somebody writes one: a new one that is not told
// of does not compile.
class WatchedJobStore final : public ForwardingJobReader {
 public:
  WatchedJobStore(JobStore* store, SlotPointer slot, JobObserver* observer)
      : ForwardingJobReader(store), slot_(std::move(slot)), observer_(observer) {}

  void CreateJob(NewJob job, Done<CreatedJob> done) override {
    jobs_->CreateJob(std::move(job), [slot = slot_, done = std::move(done)](
                                         absl::StatusOr<CreatedJob> created) mutable {
      if (created.ok() && created->created) {
        slot->Tell(created->job.id, JobChange::kState);
      }
      done(std::move(created));
    });
  }
  void ClaimJob(ClaimRequest request, Done<std::optional<JobRecord>> done) override {
    jobs_->ClaimJob(std::move(request),
                    [slot = slot_, observer = observer_, done = std::move(done)](
                        absl::StatusOr<std::optional<JobRecord>> claimed) mutable {
                      if (claimed.ok() && claimed->has_value()) {
                        if (observer != nullptr) {
                          observer->OnClaimed(**claimed);
                        }
                        slot->Tell((*claimed)->id, JobChange::kState);
                      }
                      done(std::move(claimed));
                    });
  }
  void BeginVerifying(Lease lease, EventDraft event, absl::Time now,
                      Done<EventRecord> done) override {
    const std::string id = lease.job_id;
    jobs_->BeginVerifying(std::move(lease), std::move(event), now,
                          Telling(id, JobChange::kState, std::move(done)));
  }
  void EndAttempt(AttemptEnd end, Done<EndedAttempt> done) override {
    jobs_->EndAttempt(std::move(end), TellingOfEnd(std::move(done)));
  }
  void CancelJob(CancelRequest request, Done<EndedAttempt> done) override {
    jobs_->CancelJob(std::move(request), TellingOfEnd(std::move(done)));
  }
  void StopJob(StopRequest request, Done<EndedAttempt> done) override {
    jobs_->StopJob(std::move(request), TellingOfEnd(std::move(done)));
  }

  void UpdateJob(std::string id, Labels labels, OwnerCheck check, Done<JobRecord> done) override {
    const std::string job_id = id;
    jobs_->UpdateJob(std::move(id), std::move(labels), std::move(check),
                     Telling(job_id, JobChange::kLabels, std::move(done)));
  }
  void DeleteJob(std::string id, OwnerCheck check, Done<DeletedJob> done) override {
    jobs_->DeleteJob(
        std::move(id), std::move(check),
        [slot = slot_, done = std::move(done)](absl::StatusOr<DeletedJob> deleted) mutable {
          if (deleted.ok()) {
            slot->Tell(deleted->job.id, JobChange::kDeleted, &deleted->job);
          }
          done(std::move(deleted));
        });
  }

  // Watchers hear of what somebody has done to a job, not of jobs that are forgotten, many at a time.
  void DeleteFinishedJobs(FinishedJobs which, Done<DeletedJobs> done) override {
    jobs_->DeleteFinishedJobs(which, std::move(done));
  }
  // Leases and checkpoints are no part of what a job shows.
  void RenewLease(Lease lease, absl::Time lease_until, Done<RenewedLease> done) override {
    jobs_->RenewLease(std::move(lease), lease_until, std::move(done));
  }
  void SaveCheckpoint(Lease lease, NewCheckpoint checkpoint,
                      Done<std::optional<BlobDigest>> done) override {
    jobs_->SaveCheckpoint(std::move(lease), std::move(checkpoint), std::move(done));
  }

 private:
  template <typename T>
  Done<T> Telling(std::string id, JobChange change, Done<T> done) const {
    return [slot = slot_, id = std::move(id), change,
            done = std::move(done)](absl::StatusOr<T> answer) mutable {
      if (answer.ok()) {
        slot->Tell(id, change);
      }
      done(std::move(answer));
    };
  }

  // For a change that may have ended the job.
  Done<EndedAttempt> TellingOfEnd(Done<EndedAttempt> done) const {
    return [slot = slot_, observer = observer_,
            done = std::move(done)](absl::StatusOr<EndedAttempt> answer) mutable {
      if (answer.ok()) {
        if (observer != nullptr && IsFinal(answer->job.state)) {
          observer->OnEnded(answer->job);
        }
        slot->Tell(answer->job.id, JobChange::kState);
      }
      done(std::move(answer));
    };
  }

  const SlotPointer slot_;
  JobObserver* const observer_;  // may be null
};

class WatchedEventLog final : public EventLog {
 public:
  WatchedEventLog(EventLog* log, SlotPointer slot) : log_(log), slot_(std::move(slot)) {}

  void Append(Lease lease, std::vector<EventDraft> events, absl::Time now,
              Done<std::vector<EventRecord>> done) override {
    std::string id = lease.job_id;
    log_->Append(std::move(lease), std::move(events), now,
                 [slot = slot_, id = std::move(id),
                  done = std::move(done)](absl::StatusOr<std::vector<EventRecord>> stored) mutable {
                   if (stored.ok()) {
                     slot->Tell(id, JobChange::kProgress);
                   }
                   done(std::move(stored));
                 });
  }
  absl::StatusOr<std::vector<EventRecord>> Read(const std::string& job_id, int64_t after_sequence,
                                                int limit) override {
    return log_->Read(job_id, after_sequence, limit);
  }

 private:
  EventLog* const log_;
  const SlotPointer slot_;
};

}  // namespace

void JobListenerSlot::Set(JobListener listener) {
  absl::MutexLock lock(&mutex_);
  listener_ = std::move(listener);
}

void JobListenerSlot::Tell(const std::string& job_id, JobChange change, const JobRecord* deleted) {
  absl::MutexLock lock(&mutex_);
  if (listener_) {
    // The change stands, and whoever made it is to be answered, whatever comes of this.
    RunNeeded("telling of a job", [&]() ABSL_NO_THREAD_SAFETY_ANALYSIS {
      listener_(job_id, change, deleted);
    }).IgnoreError();
  }
}

WatchedStorage::WatchedStorage(std::unique_ptr<Storage> storage, JobObserver* observer)
    : ForwardingStorage(storage.get()),
      slot_(std::make_shared<JobListenerSlot>()),
      storage_(std::move(storage)),
      jobs_(std::make_unique<WatchedJobStore>(&storage_->jobs(), slot_, observer)),
      events_(std::make_unique<WatchedEventLog>(&storage_->events(), slot_)) {}

WatchedStorage::~WatchedStorage() = default;

}  // namespace mercer::server
