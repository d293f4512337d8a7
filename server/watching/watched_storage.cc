#include "server/watching/watched_storage.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "core/base/process/run_safely.h"

namespace mercer::server {
namespace {

using Listeners = std::shared_ptr<JobListeners>;

// What a change has written.
absl::Span<const EventRecord> EventsOf(const std::vector<EventRecord>& events) { return events; }
absl::Span<const EventRecord> EventsOf(const EventRecord& event) { return {&event, 1}; }

void Tell(JobListeners& listeners, const JobRecord& job, JobChange change = JobChange::kState) {
  listeners.Tell(
      {job.id, change,
       job.last_event.has_value() ? EventsOf(*job.last_event) : absl::Span<const EventRecord>(),
       &job});
}

// For a change of an attempt that is told of by its events.
template <typename T>
Done<T> Telling(Listeners listeners, std::string id, JobChange change, Done<T> done) {
  return [listeners = std::move(listeners), id = std::move(id), change,
          done = std::move(done)](absl::StatusOr<T> answer) mutable {
    if (answer.ok()) {
      listeners->Tell({id, change, EventsOf(*answer)});
    }
    done(std::move(answer));
  };
}

// Every change of a job is a method without a body here until somebody writes one: a new one that is not told
// of does not compile.
class WatchedJobStore final : public ForwardingJobReader {
 public:
  WatchedJobStore(JobStore* store, Listeners listeners, JobObserver* observer)
      : ForwardingJobReader(store), listeners_(std::move(listeners)), observer_(observer) {}

  void CreateJob(NewJob job, Done<CreatedJob> done) override {
    jobs_->CreateJob(std::move(job), [listeners = listeners_, done = std::move(done)](
                                         absl::StatusOr<CreatedJob> created) mutable {
      if (created.ok() && created->created) {
        Tell(*listeners, created->job);
      }
      done(std::move(created));
    });
  }
  void ClaimJob(ClaimRequest request, Done<std::optional<JobRecord>> done) override {
    jobs_->ClaimJob(std::move(request),
                    [listeners = listeners_, observer = observer_, done = std::move(done)](
                        absl::StatusOr<std::optional<JobRecord>> claimed) mutable {
                      if (claimed.ok() && claimed->has_value()) {
                        if (observer != nullptr) {
                          observer->OnClaimed(**claimed);
                        }
                        Tell(*listeners, **claimed);
                      }
                      done(std::move(claimed));
                    });
  }
  void BeginVerifying(Lease lease, EventDraft event, absl::Time now,
                      Done<EventRecord> done) override {
    const std::string id = lease.job_id;
    jobs_->BeginVerifying(std::move(lease), std::move(event), now,
                          Telling(listeners_, id, JobChange::kVerifying, std::move(done)));
  }
  void EndAttempt(AttemptEnd end, Done<EndedAttempt> done) override {
    jobs_->EndAttempt(std::move(end), TellingOfEnd(std::move(done)));
  }
  void TakeOver(Lease lease, absl::Time now, OrphanJudge judge, Done<EndedAttempt> done) override {
    jobs_->TakeOver(std::move(lease), now, std::move(judge), TellingOfEnd(std::move(done)));
  }
  void CancelJob(CancelRequest request, Done<EndedAttempt> done) override {
    jobs_->CancelJob(std::move(request), TellingOfEnd(std::move(done)));
  }
  void StopJob(StopRequest request, Done<EndedAttempt> done) override {
    jobs_->StopJob(std::move(request), TellingOfEnd(std::move(done)));
  }

