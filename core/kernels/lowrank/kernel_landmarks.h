// Landmarks chosen by what the kernels see: rows that matter to their mean, each kernel scaled to
// mean value 1 with itself.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"

#include "core/base/process/run_context.h"
#include "core/data/preprocess/prepared_data.h"
#include "core/kernels/spec/kernel_spec.h"

namespace mercer {

// How many rows landmarks are looked for among: max(5000, 2 count), or all.
Index LandmarkPoolRows(Index rows, Index count);
// Upper bound on what choosing `count` of `rows` rows takes, beside the kernels' own columns of the
// pool.
size_t KernelLandmarkBytes(Index rows, Index count);

// `count` rows of a uniform draw of LandmarkPoolRows, without replacement, with probabilities that
// grow with the approximate ridge leverage scores (k_ii - c_i'(W + lambda N)^-1 c_i) / (n lambda),
// lambda = 1e-3: c_i the mean kernel's values at N = count uniform rows, W those among them. A row
// unlike all of these has a score near 1, where scores of its features would be 0:
// docs/mathematics/README.md, section 7. Ascending. Source: Musco, Musco: Recursive sampling for
// the Nystrom method. NeurIPS 2017. Errors: kInvalidArgument naming "kernels[k]" (as CrossKernels),
// kCancelled.
absl::StatusOr<std::vector<Index>> DrawByLeverage(const PreparedData& inputs,
                                                  const std::vector<KernelSpec>& kernels,
                                                  Index count, uint64_t seed, RunContext& context);

// The pivots of an incomplete Cholesky factor of the mean kernel among a uniform draw of
// LandmarkPoolRows: each time the row that those before it represent worst. At most `count`, fewer
// when no row is left with more than 1e-12 of the largest value. Ascending. Errors as above.
absl::StatusOr<std::vector<Index>> PickPivots(const PreparedData& inputs,
                                              const std::vector<KernelSpec>& kernels, Index count,
                                              uint64_t seed, RunContext& context);

}  // namespace mercer
