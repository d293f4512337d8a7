#include "server/jobs/executor.h"

#include <utility>

#include "core/base/memory/memory_reserve.h"
#include "core/base/process/background.h"
#include "core/base/process/run_safely.h"

namespace mercer::server {

ThreadPool::ThreadPool(int num_threads, std::function<void(const absl::Status&)> on_error,
                       PoolPriority priority)
    : on_error_(std::move(on_error)) {
  try {
    for (int i = 0; i < num_threads; ++i) {
      threads_.emplace_back([this, priority] {
        if (priority == PoolPriority::kBackground) {
          EnterBackground();
        }
        Run();
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
  queue_.push_back(std::move(work));
}

void ThreadPool::Run() {
  while (true) {
    absl::AnyInvocable<void()> work;
    {
      absl::MutexLock lock(&mutex_);
      mutex_.Await(absl::Condition(this, &ThreadPool::HasWorkOrStops));
      if (queue_.empty()) {
        return;
      }
      work = std::move(queue_.front());
      queue_.pop_front();
    }
    const absl::Status status = RunNeeded("work of a pool", [&work] { work(); });
    if (!status.ok() && on_error_) {
      on_error_(status);
    }
  }
}

}  // namespace mercer::server
