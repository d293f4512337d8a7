// When a call that failed is made again, and after how long.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <random>
#include <stop_token>
#include <type_traits>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace mercer::client {

struct RetryPolicy {
  int max_attempts = 5;  // the first one included, >= 1
  absl::Duration initial_backoff = absl::Milliseconds(100);
  double multiplier = 2.0;  // of the backoff, from attempt to attempt, >= 1
  absl::Duration max_backoff = absl::Seconds(5);
  double jitter = 0.25;  // each delay is drawn from backoff * [1 - jitter, 1 + jitter], in [0, 1]
};

// Waits; returns early when stop is requested.
using Sleeper = std::function<void(absl::Duration, std::stop_token)>;
void SleepUnlessStopped(absl::Duration duration, std::stop_token stop);

// UNAVAILABLE, and a limit of the server that asks for another attempt within seconds. Nothing else: a token that
// is refused once is refused again.
bool IsWorthAnother(const absl::Status& failure);

// The delays between the attempts of one call.
class Backoff {
 public:
  Backoff(const RetryPolicy& policy, uint64_t seed);

  // The time to wait before the next attempt. None when `failure` is not worth another one
  // or the attempts are used up. A delay that the server asks for is
  // kept to.
  std::optional<absl::Duration> Next(const absl::Status& failure);
  // The last attempt got somewhere: begin counting anew.
  void Reset();
  int attempts() const { return attempts_; }

 private:
  RetryPolicy policy_;
  std::mt19937_64 random_;
  absl::Duration backoff_;
  int attempts_ = 1;
};

// Calls `attempt` until it succeeds, fails for good, or the attempts are used up; returns its last
// result (absl::Status or absl::StatusOr).
template <typename Attempt>
auto CallWithRetries(Backoff backoff, const Sleeper& sleep, Attempt attempt) {
  const auto status_of = [](const auto& result) {
    if constexpr (std::is_same_v<std::decay_t<decltype(result)>, absl::Status>) {
      return result;
    } else {
      return result.status();
    }
  };
  while (true) {
    auto result = attempt(backoff.attempts());
    if (result.ok()) {
      return result;
    }
    const std::optional<absl::Duration> delay = backoff.Next(status_of(result));
    if (!delay.has_value()) {
      return result;
    }
    sleep(*delay, std::stop_token());
  }
}

}  // namespace mercer::client
