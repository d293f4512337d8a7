// How much there is to do, counted in operations, before anything is done; and how long each takes.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace mercer {

enum class WorkKind : uint8_t {
  kProductColumns,    // columns of pairs of rows, for scalar products and squared distances
  kAbsoluteColumns,   // the same for distances that are sums of |x - z|
  kChiSquareColumns,  // and for chi-square distances
  kKernelValues,      // kernels of pairs whose distance is known
  // The same values for many kernels of one distance, as the search between certificates has them.
  kSearchValues,
  kEntries,    // numbers of matrices and tables that are written to fresh memory
  kReads,      // numbers of such matrices that are read, or written again, one after the other
  kPairSteps,  // samples that an iteration of SMO looks at; not cut into parts for several threads
  // Of a Cholesky factorisation, which has n^3 / 3 of them; a multiplication with its addition in a
  // product of matrices is two.
  kFactorOperations,
  // How many times the distances of all kernels' sources are computed; the recipe counts what that
  // is.
  kFamilies,
};
inline constexpr size_t kNumWorkKinds = 10;

// Counts of operations, or seconds for one of each. Counts are >= 0; absurd ones are infinite.
class WorkCount {
 public:
  double& operator[](WorkKind kind) { return counts_[static_cast<size_t>(kind)]; }
  double operator[](WorkKind kind) const { return counts_[static_cast<size_t>(kind)]; }

  WorkCount& operator+=(const WorkCount& other) {
    for (size_t i = 0; i < kNumWorkKinds; ++i) {
      counts_[i] += other.counts_[i];
    }
    return *this;
  }
  WorkCount& operator*=(double factor) {
    for (double& count : counts_) {
      count *= factor;
    }
    return *this;
  }

 private:
  std::array<double, kNumWorkKinds> counts_ = {};
};

// What a learner does for one output.
struct LearnerWork {
  WorkCount training;
  WorkCount verification;
  // Kernels or their factors, which trainings on the same rows and their verifications have in
  // common.
  WorkCount shared = {};
  // What these take of the shared cache; 0: the problem keeps them (kernel_sum.h).
  double shared_bytes = 0;
};

// The seconds that `work` takes, with `rates` in seconds for one operation.
inline double SecondsOf(const WorkCount& work, const WorkCount& rates, int threads) {
  const double parallel = static_cast<double>(std::max(threads, 1));
  double seconds = 0;
  for (size_t i = 0; i < kNumWorkKinds; ++i) {
    const auto kind = static_cast<WorkKind>(i);
    seconds += work[kind] * rates[kind] / (kind == WorkKind::kPairSteps ? 1.0 : parallel);
  }
  return seconds;
}

}  // namespace mercer
