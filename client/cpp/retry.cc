#include "client/cpp/retry.h"

#include <algorithm>
#include <condition_variable>
#include <mutex>

#include "client/cpp/errors.h"

namespace mercer::client {
namespace {

// A full queue or disk asks for a minute: a caller would hear nothing for as long as all attempts take.
constexpr absl::Duration kLongestWaitAtALimit = absl::Seconds(5);

}  // namespace

void SleepUnlessStopped(absl::Duration duration, std::stop_token stop) {
  std::mutex mutex;
  std::condition_variable_any changed;
  std::unique_lock lock(mutex);
  changed.wait_for(lock, stop, absl::ToChronoNanoseconds(duration), [] { return false; });
}

bool IsWorthAnother(const absl::Status& failure) {
  const std::optional<absl::Duration> delay = ReadErrorReport(failure).retry_delay;
  return absl::IsUnavailable(failure) || (absl::IsResourceExhausted(failure) && delay.has_value() &&
                                          *delay <= kLongestWaitAtALimit);
}

Backoff::Backoff(const RetryPolicy& policy, uint64_t seed)
    : policy_(policy), random_(seed), backoff_(policy.initial_backoff) {}

std::optional<absl::Duration> Backoff::Next(const absl::Status& failure) {
  if (!IsWorthAnother(failure) || attempts_ >= policy_.max_attempts) {
    return std::nullopt;
  }
  ++attempts_;
  const double unit =
      static_cast<double>(random_() >> 11) / static_cast<double>(uint64_t{1} << 53);  // in [0, 1)
  const absl::Duration drawn = backoff_ * (1.0 + policy_.jitter * (2.0 * unit - 1.0));
  backoff_ = std::min(backoff_ * policy_.multiplier, policy_.max_backoff);
  return std::max(drawn, ReadErrorReport(failure).retry_delay.value_or(absl::ZeroDuration()));
}

void Backoff::Reset() {
  attempts_ = 1;
  backoff_ = policy_.initial_backoff;
}

}  // namespace mercer::client
