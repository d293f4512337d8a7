// Why an attempt is to end before its time. Shared by the attempt and by callbacks that may outlive it.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

#include "core/base/process/cancellation.h"
#include "server/jobs/record/steady_sleep.h"

namespace mercer::server {

// A later one outranks those before it.
enum class AttemptInterruptionKind : uint8_t { kNone = 0, kDrain = 1, kCancel = 2, kAbandon = 3 };

// Thread-safe.
class AttemptInterruption {
 public:
  void Request(AttemptInterruptionKind kind) ABSL_LOCKS_EXCLUDED(mutex_) {
    {
      absl::MutexLock lock(&mutex_);
      kind_ = std::max(kind_, kind);
      token_.Cancel();
      token_of_all_.Cancel();
    }
    pause_.End();
  }
  AttemptInterruptionKind kind() const ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    return kind_;
  }
  // Apart from the interruptions: the run is to end now and keep the best model so far.
  void RequestStop() {
    stop_requested_.store(true, std::memory_order_relaxed);
    token_of_all_.Cancel();
  }
  bool stop_requested() const { return stop_requested_.load(std::memory_order_relaxed); }
  // Cancelled by the first request, but not by that of a stop.
  const CancellationToken& token() const { return token_; }
  // By either: for work of which a stop keeps nothing.
  const CancellationToken& token_of_all() const { return token_of_all_; }

  // Sleeps; answers at once, and true, when there is a request.
  bool WaitFor(absl::Duration limit) const { return pause_.For(limit); }

 private:
  const CancellationToken token_;
  const CancellationToken token_of_all_;
  std::atomic<bool> stop_requested_{false};
  SteadySleep pause_;
  mutable absl::Mutex mutex_;
  AttemptInterruptionKind kind_ ABSL_GUARDED_BY(mutex_) = AttemptInterruptionKind::kNone;
};

}  // namespace mercer::server
