// Allocations of this process that fail when a test wants it, whoever asks: operator new, Eigen and the C library too, but
// not BLAS; under sanitizers, which have malloc for themselves, operator new alone.
#pragma once

#include <cstdint>

namespace mercer {

// While one lives, `count` allocations fail from the `first` on, which are counted from 0 over all threads.
class FailingAllocations {
 public:
  static constexpr int64_t kNever = INT64_MAX;

  FailingAllocations(int64_t first, int64_t count);
  ~FailingAllocations();
  FailingAllocations(const FailingAllocations&) = delete;
  FailingAllocations& operator=(const FailingAllocations&) = delete;

  // Since the last one was made.
  static int64_t seen();
};

}  // namespace mercer
