// The calls that run: a drain tells the streams among them to end and waits until all have gone.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

#include "server/watching/wake_slot.h"

namespace mercer::server {

// What a drain asks of a call, on the draining thread; empty: nothing. Both must be quick.
struct DrainHooks {
  std::function<void()> end;     // end with DrainingError as soon as may be; called once
  std::function<void()> cancel;  // nobody waits any longer; called once at most, after `end`
};

// Thread-safe. Outlives its calls.
class CallTracker {
 public:
  bool draining() const ABSL_LOCKS_EXCLUDED(mutex_);
  int64_t running() const ABSL_LOCKS_EXCLUDED(mutex_);
  // Threads within WaitForCalls that have taken note of what they wait for.
  int waiting() const ABSL_LOCKS_EXCLUDED(mutex_);

  // Calls `end` of every call, also of those that begin later.
  void Drain() ABSL_LOCKS_EXCLUDED(mutex_);
  // Waits for the calls that have begun by now; false when some of them run still after `limit`.
  bool WaitForCalls(absl::Duration limit) ABSL_LOCKS_EXCLUDED(mutex_);
  // Calls `cancel` of the calls that run.
  void Cancel() ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  friend class TrackedCall;

  // The hooks of a call, which can be taken away.
  struct Slots {
    explicit Slots(DrainHooks hooks);
    WakeSlot end;
    WakeSlot cancel;
  };
  using SlotsPointer = std::shared_ptr<Slots>;  // null: no hooks

  // Answers the key for End. `*end_now`: the drain has begun already.
  int64_t Begin(SlotsPointer slots, bool* end_now) ABSL_LOCKS_EXCLUDED(mutex_);
  void End(int64_t key) ABSL_LOCKS_EXCLUDED(mutex_);
  std::vector<SlotsPointer> Running() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  mutable absl::Mutex mutex_;
  std::map<int64_t, SlotsPointer> calls_ ABSL_GUARDED_BY(mutex_);  // by key, the oldest first
  int64_t next_key_ ABSL_GUARDED_BY(mutex_) = 1;
  int waiting_ ABSL_GUARDED_BY(mutex_) = 0;
  bool draining_ ABSL_GUARDED_BY(mutex_) = false;
};

// A call that runs, from the constructor to the destructor; the last member of its reactor, so that
// the hooks find all others.
class TrackedCall {
 public:
  explicit TrackedCall(CallTracker& tracker, DrainHooks hooks = DrainHooks());
  // Waits for a hook that runs on another thread.
  ~TrackedCall();
  TrackedCall(const TrackedCall&) = delete;
  TrackedCall& operator=(const TrackedCall&) = delete;

 private:
  CallTracker& tracker_;
  const CallTracker::SlotsPointer slots_;
  int64_t key_ = 0;
};

// What a stream that does one step at a time is about, so that a drain can end it while it waits for
// its client. Thread-safe.
class StreamSteps {
 public:
  // Begins to wait for the client: calls `start` under the lock, so that nobody ends the stream before
  // it. False when the stream is to end instead.
  template <typename Start>
  bool Wait(const Start& start) ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    if (interrupted_) {
      return false;
    }
    waiting_ = true;
    start();
    return true;
  }
  // The client has come. False: the stream has ended meanwhile.
  bool Resume() ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    waiting_ = false;
    return !ended_;
  }
  // No further Wait. True when the stream was waiting: the caller must end it, now.
  bool Interrupt() ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    interrupted_ = true;
    ended_ = ended_ || waiting_;
    return std::exchange(waiting_, false);
  }

 private:
  absl::Mutex mutex_;
  bool waiting_ ABSL_GUARDED_BY(mutex_) = false;
  bool interrupted_ ABSL_GUARDED_BY(mutex_) = false;
  bool ended_ ABSL_GUARDED_BY(mutex_) = false;  // by the interruption
};

}  // namespace mercer::server
