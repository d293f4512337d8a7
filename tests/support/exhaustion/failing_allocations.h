// Allocations of this process that fail when a test wants it, whoever asks: operator new, Eigen and the C library too, but
// not OpenBLAS and gRPC's core where they ask the C library, as both end the process then; under sanitizers, which have malloc for
// themselves, operator new alone. Programs of folders named "exhaustion" have it.
#pragma once

#include <cstdint>

namespace mercer {

// Each allocation fails with the probability 1 / one_in.
struct SeldomFailures {
  uint64_t seed = 0;
  int64_t one_in = 1000;
  bool (*spares)() = nullptr;  // true: those of this thread do not fail. Must not allocate
};

// While one lives, `count` allocations fail from the `first` on, which are counted from 0 over all threads.
class FailingAllocations {
 public:
  static constexpr int64_t kNever = INT64_MAX;

  FailingAllocations(int64_t first, int64_t count);
  explicit FailingAllocations(const SeldomFailures& seldom);
  ~FailingAllocations();
  FailingAllocations(const FailingAllocations&) = delete;
  FailingAllocations& operator=(const FailingAllocations&) = delete;

  // Since the last one was made.
  static int64_t seen();
};

}  // namespace mercer
