// The jobs and their changes, for any number of watchers.
//
// First come all jobs that match, read in pages when they are asked for; then every job that has changed since
// the watch began, as the storage has committed it. Changes get numbers, and of one job only the newest are kept: at most one
// of its state and one of its progress. So a watch is a cursor, and one that lags behind skips what is obsolete. A watch may
// begin behind a number, and gets what has changed since. Where that is not kept (any more), all jobs come again: a watch misses
// nothing, and has no error of its own.
// What was changed before the watch is in the pages, because these are read later; what is changed while they
// are read comes after them, perhaps a second time, and first perhaps in an older state than the page has shown.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"

#include "core/base/numeric/hash_table.h"
#include "server/storage/records.h"
#include "server/watching/watched_storage.h"
#include "server/watching/watchers.h"

namespace mercer::server {

using NextJob = NextItem<WatchedJob>;
// The status of its kEnd: an error of the storage.
using JobWatch = Watch<WatchedJob>;

// Thread-safe.
class JobFeed final : public Watchers<WatchedJob>, private JobListener {
 public:
  struct Options {
    int page_jobs = 32;                    // read at once for a watch that begins
    size_t kept_bytes = size_t{16} << 20;  // of changed jobs
  };

  // Listens to the storage, which it must not outlive, before workers take jobs from it.
  JobFeed(WatchedStorage* storage, Executor* executor, Options options);
  JobFeed(WatchedStorage* storage, Executor* executor) : JobFeed(storage, executor, Options()) {}
  // All watches must be gone; waits for the feed's own work on the executor.
  ~JobFeed() override;

  // `after`: the sequence that an earlier watch with the same filter came to; 0, or one that is not known (any more): all jobs
  // come. `wake` must be cheap or hand work over; it is not called before the first Next().
  std::unique_ptr<JobWatch> Watch(JobFilter filter, int64_t after, std::function<void()> wake);

  // Shows the progress since the last call: its interval bounds the rate of each job's. States do not wait for
  // it. With parts, of the jobs of that part alone: to be called for each of
  // 0, ..., parts - 1 in turn, so that watchers do not ask for the news of all jobs in one moment.
  void Tick(size_t part = 0, size_t parts = 1);

  int64_t num_watches() const;

 private:
  // A job that was changed lately, as it is now.
  struct Entry {
    ItemPointer job;
    int64_t state_revision = 0;     // of the newest change of its state; 0: none is kept
    int64_t progress_revision = 0;  // of the newest later one
    bool relabelled = false;  // its labels may have been those of a filter that it has not now
  };

  NextJob Follow(Watcher<WatchedJob>& watcher) override ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::StatusOr<Page> Read(const Watcher<WatchedJob>& watcher, int64_t cursor,
                            const std::string& token) override;
  void Note(const WatchedJob& /*job*/, Watcher<WatchedJob>& /*watcher*/) override
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {}
  void Forget(const WatcherPointer& watcher) override ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void OnCommit(const JobCommit& commit) override ABSL_LOCKS_EXCLUDED(mutex_);
  // Runs `change` under the mutex and wakes those who wait for it. Where there is no memory for it nothing is kept, and all
  // watches begin anew.
  void Change(absl::FunctionRef<void()> change) ABSL_LOCKS_EXCLUDED(mutex_);
  void Put(std::shared_ptr<const WatchedJob> job, bool updated)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // The same job with what an attempt has written since.
  void PutEvent(const std::string& job_id, JobChange change, EventRecord event)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void MoveTo(int64_t& revision, const std::string& job_id) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void DropOldest() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void DropAll() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void BeginWaking() ABSL_LOCKS_EXCLUDED(mutex_);
  void WakeWaiting() ABSL_LOCKS_EXCLUDED(mutex_);

  WatchedStorage* const storage_;
  const Options options_;
  std::vector<WatcherPointer> watchers_ ABSL_GUARDED_BY(mutex_);
  HashMap<std::string, Entry> entries_ ABSL_GUARDED_BY(mutex_);
  std::map<int64_t, std::string> order_
      ABSL_GUARDED_BY(mutex_);                // the jobs of the changes, by number
  size_t bytes_ ABSL_GUARDED_BY(mutex_) = 0;  // of entries_
  int64_t revision_ ABSL_GUARDED_BY(mutex_);  // the last number given
  int64_t dropped_ ABSL_GUARDED_BY(mutex_);   // the last number no longer kept
  // The jobs that workers hold, of which they tell events alone.
  HashMap<std::string, ItemPointer> held_ ABSL_GUARDED_BY(mutex_);
  std::map<std::string, EventRecord> progress_
      ABSL_GUARDED_BY(mutex_);                   // to be shown at the next tick
  bool news_ ABSL_GUARDED_BY(mutex_) = false;    // since those who wait were last woken
  bool waking_ ABSL_GUARDED_BY(mutex_) = false;  // a waking is posted
};

}  // namespace mercer::server
