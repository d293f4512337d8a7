// A callback that can be taken away: after Close() it does not run and is not running, except on
// the closing thread itself.
#pragma once

#include <algorithm>
#include <functional>
#include <thread>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/cleanup/cleanup.h"
#include "absl/synchronization/mutex.h"

namespace mercer::server {

// Thread-safe. Shared by its owner and by those that may call it, so that it outlives both.
class WakeSlot {
 public:
  explicit WakeSlot(std::function<void()> callback) : callback_(std::move(callback)) {}

  void Run() ABSL_LOCKS_EXCLUDED(mutex_) {
    {
      absl::MutexLock lock(&mutex_);
      if (closed_) {
        return;
      }
      runners_.push_back(std::this_thread::get_id());
    }
    const absl::Cleanup forget = [this] { Forget(std::this_thread::get_id()); };
    callback_();
  }

  // Waits for a callback that runs on another thread.
  void Close() ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    closed_ = true;
    closer_ = std::this_thread::get_id();  // the condition is evaluated on any thread
    mutex_.Await(absl::Condition(this, &WakeSlot::NoOtherRunner));
  }

 private:
  void Forget(std::thread::id id) ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    runners_.erase(std::find(runners_.begin(), runners_.end(), id));
  }

  bool NoOtherRunner() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    const std::thread::id closer = closer_;
    return std::all_of(runners_.begin(), runners_.end(),
                       [closer](std::thread::id id) { return id == closer; });
  }

  const std::function<void()> callback_;
  absl::Mutex mutex_;
  bool closed_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread::id closer_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::thread::id> runners_ ABSL_GUARDED_BY(mutex_);  // threads in the callback
};

}  // namespace mercer::server
