#include "core/solvers/mkl/kernel_row_cache.h"

#include <algorithm>

#include "core/base/status/status_macros.h"

namespace mercer {

KernelRowCache::KernelRowCache(const KernelFamily& family, size_t capacity_bytes)
    : family_(family) {
  rows_.Reset(family.size(), family.size() * family.num_kernels(), capacity_bytes);
}

absl::StatusOr<const double*> KernelRowCache::Get(Index sample, RunContext& context) {
  if (const double* found = rows_.Find(sample)) {
    return found;
  }
  scratch_.resize(family_.size(), family_.num_kernels());
  MERCER_RETURN_IF_ERROR(
      family_.Products(Vector::Unit(family_.size(), sample), {}, {}, scratch_, context));
  double* row = rows_.Insert(sample);
  std::copy_n(scratch_.data(), scratch_.size(), row);
  return row;
}

ByteCount KernelRowCache::Bytes(Index num_samples, Index num_kernels, size_t capacity_bytes) {
  const ByteCount row = ByteCount(num_samples) * ByteCount(num_kernels) * ByteCount(sizeof(double));
  const ByteCount all = ByteCount(num_samples) * row;
  const ByteCount kept = std::max(ByteCount(2) * row, std::min(ByteCount(capacity_bytes), all));
  return kept + row + ByteCount(num_samples) * ByteCount(4 * sizeof(Index));
}

}  // namespace mercer
