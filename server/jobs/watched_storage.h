// A storage that tells of every change of a job. All that changes jobs gets this storage and no other, so
// nobody who writes can forget to tell.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"

#include "server/jobs/job_observer.h"
#include "server/storage/forwarding_storage.h"

namespace mercer::server {

enum class JobChange : uint8_t {
  kState,     // the job is new, or its state or what belongs to it has changed
  kProgress,  // it has events of a running attempt
  kLabels,    // its labels have changed
  kDeleted,   // somebody has deleted it
};

// Called on a thread of the storage once the change is durable, before whoever made it is answered. Must be
// quick and may not wait for a change of the storage. `deleted`, null but for kDeleted: the job as it last was.
using JobListener =
    std::function<void(const std::string& job_id, JobChange change, const JobRecord* deleted)>;

// One listener, which can be taken away. Thread-safe.
class JobListenerSlot {
 public:
  // Waits for a call of the one before.
  void Set(JobListener listener) ABSL_LOCKS_EXCLUDED(mutex_);
  void Tell(const std::string& job_id, JobChange change, const JobRecord* deleted = nullptr)
      ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  absl::Mutex mutex_;  // held while the listener runs
  JobListener listener_ ABSL_GUARDED_BY(mutex_);
};

// Thread-safe. Tells of changes made through it alone.
class WatchedStorage final : public ForwardingStorage {
 public:
  // `observer`, which may be null, is told of what workers take and of what ends; outlives the storage.
  explicit WatchedStorage(std::unique_ptr<Storage> storage, JobObserver* observer = nullptr);
  ~WatchedStorage() override;

  JobStore& jobs() override { return *jobs_; }
  EventLog& events() override { return *events_; }

  // Empty: nobody listens.
  void SetListener(JobListener listener) { slot_->Set(std::move(listener)); }

 private:
  const std::shared_ptr<JobListenerSlot> slot_;  // shared with the changes on their way
  const std::unique_ptr<Storage> storage_;
  const std::unique_ptr<JobStore> jobs_;
  const std::unique_ptr<EventLog> events_;
};

}  // namespace mercer::server
