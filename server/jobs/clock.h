// Time as the jobs see it; tests set it by hand.
#pragma once

#include "absl/time/time.h"

namespace mercer::server {

// Thread-safe.
class Clock {
 public:
  virtual ~Clock() = default;
  virtual absl::Time Now() const = 0;            // wall clock: time stamps and leases; may jump
  virtual absl::Duration Monotonic() const = 0;  // since some start; intervals
};

// Lives for ever.
Clock& RealClock();

}  // namespace mercer::server
