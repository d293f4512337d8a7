// What workers wait for: something new in the queue, or the end.
#pragma once

#include <cstdint>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

namespace mercer::server {

// Thread-safe.
class QueueSignal {
 public:
  explicit QueueSignal(int num_workers) : num_workers_(num_workers) {}

  // There may be something new to claim.
  void Tell() ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    ++generation_;
    idle_workers_ = 0;
  }
  // Counts calls of Tell. A worker remembers it before it looks at the queue.
  int64_t generation() const ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    return generation_;
  }
  // Waits until there has been a Tell since `seen_generation`, for at most `limit`; false when the worker must end.
  // A finite limit follows the wall clock: set that back meanwhile, and the wait lasts as much longer, unless a Tell ends it.
  bool Wait(int64_t seen_generation, absl::Duration limit) ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    if (generation_ == seen_generation) {
      ++idle_workers_;
      const auto news = [this, seen_generation]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
        return stopped_ || generation_ != seen_generation;
      };
      if (!mutex_.AwaitWithTimeout(absl::Condition(&news), limit)) {
        --idle_workers_;  // still the same generation
      }
    }
    return !stopped_;
  }

  void Stop() ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    stopped_ = true;
  }
  bool stopped() const ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    return stopped_;
  }

  // Waits until all workers have found nothing since the last Tell, or the end.
  void WaitUntilIdle() ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    mutex_.Await(absl::Condition(this, &QueueSignal::IsIdle));
  }

 private:
  bool IsIdle() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return stopped_ || idle_workers_ == num_workers_;
  }

  const int num_workers_;
  mutable absl::Mutex mutex_;
  int64_t generation_ ABSL_GUARDED_BY(mutex_) = 0;
  int idle_workers_ ABSL_GUARDED_BY(mutex_) = 0;  // that found nothing in this generation
  bool stopped_ ABSL_GUARDED_BY(mutex_) = false;
};

}  // namespace mercer::server
