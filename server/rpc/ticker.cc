#include "server/rpc/ticker.h"

#include <utility>

#include "core/base/process/background.h"
#include "core/base/process/run_safely.h"

namespace mercer::server {

Ticker::Ticker(absl::Duration interval, int64_t parts)
    : interval_(interval), parts_(parts), thread_([this] { Run(); }) {}

Ticker::~Ticker() {
  {
    absl::MutexLock lock(&mutex_);
    stopping_ = true;
  }
  rest_.End();
  thread_.join();
}

int64_t Ticker::Add(std::function<void()> callback) {
  absl::MutexLock lock(&mutex_);
  callbacks_[next_key_] = std::move(callback);
  return next_key_++;
}

void Ticker::Remove(int64_t key) {
  absl::MutexLock lock(&mutex_);
  callbacks_.erase(key);
}

void Ticker::Run() {
  EnterBackground();
  int64_t part = 0;
  while (!rest_.For(interval_ / parts_)) {
    CallPart(part);
    part = (part + 1) % parts_;
  }
}

void Ticker::CallPart(int64_t part) {
  int64_t key = 0;
  while (true) {
    // One at a time, so that Add and Remove never wait for more than one callback.
    absl::MutexLock lock(&mutex_);
    const auto next = callbacks_.upper_bound(key);
    if (next == callbacks_.end() || stopping_) {
      return;
    }
    key = next->first;
    if (key % parts_ != part) {
      continue;
    }
    RunNeeded("a regular task", [&next] {
      next->second();
    }).IgnoreError();  // the next tick tries again
  }
}

}  // namespace mercer::server
