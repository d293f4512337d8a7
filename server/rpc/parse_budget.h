// The memory that uploads may take while they are parsed, all together.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"

namespace mercer::server {

// Thread-safe.
class ParseBudget : public std::enable_shared_from_this<ParseBudget> {
 public:
  // Bytes that are taken for as long as it lives. Null: none.
  using Share = std::shared_ptr<const void>;

  // Waits until `bytes` more keep within `total_bytes`, or nobody else has any. Errors: kCancelled,
  // once `is_cancelled` says so.
  absl::StatusOr<Share> Take(int64_t bytes, int64_t total_bytes,
                             const std::function<bool()>& is_cancelled) ABSL_LOCKS_EXCLUDED(mutex_);
  // The same at once; null when they do not keep within it.
  Share TryToTake(int64_t bytes, int64_t total_bytes) ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  Share MakeShare(int64_t bytes);
  void GiveBack(int64_t bytes) ABSL_LOCKS_EXCLUDED(mutex_);

  absl::Mutex mutex_;
  int64_t taken_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace mercer::server
