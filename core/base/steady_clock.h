// Time that never jumps: what limits and durations are measured by. The wall clock is set by people and by the network;
// a limit that reads it ends a run that has hardly begun, or never.
#pragma once

#include "absl/time/time.h"

namespace mercer {

// Thread-safe.
class SteadyClock {
 public:
  virtual ~SteadyClock() = default;
  // Since some start; never less than before.
  virtual absl::Duration Monotonic() const = 0;
};

// That of the system. Lives for ever.
const SteadyClock& SystemSteadyClock();

}  // namespace mercer
