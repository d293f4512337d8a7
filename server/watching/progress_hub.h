// Live progress for any number of watchers. One tail of recent events per watched job in memory;
// older events come from the log.
//
//   subscription = hub.Subscribe(job_id, after_sequence, [this] { Pump(); });
//   void Pump() {                        // one at a time, under the caller's own mutex
//     switch (NextEvent next = subscription->Next(); next.kind) {
//       case NextEvent::kEvent:          // call Next() again when the write is done
//         write(*next.event);
//         break;
//       case NextEvent::kWait:           // the callback comes once, when there is more to get
//         break;
//       case NextEvent::kEnd:            // OK after the terminal event, or why there is no more
//         finish(next.status);
//         break;
//     }
//   }
//
// Every event comes exactly once, in order, without gaps. A watcher that does not call Next() costs
// its cursor and at most one page of events; it delays nobody.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"

#include "core/base/numeric/hash_table.h"
#include "server/jobs/executor.h"
#include "server/jobs/job_event.h"
#include "server/watching/watched_storage.h"
#include "server/storage/storage.h"

namespace mercer::server {

struct NextEvent {
  enum Kind : uint8_t { kEvent, kWait, kEnd };
  Kind kind = kWait;
  std::shared_ptr<const JobEvent> event;  // kEvent
  absl::Status status;                    // kEnd
};

// One watcher's cursor. Next() is called by one thread at a time. The destructor waits for a
// callback that is running on another thread and prevents later ones; it may run inside the
// callback. Must be destroyed before its hub.
class ProgressSubscription {
 public:
  virtual ~ProgressSubscription() = default;

  // Never blocks. After kWait the callback is called once, from a thread of the executor, and
  // Next() may be called again (it may be called earlier too). kEnd is final. Its status: OK (the
  // terminal event was delivered, now or before `after_sequence`); kNotFound (no such job);
  // kInvalidArgument (`after_sequence` is negative or beyond the job's last event); kUnavailable
  // (the hub was closed); or an error of the storage.
  virtual NextEvent Next() = 0;
  // The Next() that follows looks at the log: whoever was to tell of an event may have found no memory to do so, and of the last event
  // of a job nobody tells again. To be called now and then by those who wait.
  virtual void LookAgain() = 0;
  // The sequence of the last event that Next() gave, or `after_sequence`.
  virtual int64_t cursor() const = 0;
};

// Thread-safe.
class ProgressHub {
 public:
  struct Options {
    size_t tail_events = 256;  // kept per job with watchers
    int page_events = 64;      // read from the log at once
  };

  // `storage` and `executor` must outlive the hub. Callbacks and reads of the log run on the
  // executor.
  ProgressHub(Storage* storage, Executor* executor, Options options);
  ProgressHub(Storage* storage, Executor* executor) : ProgressHub(storage, executor, Options()) {}
  // Listens to the storage: nobody need publish anything.
  ProgressHub(WatchedStorage* storage, Executor* executor, Options options);
  ProgressHub(WatchedStorage* storage, Executor* executor)
      : ProgressHub(storage, executor, Options()) {}
  // All subscriptions must be gone; waits for the hub's own work on the executor.
  ~ProgressHub();

  // `wake` must be cheap or hand work over; see ProgressSubscription::Next. It is not called before
  // the first Next().
  std::unique_ptr<ProgressSubscription> Subscribe(const std::string& job_id, int64_t after_sequence,
                                                  std::function<void()> wake);

  // Tells watchers of events that are durable already. Cheap when nobody watches the job.
  void Publish(const std::string& job_id, const std::vector<EventRecord>& events);

  // Ends all subscriptions, present and future, with kUnavailable once they have got the events in
  // the tail. For shutdown.
  void Close();

  int64_t num_subscriptions() const;

  class Impl;

 private:
  std::shared_ptr<Impl> impl_;
  JobListeners* listeners_ = nullptr;
};

}  // namespace mercer::server
