// Time that never jumps: what limits and durations are measured by. The wall clock is set by people
// and by the network; a limit that reads it ends a run that has hardly begun, or never.
#pragma once

#include "absl/time/time.h"

namespace mercer {

// Thread-safe.
class SteadyClock {
 public:
  virtual ~SteadyClock() = default;
  // The time since some start; it never goes back.
  virtual absl::Duration Monotonic() const = 0;
};

// The clock of the system. It lives for ever.
const SteadyClock& SystemSteadyClock();

}  // namespace mercer
