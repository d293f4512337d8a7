// An executor that finds no memory when a test wants it.
#pragma once

#include <atomic>
#include <new>
#include <utility>

#include "server/jobs/executor.h"

namespace mercer::server {

// Hands everything on to another executor, which outlives it. Thread-safe.
class FailingExecutor final : public Executor {
 public:
  explicit FailingExecutor(Executor& inner) : inner_(inner) {}

  void Post(absl::AnyInvocable<void()> work) override {
    if (left_.fetch_sub(1) == 0) {
      throw std::bad_alloc();
    }
    inner_.Post(std::move(work));
  }

  // The post behind `count` further ones fails, and no other.
  void FailAfter(int count) { left_ = count; }
  bool has_failed() const { return left_ < 0; }

 private:
  Executor& inner_;
  std::atomic<int> left_{-1};
};

}  // namespace mercer::server
