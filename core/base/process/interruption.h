// A request to end a piece of work early and keep what there is: a deadline, or somebody's wish.
// Cancellation (cancellation.h) throws the work away instead.
//
// Long work polls both in one place, RunContext::cancelled(); whoever started the work asks
// afterwards which of the two it was.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>

#include "absl/time/time.h"

#include "core/base/process/steady_clock.h"

namespace mercer {

enum class InterruptionCause : uint8_t { kNone = 0, kStopRequested = 1, kDeadline = 2 };

// Thread-safe.
class Interruption {
 public:
  // `deadline` is a time of `clock`, which must outlive this; InfiniteDuration: none.
  // `stop_requested` may be called by every thread of the work, about once per millisecond; null:
  // never.
  Interruption(absl::Duration deadline, std::function<bool()> stop_requested,
               const SteadyClock& clock = SystemSteadyClock());

  // True once there is a cause, and from then on: work that was left out for it is never taken for
  // done, whatever becomes of clock and wish.
  bool requested() const;
  // How long it is until the deadline: never negative, and infinite when there is none.
  absl::Duration TimeLeft() const;
  // Why the work was interrupted: the first cause that was seen.
  InterruptionCause cause() const { return cause_.load(std::memory_order_relaxed); }

 private:
  const absl::Duration deadline_;
  const std::function<bool()> stop_requested_;
  const SteadyClock& clock_;
  mutable std::atomic<InterruptionCause> cause_ = InterruptionCause::kNone;
};

}  // namespace mercer
