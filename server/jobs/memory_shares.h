// Memory of the jobs' budget for work that is no job: verifications.
#pragma once

#include <cstdint>
#include <list>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"

#include "core/base/process/cancellation.h"

namespace mercer::server {

// Thread-safe. Shares are granted in the order in which they are asked for.
class MemoryShares {
 public:
  using Share = std::list<int64_t>::iterator;

  // Takes note of a wish. bytes() counts it from now on, so that jobs which begin later leave room for
  // it and not the other way round.
  Share Ask(int64_t bytes) ABSL_LOCKS_EXCLUDED(mutex_);
  // Whether the share and those before it fit into `free_bytes`.
  bool Fits(Share share, int64_t free_bytes) const ABSL_LOCKS_EXCLUDED(mutex_);
  void GiveBack(Share share) ABSL_LOCKS_EXCLUDED(mutex_);

  // Of all shares, granted or not.
  int64_t bytes() const ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  mutable absl::Mutex mutex_;
  std::list<int64_t> shares_ ABSL_GUARDED_BY(mutex_);  // oldest first
};

// Waits a moment for memory to become free. Errors: kCancelled, when nobody wants it any more.
absl::Status PauseForMemory(const CancellationToken& cancellation);

}  // namespace mercer::server
