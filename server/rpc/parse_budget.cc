#include "server/rpc/parse_budget.h"

#include <utility>

#include "absl/time/time.h"

namespace mercer::server {
namespace {

// Nobody tells of a cancellation: it must be asked for.
constexpr absl::Duration kAskAgain = absl::Milliseconds(100);

}  // namespace

absl::StatusOr<ParseBudget::Share> ParseBudget::Take(int64_t bytes, int64_t total_bytes,
                                                     const std::function<bool()>& is_cancelled) {
  const auto fits = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    return taken_ == 0 || bytes <= total_bytes - taken_;
  };
  bool is_taken = false;
  while (!is_taken) {
    if (is_cancelled()) {
      return absl::CancelledError("the client has gone");
    }
    absl::MutexLock lock(&mutex_);
    is_taken = mutex_.AwaitWithTimeout(absl::Condition(&fits), kAskAgain);
    taken_ += is_taken ? bytes : 0;
  }
  return MakeShare(bytes);
}

ParseBudget::Share ParseBudget::TryToTake(int64_t bytes, int64_t total_bytes) {
  {
    absl::MutexLock lock(&mutex_);
    if (bytes > total_bytes - taken_) {
      return nullptr;
    }
    taken_ += bytes;
  }
  return MakeShare(bytes);
}

ParseBudget::Share ParseBudget::MakeShare(int64_t bytes) {
  return Share(this, [self = shared_from_this(), bytes](const void*) { self->GiveBack(bytes); });
}

void ParseBudget::GiveBack(int64_t bytes) {
  absl::MutexLock lock(&mutex_);
  taken_ -= bytes;
}

}  // namespace mercer::server
