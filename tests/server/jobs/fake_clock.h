#pragma once

#include <atomic>
#include <cstdint>
#include <new>

#include "absl/time/time.h"

#include "server/jobs/record/clock.h"

namespace mercer::server {

// Time stands still until it is moved.
class FakeClock final : public Clock {
 public:
  // So many readings of the monotonic clock, from now on, find no memory.
  mutable std::atomic<int> readings_without_memory{0};

  absl::Time Now() const override {
    return absl::FromUnixSeconds(1'700'000'000) + absl::Milliseconds(milliseconds_.load()) +
           absl::Milliseconds(jumped_milliseconds_.load());
  }
  absl::Duration Monotonic() const override {
    if (readings_without_memory > 0) {
      --readings_without_memory;
      throw std::bad_alloc();
    }
    return absl::Milliseconds(milliseconds_.load());
  }
  void Advance(absl::Duration time) { milliseconds_ += absl::ToInt64Milliseconds(time); }
  // Somebody sets the wall clock, forwards or backwards.
  void Jump(absl::Duration time) { jumped_milliseconds_ += absl::ToInt64Milliseconds(time); }

 private:
  std::atomic<int64_t> milliseconds_{0};
  std::atomic<int64_t> jumped_milliseconds_{0};
};

}  // namespace mercer::server
