// What a piece of work needs from the run it belongs to: cancellation, its share of the processor,
// a cache, and a place to say how far it is. Everything that may take longer than 50 ms takes one
// of these.
#pragma once

#include <functional>
#include <memory>
#include <string_view>
#include <utility>

#include "absl/status/status.h"

#include "core/base/cancellation.h"
#include "core/base/parallel.h"
#include "core/base/shared_cache.h"

namespace mercer {

class RunContext {
 public:
  using StageCallback = std::function<void(std::string_view stage, double fraction)>;

  // One thread, no cache to speak of, never cancelled: what tests and small tools want.
  RunContext() : RunContext(CancellationToken(), 1, nullptr) {}
  // `cache` may be null (nothing is kept).
  RunContext(CancellationToken cancellation, int num_threads, std::shared_ptr<SharedCache> cache)
      : cancellation_(std::move(cancellation)),
        parallel_(num_threads),
        cache_(cache != nullptr ? std::move(cache) : std::make_shared<SharedCache>(0)) {}

  // kCancelled once cancellation was requested. Work checks it at least every 50 ms and leaves its
  // state usable.
  absl::Status CheckCancelled() const {
    return cancellation_.cancelled() ? absl::CancelledError("the run was cancelled")
                                     : absl::OkStatus();
  }
  bool cancelled() const { return cancellation_.cancelled(); }
  const CancellationToken& cancellation() const { return cancellation_; }

  const ParallelLoop& parallel() const { return parallel_; }
  SharedCache& cache() const { return *cache_; }

  // Tells the observer what is going on inside a step; `fraction` of the stage in [0, 1]. Cheap;
  // call it freely.
  void ReportStage(std::string_view stage, double fraction) const {
    if (stage_callback_) {
      stage_callback_(stage, fraction);
    }
  }
  void set_stage_callback(StageCallback callback) { stage_callback_ = std::move(callback); }

 private:
  CancellationToken cancellation_;
  ParallelLoop parallel_;
  std::shared_ptr<SharedCache> cache_;
  StageCallback stage_callback_;
};

}  // namespace mercer
