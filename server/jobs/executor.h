// Where work that may block runs, so that threads that must not block hand it over: SQL, files,
// waking of watchers.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/any_invocable.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"

namespace mercer::server {

// Thread-safe.
class Executor {
 public:
  virtual ~Executor() = default;
  // Runs `work` later on another thread, exactly once. Order is not promised. Work had better throw
  // nothing: whoever waits for it waits for ever.
  virtual void Post(absl::AnyInvocable<void()> work) = 0;
};

// See core/base/process/background.h. Threads of kConsiderate are in the background too, and rest now and then: Linux lets a thread
// in the background that was not given its share finish it first, for milliseconds in which those who answer calls wait. They
// do not rest while work has waited for long.
enum class PoolPriority : uint8_t { kNormal, kBackground, kConsiderate };

// A fixed number of threads. The destructor runs what was posted, then joins.
class ThreadPool final : public Executor {
 public:
  // `on_error` (which may be empty) is told of exceptions that work has thrown; the thread goes on.
  explicit ThreadPool(int num_threads, std::function<void(const absl::Status&)> on_error = nullptr,
                      PoolPriority priority = PoolPriority::kNormal);
  ~ThreadPool() override;

  void Post(absl::AnyInvocable<void()> work) override ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  struct Posted {
    absl::AnyInvocable<void()> work;
    std::chrono::steady_clock::time_point time;
  };

  void Stop() ABSL_LOCKS_EXCLUDED(mutex_);
  void Run(bool rests) ABSL_LOCKS_EXCLUDED(mutex_);
  bool HasWorkOrStops() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return stopping_ || !queue_.empty();
  }

  const std::function<void(const absl::Status&)> on_error_;
  absl::Mutex mutex_;
  std::deque<Posted> queue_ ABSL_GUARDED_BY(mutex_);
  bool stopping_ ABSL_GUARDED_BY(mutex_) = false;
  std::vector<std::thread> threads_;
};

}  // namespace mercer::server
