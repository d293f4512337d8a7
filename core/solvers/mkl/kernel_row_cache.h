// Rows of all kernels of a family, kept in a bounded cache: what the pair steps of smo_mkl.h read.
#pragma once

#include "absl/status/statusor.h"

#include "core/base/numeric/types.h"
#include "core/base/process/run_context.h"
#include "core/base/status/byte_count.h"
#include "core/kernels/gram/kernel_family.h"
#include "core/solvers/svm/smo_columns.h"

namespace mercer {

// The row of sample i is the n x m matrix with the entries K_k(i, j), row j and column k, stored
// column by column. Values do not depend on the capacity. The family must outlive the cache.
class KernelRowCache {
 public:
  KernelRowCache(const KernelFamily& family, size_t capacity_bytes);

  // The row of `sample`, valid until the second next call, so that a pair can be read side by side.
  // Errors: kCancelled.
  absl::StatusOr<const double*> Get(Index sample, RunContext& context);

  // Upper bound on the bytes of a cache.
  static ByteCount Bytes(Index num_samples, Index num_kernels, size_t capacity_bytes);

 private:
  const KernelFamily& family_;
  LruColumns<double> rows_;
  Matrix scratch_;
};

}  // namespace mercer
