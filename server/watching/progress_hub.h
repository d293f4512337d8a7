// The events of jobs, for any number of watchers. One tail of recent events per watched job in memory; older events come from the
// log. Every event comes exactly once, in order, without gaps.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/types/span.h"

#include "core/base/numeric/hash_table.h"
#include "server/storage/storage.h"
#include "server/watching/watched_storage.h"
#include "server/watching/watchers.h"

namespace mercer::server {

using NextEvent = NextItem<WatchedEvent>;
// The status of its kEnd: OK (the terminal event was delivered, now or before `after_sequence`); kNotFound (no such job);
// kInvalidArgument (`after_sequence` is negative or beyond the job's last event); kUnavailable (the hub was closed); or an error of
// the storage.
using ProgressSubscription = Watch<WatchedEvent>;

// Thread-safe.
class ProgressHub final : public Watchers<WatchedEvent>, private JobListener {
 public:
  struct Options {
    size_t tail_events = 256;  // kept per job with watchers
    int page_events = 64;      // read from the log at once
  };

  // `storage` and `executor` must outlive the hub.
  ProgressHub(Storage* storage, Executor* executor, Options options);
  ProgressHub(Storage* storage, Executor* executor) : ProgressHub(storage, executor, Options()) {}
  // Listens to the storage: nobody need publish anything.
  ProgressHub(WatchedStorage* storage, Executor* executor);
  // All subscriptions must be gone; waits for the hub's own work on the executor.
  ~ProgressHub() override;

  // `wake` must be cheap or hand work over; it is not called before the first Next().
  std::unique_ptr<ProgressSubscription> Subscribe(const std::string& job_id, int64_t after_sequence,
                                                  std::function<void()> wake);

  // Tells watchers of events that are durable already. Cheap when nobody watches the job.
  void Publish(const std::string& job_id, absl::Span<const EventRecord> events);

  // Ends all subscriptions, present and future, with kUnavailable once they have got the events in
  // the tail. For shutdown.
  void Close();

  int64_t num_subscriptions() const;

 private:
  // The watchers of one job. The tail holds consecutive events that were published since somebody watches.
  struct Channel {
    std::deque<ItemPointer> tail;
    std::vector<WatcherPointer> watchers;
  };

  NextEvent Follow(Watcher<WatchedEvent>& watcher) override ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::StatusOr<Page> Read(const Watcher<WatchedEvent>& watcher, int64_t cursor,
                            const std::string& token) override;
  absl::StatusOr<Page> CheckEnd(const std::string& job_id, int64_t cursor);
  void Note(const WatchedEvent& event, Watcher<WatchedEvent>& watcher) override
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Forget(const WatcherPointer& watcher) override ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void OnCommit(const JobCommit& commit) override { Publish(commit.job_id, commit.events); }
  void Append(ItemPointer event, Channel& channel) const;

  Storage* const storage_;
  JobListeners* listeners_ = nullptr;  // where it listens; null: nowhere
  const Options options_;
  HashMap<std::string, Channel> channels_ ABSL_GUARDED_BY(mutex_);
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace mercer::server
