// A storage that tells of every change of a job. All that changes jobs gets this storage and no other, so
// nobody who writes can forget to tell.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/types/span.h"

#include "server/jobs/job_observer.h"
#include "server/storage/forwarding_storage.h"

namespace mercer::server {

enum class JobChange : uint8_t {
  kState,      // the job is new, or its state or what belongs to it has changed
  kProgress,   // it has events of a running attempt
  kVerifying,  // its attempt has come to state VERIFYING
  kUpdated,    // its labels and display_name may have changed
  kDeleted,    // somebody has deleted it
};

// What the storage has committed.
struct JobCommit {
  const std::string& job_id;
  JobChange change = JobChange::kState;
  absl::Span<const EventRecord> events =
      {};  // the last ones of the job, in order: among them all that it has written
  // The job as it is now, or was when it was deleted. Null for kProgress and kVerifying, which change its state and last
  // event alone.
  const JobRecord* job = nullptr;
  const EndedAttempt* ended = nullptr;  // of what may have ended the job
};

// Must be thread-safe.
class JobListener {
 public:
  virtual ~JobListener() = default;
  // Called on a thread of the storage once the change is durable, before whoever made it is answered, and for each job in the order
  // of its changes. Must be quick and may not wait for a change of the storage.
  virtual void OnCommit(const JobCommit& commit) = 0;
};

// Those who listen, told in the order in which they came. Thread-safe.
class JobListeners {
 public:
  void Add(JobListener* listener) ABSL_LOCKS_EXCLUDED(mutex_);
  // Waits for a call of it.
  void Remove(JobListener* listener) ABSL_LOCKS_EXCLUDED(mutex_);
  void Tell(const JobCommit& commit) ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  absl::Mutex mutex_;  // held while listeners run
  std::vector<JobListener*> listeners_ ABSL_GUARDED_BY(mutex_);
};

// Thread-safe. Tells of changes made through it alone.
class WatchedStorage final : public ForwardingStorage {
 public:
  // `observer`, which may be null, is told of what workers take and of what ends; outlives the storage.
  explicit WatchedStorage(std::unique_ptr<Storage> storage, JobObserver* observer = nullptr);

  JobStore& jobs() override { return *jobs_; }
  EventLog& events() override { return *events_; }

  // Each is taken away before it goes.
  JobListeners& listeners() { return *listeners_; }

 private:
  const std::shared_ptr<JobListeners> listeners_;  // shared with the changes on their way
  const std::unique_ptr<Storage> storage_;
  const std::unique_ptr<JobStore> jobs_;
  const std::unique_ptr<EventLog> events_;
};

}  // namespace mercer::server
