#include "server/jobs/queue_signal.h"

#include "server/storage/job_store.h"

namespace mercer::server {

void QueueSignal::Tell() {
  absl::MutexLock lock(&mutex_);
  TellLocked();
}

void QueueSignal::TellLocked() {
  ++generation_;
  idle_workers_ = 0;
}

int64_t QueueSignal::generation() const {
  absl::MutexLock lock(&mutex_);
  return generation_;
}

bool QueueSignal::Wait(int64_t seen_generation, absl::Duration limit) {
  absl::MutexLock lock(&mutex_);
  if (generation_ == seen_generation) {
    ++idle_workers_;
    const auto news = [this, seen_generation]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
      return stopped_ || generation_ != seen_generation;
    };
    if (!mutex_.AwaitWithTimeout(absl::Condition(&news), limit)) {
      --idle_workers_;  // still the same generation
    }
  }
  return !stopped_;
}

void QueueSignal::SetNextReady(absl::Time next) {
  absl::MutexLock lock(&mutex_);
  next_ready_ = next;
}

void QueueSignal::TellIfReady(absl::Time now) {
  absl::MutexLock lock(&mutex_);
  const bool mistaken = next_ready_ < absl::InfiniteFuture() && next_ready_ > now + kLongestDelay;
  if (next_ready_ <= now || mistaken) {
    next_ready_ = absl::InfiniteFuture();  // whoever finds nothing to claim looks ahead again
    TellLocked();
  }
}

void QueueSignal::Stop() {
  absl::MutexLock lock(&mutex_);
  stopped_ = true;
}

bool QueueSignal::stopped() const {
  absl::MutexLock lock(&mutex_);
  return stopped_;
}

void QueueSignal::WaitUntilIdle() {
  absl::MutexLock lock(&mutex_);
  mutex_.Await(absl::Condition(this, &QueueSignal::IsIdle));
}

}  // namespace mercer::server
