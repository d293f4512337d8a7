#include "server/budget/budget.h"

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

#include "core/base/numeric/hash_table.h"

namespace mercer::server {
namespace {

// Nobody tells of a cancellation: it must be asked for.
constexpr absl::Duration kAskAgain = absl::Milliseconds(100);

}  // namespace

struct Budget::State {
  absl::Mutex mutex;
  int64_t taken ABSL_GUARDED_BY(mutex) = 0;
  // Of keys that have something now: those who have gone leave nothing behind.
  HashMap<std::string, int64_t> taken_by ABSL_GUARDED_BY(mutex);

  int64_t OfKey(const std::string& key) const ABSL_SHARED_LOCKS_REQUIRED(mutex) {
    const auto found = taken_by.find(key);
    return found == taken_by.end() ? 0 : found->second;
  }
};

Budget::Share::Share(std::shared_ptr<State> state, std::string key)
    : state_(std::move(state)), key_(std::move(key)) {}

Budget::Share& Budget::Share::operator=(Share&& other) noexcept {
  if (this != &other) {
    Release();
    state_ = std::move(other.state_);
    key_ = std::move(other.key_);
    amount_ = std::exchange(other.amount_, 0);
  }
  return *this;
}

std::optional<BudgetLimit> Budget::Share::Grow(int64_t amount, const BudgetLimits& limits) {
  if (state_ == nullptr) {
    return std::nullopt;
  }
  absl::MutexLock lock(&state_->mutex);
  if (limits.all >= 0 && amount > limits.all - state_->taken) {
    return BudgetLimit::kAll;
  }
  if (limits.of_key >= 0 && amount > limits.of_key - state_->OfKey(key_)) {
    return BudgetLimit::kOfKey;
  }
  if (!key_.empty()) {
    state_->taken_by[key_] += amount;  // first, as it may find no memory
  }
  state_->taken += amount;
  amount_ += amount;
  return std::nullopt;
}

void Budget::Share::Release() {
  if (state_ != nullptr) {
    absl::MutexLock lock(&state_->mutex);
    state_->taken -= amount_;
    const auto found = state_->taken_by.find(key_);
    if (found != state_->taken_by.end() && (found->second -= amount_) == 0) {
      state_->taken_by.erase(found);
    }
  }
  state_.reset();
  amount_ = 0;
}

Budget::Budget() : state_(std::make_shared<State>()) {}

std::optional<Budget::Share> Budget::TryToTake(int64_t amount, int64_t limit) const {
  Share share = NewShare();
  if (share.Grow(amount, {limit}).has_value()) {
    return std::nullopt;
  }
  return share;
}

absl::StatusOr<Budget::Share> Budget::Take(int64_t amount, int64_t limit,
                                           const std::function<bool()>& is_cancelled) const {
  Share share = NewShare();
  State& state = *state_;
  const auto fits = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(state.mutex) {
    return state.taken == 0 || amount <= limit - state.taken;
  };
  while (!is_cancelled()) {
    absl::MutexLock lock(&state.mutex);
    if (state.mutex.AwaitWithTimeout(absl::Condition(&fits), kAskAgain)) {
      state.taken += amount;
      share.amount_ = amount;
      return share;
    }
  }
  return absl::CancelledError("the client has gone");
}

int64_t Budget::taken() const {
  absl::MutexLock lock(&state_->mutex);
  return state_->taken;
}

int64_t Budget::taken(const std::string& key) const {
  absl::MutexLock lock(&state_->mutex);
  return state_->OfKey(key);
}

}  // namespace mercer::server
