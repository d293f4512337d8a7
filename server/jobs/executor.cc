#include "server/jobs/executor.h"

#include <utility>

#include "core/base/memory/memory_reserve.h"
#include "core/base/process/background.h"
#include "core/base/process/run_safely.h"

namespace mercer::server {
namespace {

using Steady = std::chrono::steady_clock;

// Of considerate threads: they rest after so much work, for so long, unless work has waited for longer than they have patience.
constexpr std::chrono::microseconds kSpell(250);
constexpr std::chrono::microseconds kRest(100);
constexpr std::chrono::milliseconds kPatience(50);

}  // namespace

ThreadPool::ThreadPool(int num_threads, std::function<void(const absl::Status&)> on_error,
                       PoolPriority priority)
    : on_error_(std::move(on_error)) {
  try {
    for (int i = 0; i < num_threads; ++i) {
      threads_.emplace_back([this, priority] {
        if (priority != PoolPriority::kNormal) {
          EnterBackground();
        }
        Run(/*rests=*/priority == PoolPriority::kConsiderate);
      });
    }
  } catch (...) {  // the system has no more threads
    Stop();
    throw;
  }
}

ThreadPool::~ThreadPool() { Stop(); }

void ThreadPool::Stop() {
  {
    absl::MutexLock lock(&mutex_);
    stopping_ = true;
  }
  for (std::thread& thread : threads_) {
    thread.join();
  }
}

void ThreadPool::Post(absl::AnyInvocable<void()> work) {
  const ScopedAllocations scope(Allocations::kNeeded);
  absl::MutexLock lock(&mutex_);
  queue_.push_back({std::move(work), Steady::now()});
}

void ThreadPool::Run(bool rests) {
  Steady::duration worked{};
  while (true) {
    Posted next;
    {
      absl::MutexLock lock(&mutex_);
      mutex_.Await(absl::Condition(this, &ThreadPool::HasWorkOrStops));
      if (queue_.empty()) {
        return;
      }
      next = std::move(queue_.front());
      queue_.pop_front();
    }
    const Steady::time_point begin = Steady::now();
    const absl::Status status = RunNeeded("work of a pool", [&next] { next.work(); });
    if (!status.ok() && on_error_) {
      on_error_(status);
    }
    next.work = nullptr;
    worked += Steady::now() - begin;
    if (rests && worked > kSpell) {
      if (begin - next.time < kPatience) {
        std::this_thread::sleep_for(kRest);
      }
      worked = {};
    }
  }
}

}  // namespace mercer::server
