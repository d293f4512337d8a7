#include "server/jobs/memory_shares.h"

#include <iterator>
#include <numeric>

#include "absl/time/clock.h"
#include "absl/time/time.h"

namespace mercer::server {

MemoryShares::Share MemoryShares::Ask(int64_t bytes) {
  absl::MutexLock lock(&mutex_);
  shares_.push_back(bytes);
  return std::prev(shares_.end());
}

bool MemoryShares::Fits(Share share, int64_t free_bytes) const {
  absl::MutexLock lock(&mutex_);
  const std::list<int64_t>::const_iterator end = std::next(share);
  return std::accumulate(shares_.begin(), end, int64_t{0}) <= free_bytes;
}

void MemoryShares::GiveBack(Share share) {
  absl::MutexLock lock(&mutex_);
  shares_.erase(share);
}

int64_t MemoryShares::bytes() const {
  absl::MutexLock lock(&mutex_);
  return std::accumulate(shares_.begin(), shares_.end(), int64_t{0});
}

absl::Status PauseForMemory(const CancellationToken& cancellation) {
  if (cancellation.cancelled()) {
    return absl::CancelledError("cancelled before there was enough memory");
  }
  absl::SleepFor(absl::Milliseconds(50));
  return absl::OkStatus();
}

}  // namespace mercer::server
