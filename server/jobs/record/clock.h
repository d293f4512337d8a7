// Time as the jobs see it; tests set it by hand.
#pragma once

#include "absl/time/clock.h"
#include "absl/time/time.h"

#include "core/base/process/steady_clock.h"

namespace mercer::server {

// Thread-safe. Intervals and limits are measured by Monotonic.
class Clock : public SteadyClock {
 public:
  virtual absl::Time Now() const = 0;  // wall clock: time stamps; may jump
};

// Lives for ever.
inline Clock& RealClock() {
  class SystemClock final : public Clock {
   public:
    absl::Time Now() const override { return absl::Now(); }
    absl::Duration Monotonic() const override { return SystemSteadyClock().Monotonic(); }
  };
  static SystemClock clock;
  return clock;
}

}  // namespace mercer::server
