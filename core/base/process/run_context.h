// What a piece of work needs from the run it belongs to: when to end, its share of the processor, a
// cache, and a place to say how far it is. Everything that may take longer than 50 ms takes one of
// these.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include "absl/status/status.h"

#include "core/base/memory/scratch_space.h"
#include "core/base/memory/shared_cache.h"
#include "core/base/process/cancellation.h"
#include "core/base/process/interruption.h"
#include "core/base/process/parallel.h"
#include "core/base/process/steady_clock.h"

namespace mercer {

class RunContext {
 public:
  using StageCallback = std::function<void(std::string_view stage, std::optional<double> fraction)>;

  // One thread, no cache to speak of, never cancelled: what tests and small tools want.
  RunContext() : RunContext(CancellationToken(), 1, nullptr) {}
  // `cache` may be null (nothing is kept).
  RunContext(CancellationToken cancellation, int num_threads, std::shared_ptr<SharedCache> cache)
      : cancellation_(std::move(cancellation)),
        parallel_(std::make_shared<const ParallelLoop>(num_threads)),
        cache_(cache != nullptr ? std::move(cache) : std::make_shared<SharedCache>(0)) {}

  // All that this has, with a loop of so many threads: for one of several pieces of work side by
  // side. Interruptions that are in force now must stay so as long as it is used.
  RunContext WithThreads(int num_threads) const {
    RunContext context(*this);
    context.parallel_ = std::make_shared<const ParallelLoop>(num_threads);
    return context;
  }

  // True when work must end: cancellation was requested, or an interruption that is in force
  // (InterruptibleScope). Work checks it at least every 50 ms and leaves its state usable. Never
  // becomes false again while the work lasts.
  bool cancelled() const {
    return cancellation_.cancelled() || (interruption_ != nullptr && interruption_->requested());
  }
  // kCancelled when work must end, for either reason: interrupted() tells which.
  absl::Status CheckCancelled() const {
    if (!cancelled()) {
      return absl::OkStatus();
    }
    return absl::CancelledError(interrupted() ? "the work was interrupted"
                                              : "the run was cancelled");
  }
  // True when work must end for an interruption, to keep what there is, and not for cancellation.
  bool interrupted() const {
    return interruption_ != nullptr && interruption_->requested() && !cancellation_.cancelled();
  }
  // How long it is until a deadline that is in force; infinite when there is none.
  absl::Duration TimeLeft() const {
    return interruption_ != nullptr ? interruption_->TimeLeft() : absl::InfiniteDuration();
  }
  const CancellationToken& cancellation() const { return cancellation_; }

  const ParallelLoop& parallel() const { return *parallel_; }
  SharedCache& cache() const { return *cache_; }

  // Where tables that are too large for memory are kept; null: all are in memory. Must outlive
  // this. What is computed does not depend on it.
  const ScratchSpace* scratch() const { return scratch_; }
  void set_scratch(const ScratchSpace* scratch) { scratch_ = scratch; }

  // What limits of time are measured by: the system's, unless another is set, which must outlive
  // this.
  const SteadyClock& clock() const { return *clock_; }
  void set_clock(const SteadyClock* clock) { clock_ = clock; }

  // Tells the observer what is going on inside a step, and how much of that is done, in [0, 1],
  // where it is known. Cheap; call it freely.
  void ReportStage(std::string_view stage, std::optional<double> fraction = std::nullopt) const {
    if (stage_callback_) {
      stage_callback_(stage, fraction);
    }
  }
  void set_stage_callback(StageCallback callback) { stage_callback_ = std::move(callback); }

 private:
  friend class InterruptibleScope;

  // For WithThreads alone: what is added here is part of every piece of the work.
  RunContext(const RunContext&) = default;

  CancellationToken cancellation_;
  const Interruption* interruption_ = nullptr;
  std::shared_ptr<const ParallelLoop> parallel_;
  std::shared_ptr<SharedCache> cache_;
  const ScratchSpace* scratch_ = nullptr;
  const SteadyClock* clock_ = &SystemSteadyClock();
  StageCallback stage_callback_;
};

// Puts an interruption into force for the work of one block: a step of a search, but not the
// verification after it. No work of `context` may run when a scope begins or ends.
class InterruptibleScope {
 public:
  InterruptibleScope(RunContext& context, const Interruption& interruption)
      : context_(context), before_(context.interruption_) {
    context_.interruption_ = &interruption;
  }
  ~InterruptibleScope() { context_.interruption_ = before_; }
  InterruptibleScope(const InterruptibleScope&) = delete;
  InterruptibleScope& operator=(const InterruptibleScope&) = delete;

 private:
  RunContext& context_;
  const Interruption* const before_;
};

}  // namespace mercer
