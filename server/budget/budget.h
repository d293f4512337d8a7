// What is bounded and shared: memory, disk space, places. Who takes a share gives it back by letting go of it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/statusor.h"

namespace mercer::server {

// Negative: as much as is wanted.
struct BudgetLimits {
  int64_t all = -1;     // of all shares together
  int64_t of_key = -1;  // of those with one key
};

enum class BudgetLimit : uint8_t { kAll, kOfKey };

// Thread-safe. A copy is the same budget, and so are its shares, which may outlive it.
class Budget {
 private:
  struct State;

 public:
  // Not thread-safe.
  class Share {
   public:
    // Of no budget: it takes nothing, however it grows.
    Share() = default;
    Share(Share&& other) noexcept { *this = std::move(other); }
    Share& operator=(Share&& other) noexcept;
    ~Share() { Release(); }

    int64_t amount() const { return amount_; }
    // Takes `amount` more; nothing when a limit forbids that, which is answered then.
    std::optional<BudgetLimit> Grow(int64_t amount, const BudgetLimits& limits);
    void Release();

   private:
    friend class Budget;
    Share(std::shared_ptr<State> state, std::string key);

    std::shared_ptr<State> state_;
    std::string key_;
    int64_t amount_ = 0;
  };

  Budget();

  // A share of nothing yet; one without a key counts for no key.
  Share NewShare(std::string key = "") const { return {state_, std::move(key)}; }
  // None when all shares would exceed `limit`.
  std::optional<Share> TryToTake(int64_t amount, int64_t limit) const;
  // Waits until all shares keep within `limit`, or nobody else has any. Errors: kCancelled, once `is_cancelled` says so.
  absl::StatusOr<Share> Take(int64_t amount, int64_t limit,
                             const std::function<bool()>& is_cancelled) const;

  int64_t taken() const;
  int64_t taken(const std::string& key) const;

 private:
  std::shared_ptr<State> state_;
};

}  // namespace mercer::server
