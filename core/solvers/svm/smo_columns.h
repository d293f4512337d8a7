// Kernel columns for sequential minimal optimisation, restricted to the samples under work and kept
// in a bounded cache.
#pragma once

#include <cstddef>
#include <vector>

#include "absl/status/statusor.h"

#include "core/base/numeric/types.h"
#include "core/base/process/run_context.h"
#include "core/kernels/gram/kernel_operator.h"

namespace mercer {

// A cache of arrays of one length by key: when it is full, the least recently used array is
// overwritten. At least two are kept, since a step reads two columns.
template <typename T>
class LruColumns {
 public:
  // Forgets everything. From now on keys are 0 .. num_keys - 1, and arrays have `length` entries.
  void Reset(Index num_keys, Index length, size_t capacity_bytes);
  // The array of the key, which counts as used now; null when it is not kept.
  const T* Find(Index key);
  // Room for the array of a key that is not kept.
  T* Insert(Index key);
  Index length() const { return length_; }

 private:
  using Column = Eigen::Matrix<T, Eigen::Dynamic, 1>;

  void MarkUsed(Index slot);
  void Unlink(Index slot);

  Index length_ = 0;
  size_t max_slots_ = 0;
  std::vector<Column> columns_;
  std::vector<Index> slot_of_;  // -1: not kept
  std::vector<Index> key_of_;
  // Doubly linked list of slots, most recently used first; the sentinel is the last element.
  std::vector<Index> next_;
  std::vector<Index> previous_;
};

// The columns K(active, active(j)) in precision T. Values do not depend on the capacity. The kernel
// must outlive the cache.
template <typename T>
class ColumnCache {
 public:
  ColumnCache(const KernelOperator& kernel, size_t capacity_bytes)
      : kernel_(kernel), capacity_bytes_(capacity_bytes) {}

  // Restricts rows and columns to `active`, ascending; all samples: whole columns, which stay
  // cached across restrictions. The vector must stay alive and unchanged until the next call.
  void SetActive(const std::vector<Index>& active);
  // The column of active[position]. Valid until the second next call. Errors: kCancelled.
  absl::StatusOr<const T*> Get(Index position, RunContext& context);

 private:
  absl::StatusOr<const T*> GetWhole(Index sample, RunContext& context);

  const KernelOperator& kernel_;
  size_t capacity_bytes_;
  const std::vector<Index>* active_ = nullptr;  // null: all samples
  LruColumns<T> whole_;
  LruColumns<T> restricted_;
  Matrix scratch_;
};

// What an SmoSolver keeps of the columns of one kernel, half of the capacity in either precision.
struct SmoColumns {
  SmoColumns(const KernelOperator& kernel, size_t capacity_bytes)
      : doubles(kernel, capacity_bytes / 2), singles(kernel, capacity_bytes / 2) {}

  ColumnCache<double> doubles;
  ColumnCache<float> singles;
};

extern template class LruColumns<float>;
extern template class LruColumns<double>;
extern template class ColumnCache<float>;
extern template class ColumnCache<double>;

}  // namespace mercer
