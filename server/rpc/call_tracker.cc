#include "server/rpc/call_tracker.h"

#include <utility>

namespace mercer::server {

CallTracker::Slots::Slots(DrainHooks hooks)
    : end(hooks.end ? std::move(hooks.end) : [] {}),
      cancel(hooks.cancel ? std::move(hooks.cancel) : [] {}) {}

bool CallTracker::draining() const {
  absl::MutexLock lock(&mutex_);
  return draining_;
}

int CallTracker::waiting() const {
  absl::MutexLock lock(&mutex_);
  return waiting_;
}

int64_t CallTracker::running() const {
  absl::MutexLock lock(&mutex_);
  return static_cast<int64_t>(calls_.size());
}

std::vector<CallTracker::SlotsPointer> CallTracker::Running() const {
  std::vector<SlotsPointer> running;
  for (const auto& [key, slots] : calls_) {
    if (slots != nullptr) {
      running.push_back(slots);
    }
  }
  return running;
}

void CallTracker::Drain() {
  std::vector<SlotsPointer> running;
  {
    absl::MutexLock lock(&mutex_);
    if (!std::exchange(draining_, true)) {
      running = Running();
    }
  }
  for (const SlotsPointer& slots : running) {
    slots->end.Run();
  }
}

void CallTracker::Cancel() {
  std::vector<SlotsPointer> running;
  {
    absl::MutexLock lock(&mutex_);
    running = Running();
  }
  for (const SlotsPointer& slots : running) {
    slots->cancel.Run();
  }
}

bool CallTracker::WaitForCalls(absl::Duration limit) {
  absl::MutexLock lock(&mutex_);
  const int64_t end = next_key_;
  const auto gone = [this, end]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return calls_.empty() || calls_.begin()->first >= end;
  };
  ++waiting_;
  const bool all_gone = mutex_.AwaitWithTimeout(absl::Condition(&gone), limit);
  --waiting_;
  return all_gone;
}

int64_t CallTracker::Begin(SlotsPointer slots, bool* end_now) {
  absl::MutexLock lock(&mutex_);
  *end_now = draining_;
  calls_.emplace(next_key_, std::move(slots));
  return next_key_++;
}

void CallTracker::End(int64_t key) {
  absl::MutexLock lock(&mutex_);
  calls_.erase(key);
}

TrackedCall::TrackedCall(CallTracker& tracker, DrainHooks hooks)
    : tracker_(tracker),
      slots_(hooks.end == nullptr && hooks.cancel == nullptr
                 ? nullptr
                 : std::make_shared<CallTracker::Slots>(std::move(hooks))) {
  bool end_now = false;
  key_ = tracker_.Begin(slots_, &end_now);
  if (end_now && slots_ != nullptr) {
    slots_->end.Run();
  }
}

TrackedCall::~TrackedCall() {
  if (slots_ != nullptr) {
    slots_->end.Close();
    slots_->cancel.Close();
  }
  tracker_.End(key_);
}

}  // namespace mercer::server
