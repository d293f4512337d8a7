// The jobs and their changes, for any number of watchers.
//
//   watch = feed.Watch(filter, [this] { Pump(); });
//   void Pump() {                    // one at a time, under the caller's own mutex
//     switch (NextJob next = watch->Next(); next.kind) {
//       case NextJob::kJob:          // call Next() again when the write is done
//       case NextJob::kExistingSent:
//         write(next);
//         break;
//       case NextJob::kWait:         // the callback comes once, when there is more to get
//         break;
//       case NextJob::kEnd:
//         finish(next.status);
//         break;
//     }
//   }
//
// First come all jobs that match, read in pages when they are asked for; then every job that has changed since
// the watch began, as it is now. Changes get numbers, and of one job only the newest are kept: at most one of
// its state and one of its progress. So a watch is a cursor, and one that lags behind skips what is obsolete.
// What was changed before the watch is in the pages, because these are read later; what is changed while they
// are read comes after them, perhaps a second time, and first perhaps in an older state than the page has shown.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

#include "absl/status/status.h"

#include "server/jobs/executor.h"
#include "server/watching/watched_job.h"
#include "server/watching/watched_storage.h"
#include "server/storage/records.h"

namespace mercer::server {

struct NextJob {
  enum Kind : uint8_t { kJob, kExistingSent, kWait, kEnd };
  Kind kind = kWait;
  std::shared_ptr<const WatchedJob> job;  // kJob
  bool existing = false;                  // kJob: it was there when the watch began
  // kJob: it matches no longer, or is deleted. May come for jobs that did not come before: whether they did is not remembered.
  bool left = false;
  absl::Status status;  // kEnd
};

// Next() is called by one thread at a time. The destructor waits for a callback that is running on another
// thread and prevents later ones; it may run inside the callback. Must be destroyed before its feed.
class JobWatch {
 public:
  virtual ~JobWatch() = default;

  // Never blocks. After kWait the callback is called once, from a thread of the executor, and Next() may be
  // called again (it may be called earlier too). kEnd is final: kAborted with reason WATCH_TOO_SLOW when more
  // was changed since the last call than is kept; or an error of the storage.
  virtual NextJob Next() = 0;
};

// Thread-safe.
class JobFeed {
 public:
  struct Options {
    int page_jobs = 32;                    // read at once for a watch that begins
    size_t kept_bytes = size_t{64} << 20;  // of changed jobs
  };

  // Listens to the storage, which it must not outlive. Reads and callbacks run on the executor.
  JobFeed(WatchedStorage* storage, Executor* executor, Options options);
  JobFeed(WatchedStorage* storage, Executor* executor) : JobFeed(storage, executor, Options()) {}
  // All watches must be gone; waits for the feed's own work on the executor.
  ~JobFeed();
  JobFeed(const JobFeed&) = delete;
  JobFeed& operator=(const JobFeed&) = delete;

  // `wake` must be cheap or hand work over; it is not called before the first Next().
  std::unique_ptr<JobWatch> Watch(JobFilter filter, std::function<void()> wake);

  // Shows the progress since the last call: its interval bounds the rate of each job's. States do not wait for
  // it. Reads again what could not be read. With parts, of the jobs of that part alone: to be called for each of
  // 0, ..., parts - 1 in turn, so that watchers do not ask for the news of all jobs in one moment.
  void Tick(size_t part = 0, size_t parts = 1);

  int64_t num_watches() const;

  class Impl;

 private:
  WatchedStorage* const storage_;
  const std::shared_ptr<Impl> impl_;
};

}  // namespace mercer::server
