// What a feed has to do for its watchers on an executor.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "absl/types/span.h"

#include "core/base/process/run_safely.h"
#include "server/jobs/executor.h"
#include "server/watching/wake_slot.h"

namespace mercer::server {

// Work that can be waited for. Where there is no memory for it, or within it, nobody else suffers.
// Thread-safe. Always held by a shared pointer: work may end a moment after Wait().
class PostedWork : public std::enable_shared_from_this<PostedWork> {
 public:
  // `executor` must outlive this.
  explicit PostedWork(Executor* executor) : executor_(executor) {}

  // False: it is not to be had, and whoever waits for it must ask again.
  template <typename Work>
  bool Post(Work work) ABSL_LOCKS_EXCLUDED(mutex_) {
    Count(1);
    const absl::Status posted = RunNeeded("telling watchers", [&] {
      executor_->Post([self = shared_from_this(), work = std::move(work)]() mutable {
        RunNeeded("telling watchers", [&work] { work(); }).IgnoreError();
        self->Count(-1);
      });
    });
    Count(posted.ok() ? 0 : -1);
    return posted.ok();
  }

  // Runs the callbacks, those that there is memory for, in portions, so that several threads of the
  // executor share the work.
  void Wake(const std::vector<std::shared_ptr<WakeSlot>>& slots) ABSL_LOCKS_EXCLUDED(mutex_) {
    constexpr size_t kWokenTogether = 8;
    for (size_t begin = 0; begin < slots.size(); begin += kWokenTogether) {
      const auto portion = absl::MakeConstSpan(slots).subspan(begin, kWokenTogether);
      Post([portion = std::vector(portion.begin(), portion.end())] {
        for (const std::shared_ptr<WakeSlot>& slot : portion) {
          RunNeeded("telling a watcher", [&slot] {
            slot->Run();
          }).IgnoreError();  // one that fails costs the others nothing
        }
      });
    }
  }

  // Waits for all that was posted.
  void Wait() ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    mutex_.Await(absl::Condition(this, &PostedWork::IsIdle));
  }

 private:
  void Count(int64_t change) ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    posted_ += change;
  }
  bool IsIdle() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) { return posted_ == 0; }

  Executor* const executor_;
  absl::Mutex mutex_;
  int64_t posted_ ABSL_GUARDED_BY(mutex_) = 0;
};

}  // namespace mercer::server
