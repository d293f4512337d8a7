// What has been predicted since the server started, per version of a model: how often, how fast, and
// how well calls shared their work.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

#include "core/base/numeric/hash_table.h"

namespace mercer::server {

// Counts of durations in classes whose bounds grow by a factor of the square root of 2, from 10
// microseconds to about 10 minutes. Thread-safe; adding takes no lock.
class LatencyHistogram {
 public:
  static constexpr size_t kClasses = 52;

  void Add(absl::Duration duration);

  int64_t count() const;
  absl::Duration sum() const { return absl::Microseconds(sum_.load(std::memory_order_relaxed)); }
  // The upper bound of the class that holds the quantile of `share` in [0, 1]: at most 42 % above the
  // true value. Zero without any duration.
  absl::Duration Quantile(double share) const;

 private:
  std::array<std::atomic<int64_t>, kClasses> counts_{};
  std::atomic<int64_t> sum_{0};  // microseconds
};

// Of one version of a model. Thread-safe; recording takes no lock.
class PredictionStatistics {
 public:
  explicit PredictionStatistics(std::string model) : model_(std::move(model)) {}

  // A call has been answered, `latency` after it came in.
  void RecordCall(absl::StatusCode code, int64_t rows, absl::Duration latency, absl::Time now);
  // `calls` calls were computed as one.
  void RecordBatch(int64_t calls);

  const std::string& model() const { return model_; }  // "models/{model}/versions/{n}"
  int64_t succeeded() const { return succeeded_; }
  int64_t failed() const { return failed_; }
  int64_t rows() const { return rows_; }
  int64_t batches() const { return batches_; }
  // Calls that shared a computation with another one.
  int64_t coalesced() const { return coalesced_; }
  absl::Time last_call() const { return absl::FromUnixMicros(last_call_); }
  const LatencyHistogram& latency() const { return latency_; }

 private:
  const std::string model_;
  std::atomic<int64_t> succeeded_{0};
  std::atomic<int64_t> failed_{0};
  std::atomic<int64_t> rows_{0};
  std::atomic<int64_t> batches_{0};
  std::atomic<int64_t> coalesced_{0};
  std::atomic<int64_t> last_call_{0};  // microseconds since 1970
  LatencyHistogram latency_;           // of the calls that succeeded
};

// The statistics of all versions that were called, also of those that have left the cache, until they are removed. Thread-safe.
class PredictionStatisticsTable {
 public:
  // Those of the version "models/{model}/versions/{n}", new ones when it has none.
  std::shared_ptr<PredictionStatistics> Of(const std::string& model) ABSL_LOCKS_EXCLUDED(mutex_);
  // Those of a version, or of all versions of "models/{model}". Whoever holds them records for nobody from now on.
  void Remove(const std::string& name) ABSL_LOCKS_EXCLUDED(mutex_);
  // By name.
  std::vector<std::shared_ptr<const PredictionStatistics>> All() const ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  mutable absl::Mutex mutex_;
  HashMap<std::string, std::shared_ptr<PredictionStatistics>> by_model_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace mercer::server
