// Calls many callbacks at a fixed interval, on one thread in the background: heartbeats of streams. With parts, every
// callback has its own moment of the interval, so that thousands of streams do not write at once.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

#include "server/jobs/record/steady_sleep.h"

namespace mercer::server {

// Thread-safe. Callbacks that are not removed go with it.
class Ticker {
 public:
  explicit Ticker(absl::Duration interval, int64_t parts = 1);
  ~Ticker();

  // `callback` must be quick and must not call the ticker. Answers the key for Remove.
  int64_t Add(std::function<void()> callback) ABSL_LOCKS_EXCLUDED(mutex_);
  // Waits for a call of the callback that is running.
  void Remove(int64_t key) ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  void Run() ABSL_LOCKS_EXCLUDED(mutex_);
  void CallPart(int64_t part) ABSL_LOCKS_EXCLUDED(mutex_);

  const absl::Duration interval_;  // of each callback
  const int64_t parts_;
  absl::Mutex mutex_;  // held while a callback runs
  std::map<int64_t, std::function<void()>> callbacks_ ABSL_GUARDED_BY(mutex_);
  int64_t next_key_ ABSL_GUARDED_BY(mutex_) = 1;
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  SteadySleep rest_;
  std::thread thread_;
};

}  // namespace mercer::server
