#include "core/base/process/interruption.h"

#include <algorithm>
#include <utility>

namespace mercer {

Interruption::Interruption(absl::Duration deadline, std::function<bool()> stop_requested,
                           const SteadyClock& clock)
    : deadline_(deadline), stop_requested_(std::move(stop_requested)), clock_(clock) {}

bool Interruption::requested() const {
  if (cause() != InterruptionCause::kNone) {
    return true;
  }
  InterruptionCause found = InterruptionCause::kNone;
  if (stop_requested_ && stop_requested_()) {
    found = InterruptionCause::kStopRequested;
  } else if (deadline_ < absl::InfiniteDuration() && clock_.Monotonic() >= deadline_) {
    found = InterruptionCause::kDeadline;
  }
  if (found == InterruptionCause::kNone) {
    return false;
  }
  InterruptionCause none = InterruptionCause::kNone;
  cause_.compare_exchange_strong(none, found, std::memory_order_relaxed);
  return true;
}

absl::Duration Interruption::TimeLeft() const {
  return deadline_ == absl::InfiniteDuration()
             ? deadline_
             : std::max(absl::ZeroDuration(), deadline_ - clock_.Monotonic());
}

}  // namespace mercer