  void UpdateJob(std::string id, Labels labels, OwnerCheck check, Done<JobRecord> done) override {
    jobs_->UpdateJob(
        std::move(id), std::move(labels), std::move(check),
        [listeners = listeners_, done = std::move(done)](absl::StatusOr<JobRecord> job) mutable {
          if (job.ok()) {
            Tell(*listeners, *job, JobChange::kLabels);
          }
          done(std::move(job));
        });
  }
  void DeleteJob(std::string id, OwnerCheck check, Done<DeletedJob> done) override {
    jobs_->DeleteJob(std::move(id), std::move(check),
                     [listeners = listeners_,
                      done = std::move(done)](absl::StatusOr<DeletedJob> deleted) mutable {
                       if (deleted.ok()) {
                         listeners->Tell({deleted->job.id, JobChange::kDeleted, {}, &deleted->job});
                       }
                       done(std::move(deleted));
                     });
  }

  // Watchers hear of what somebody has done to a job, not of jobs that are forgotten, many at a time.
  void DeleteFinishedJobs(FinishedJobs which, Done<DeletedJobs> done) override {
    jobs_->DeleteFinishedJobs(which, std::move(done));
  }
  // Leases and checkpoints are no part of what a job shows.
  void RenewLease(Lease lease, absl::Duration duration, Done<RenewedLease> done) override {
    jobs_->RenewLease(std::move(lease), duration, std::move(done));
  }
  void SaveCheckpoint(Lease lease, NewCheckpoint checkpoint,
                      Done<std::optional<BlobDigest>> done) override {
    jobs_->SaveCheckpoint(std::move(lease), std::move(checkpoint), std::move(done));
  }

 private:
  // For a change that may have ended the job.
  Done<EndedAttempt> TellingOfEnd(Done<EndedAttempt> done) const {
    return [listeners = listeners_, observer = observer_,
            done = std::move(done)](absl::StatusOr<EndedAttempt> answer) mutable {
      if (answer.ok()) {
        if (observer != nullptr && IsFinal(answer->job.state)) {
          observer->OnEnded(answer->job);
        }
        listeners->Tell(
            {answer->job.id, JobChange::kState, answer->events, &answer->job, &*answer});
      }
      done(std::move(answer));
    };
  }

  const Listeners listeners_;
  JobObserver* const observer_;  // may be null
};

class WatchedEventLog final : public EventLog {
 public:
  WatchedEventLog(EventLog* log, Listeners listeners)
      : log_(log), listeners_(std::move(listeners)) {}

  void Append(Lease lease, std::vector<EventDraft> events, absl::Time now,
              Done<std::vector<EventRecord>> done) override {
    const std::string id = lease.job_id;
    log_->Append(std::move(lease), std::move(events), now,
                 Telling(listeners_, id, JobChange::kProgress, std::move(done)));
  }
  absl::StatusOr<std::vector<EventRecord>> Read(const std::string& job_id, int64_t after_sequence,
                                                int limit) override {
    return log_->Read(job_id, after_sequence, limit);
  }

 private:
  EventLog* const log_;
  const Listeners listeners_;
};

}  // namespace

void JobListeners::Add(JobListener* listener) {
  absl::MutexLock lock(&mutex_);
  listeners_.push_back(listener);
}

void JobListeners::Remove(JobListener* listener) {
  absl::MutexLock lock(&mutex_);
  listeners_.erase(std::remove(listeners_.begin(), listeners_.end(), listener), listeners_.end());
}

void JobListeners::Tell(const JobCommit& commit) {
  absl::MutexLock lock(&mutex_);
  for (JobListener* const listener : listeners_) {
    // The change stands, and whoever made it is to be answered, whatever comes of this.
    RunNeeded("telling of a job", [&] { listener->OnCommit(commit); }).IgnoreError();
  }
}

WatchedStorage::WatchedStorage(std::unique_ptr<Storage> storage, JobObserver* observer)
    : ForwardingStorage(storage.get()),
      listeners_(std::make_shared<JobListeners>()),
      storage_(std::move(storage)),
      jobs_(std::make_unique<WatchedJobStore>(&storage_->jobs(), listeners_, observer)),
      events_(std::make_unique<WatchedEventLog>(&storage_->events(), listeners_)) {}

WatchedStorage::~WatchedStorage() = default;

}  // namespace mercer::server
