// A sleep that others can end, measured by a clock that never jumps. The waits of absl::Mutex end at times of the wall
// clock: set it back by an hour, and each of them lasts an hour longer.
#pragma once

#include <condition_variable>
#include <mutex>

#include "absl/time/time.h"

namespace mercer::server {

// Thread-safe. The annotations of thread safety know absl::Mutex alone; ended_ is guarded by mutex_.
class SteadySleep {
 public:
  // True when the sleep was ended, then and from then on; false when `limit`, which is finite, has passed.
  bool For(absl::Duration limit) const {
    std::unique_lock<std::mutex> lock(mutex_);
    return condition_.wait_for(lock, absl::ToChronoNanoseconds(limit), [this] { return ended_; });
  }
  void End() {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      ended_ = true;
    }
    condition_.notify_all();
  }

 private:
  mutable std::mutex mutex_;
  mutable std::condition_variable condition_;
  bool ended_ = false;
};

}  // namespace mercer::server
