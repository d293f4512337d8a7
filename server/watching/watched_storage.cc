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

// `done`, which learns of what has been done after `tell`.
template <typename T, typename Teller>
Done<T> Telling(Done<T> done, Teller tell) {
  return [done = std::move(done), tell = std::move(tell)](absl::StatusOr<T> answer) mutable {
    if (answer.ok()) {
      tell(std::as_const(*answer));
    }
    done(std::move(answer));
  };
}

// For a change of an attempt that is told of by its events.
template <typename T>
Done<T> TellingOfEvents(Done<T> done, Listeners listeners, std::string id, JobChange change) {
  return Telling(std::move(done),
                 [listeners = std::move(listeners), id = std::move(id), change](const T& events) {
                   listeners->Tell({id, change, EventsOf(events)});
                 });
}

// Every change of a job is a method without a body here until somebody writes one: a new one that is not told
// of does not compile.
class WatchedJobStore final : public ForwardingJobReader {
 public:
  WatchedJobStore(JobStore* store, Listeners listeners, JobObserver* observer)
      : ForwardingJobReader(store), listeners_(std::move(listeners)), observer_(observer) {}

  void CreateJob(NewJob job, Done<CreatedJob> done) override {
    jobs_->CreateJob(std::move(job),
                     Telling(std::move(done), [listeners = listeners_](const CreatedJob& created) {
                       if (created.created) {
                         Tell(*listeners, created.job);
                       }
                     }));
  }
  void ClaimJob(ClaimRequest request, Done<std::optional<JobRecord>> done) override {
    jobs_->ClaimJob(std::move(request),
                    Telling(std::move(done), [listeners = listeners_, observer = observer_](
                                                 const std::optional<JobRecord>& claimed) {
                      if (claimed.has_value() && observer != nullptr) {
                        observer->OnClaimed(*claimed);
                      }
                      if (claimed.has_value()) {
                        Tell(*listeners, *claimed);
                      }
                    }));
  }
  void BeginVerifying(Lease lease, EventDraft event, absl::Time now,
                      Done<EventRecord> done) override {
    const std::string id = lease.job_id;
    jobs_->BeginVerifying(std::move(lease), std::move(event), now,
                          TellingOfEvents(std::move(done), listeners_, id, JobChange::kVerifying));
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

  void UpdateJob(JobUpdate update, Done<JobRecord> done) override {
    jobs_->UpdateJob(std::move(update),
                     Telling(std::move(done), [listeners = listeners_](const JobRecord& job) {
                       Tell(*listeners, job, JobChange::kUpdated);
                     }));
  }
  void DeleteJob(std::string id, OwnerCheck check, Done<DeletedJob> done) override {
    jobs_->DeleteJob(std::move(id), std::move(check),
                     Telling(std::move(done), [listeners = listeners_](const DeletedJob& deleted) {
                       listeners->Tell({deleted.job.id, JobChange::kDeleted, {}, &deleted.job});
                     }));
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
    return Telling(
        std::move(done), [listeners = listeners_, observer = observer_](const EndedAttempt& ended) {
          if (observer != nullptr && IsFinal(ended.job.state)) {
            observer->OnEnded(ended.job);
          }
          listeners->Tell({ended.job.id, JobChange::kState, ended.events, &ended.job, &ended});
        });
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
                 TellingOfEvents(std::move(done), listeners_, id, JobChange::kProgress));
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
  std::erase(listeners_, listener);
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

}  // namespace mercer::server
