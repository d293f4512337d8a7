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

class Budget::State {
 public:
  std::optional<BudgetLimit> Take(int64_t amount, const std::string& key,
                                  const BudgetLimits& limits) ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    if (limits.all >= 0 && amount > limits.all - taken_) {
      return BudgetLimit::kAll;
    }
    if (limits.of_key >= 0 && amount > limits.of_key - OfKey(key)) {
      return BudgetLimit::kOfKey;
    }
    if (!key.empty()) {
      taken_by_[key] += amount;  // first, as it may find no memory
    }
    taken_ += amount;
    return std::nullopt;
  }

  // False: not within kAskAgain.
  bool WaitFor(int64_t amount, int64_t limit) ABSL_LOCKS_EXCLUDED(mutex_) {
    const auto fits = [&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
      return taken_ == 0 || amount <= limit - taken_;
    };
    absl::MutexLock lock(&mutex_);
    const bool is_taken = mutex_.AwaitWithTimeout(absl::Condition(&fits), kAskAgain);
    taken_ += is_taken ? amount : 0;
    return is_taken;
  }

  void GiveBack(int64_t amount, const std::string& key) ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    taken_ -= amount;
    const auto found = taken_by_.find(key);
    if (found != taken_by_.end() && (found->second -= amount) == 0) {
      taken_by_.erase(found);
    }
  }

  int64_t taken() const ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    return taken_;
  }
  int64_t taken(const std::string& key) const ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    return OfKey(key);
  }

 private:
  int64_t OfKey(const std::string& key) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    const auto found = taken_by_.find(key);
    return found == taken_by_.end() ? 0 : found->second;
  }

  mutable absl::Mutex mutex_;
  int64_t taken_ ABSL_GUARDED_BY(mutex_) = 0;
  // Of keys that have something now: those who have gone leave nothing behind.
  HashMap<std::string, int64_t> taken_by_ ABSL_GUARDED_BY(mutex_);
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
  const std::optional<BudgetLimit> exceeded = state_->Take(amount, key_, limits);
  amount_ += exceeded.has_value() ? 0 : amount;
  return exceeded;
}

void Budget::Share::Release() {
  if (state_ != nullptr) {
    state_->GiveBack(amount_, key_);
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
  do {
    if (is_cancelled()) {
      return absl::CancelledError("the client has gone");
    }
  } while (!state_->WaitFor(amount, limit));
  share.amount_ = amount;
  return share;
}

int64_t Budget::taken() const { return state_->taken(); }
int64_t Budget::taken(const std::string& key) const { return state_->taken(key); }

}  // namespace mercer::server
