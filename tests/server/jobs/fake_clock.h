#pragma once

#include <atomic>
#include <cstdint>

#include "absl/time/time.h"

#include "server/jobs/clock.h"

namespace mercer::server {

// Time stands still until it is moved.
class FakeClock final : public Clock {
 public:
  absl::Time Now() const override {
    return absl::FromUnixSeconds(1'700'000'000) + Monotonic() +
           absl::Milliseconds(jumped_milliseconds_.load());
  }
  absl::Duration Monotonic() const override { return absl::Milliseconds(milliseconds_.load()); }
  void Advance(absl::Duration time) { milliseconds_ += absl::ToInt64Milliseconds(time); }
  // Somebody sets the wall clock, forwards or backwards.
  void Jump(absl::Duration time) { jumped_milliseconds_ += absl::ToInt64Milliseconds(time); }

 private:
  std::atomic<int64_t> milliseconds_{0};
  std::atomic<int64_t> jumped_milliseconds_{0};
};

}  // namespace mercer::server
