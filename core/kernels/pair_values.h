// Values of pairs of rows from which kernels are computed: dot products and distances, entry by
// entry (no matrix products), so that a pair's bits do not depend on the pairs beside it.
#pragma once

#include <cstdint>

#include "core/base/run_context.h"
#include "core/base/types.h"

namespace mercer {

enum class PairValue : uint8_t {
  kDotProduct = 0,
  kSquaredDistance = 1,  // sum_c (x_c - z_c)^2
  kManhattan = 2,        // sum_c |x_c - z_c|
  kChiSquare = 3,        // 1/2 sum_c (x_c - z_c)^2 / (x_c + z_c), 0/0 = 0; entries >= 0
};

// out[r * out_stride + c] = value of rows x[r] and z[c]. out_stride >= PaddedLength(z.rows()); the
// padding is written with finite values. Stops early, with values of no use, once cancelled.
void ComputePairValues(PairValue value, const ConstRowMatrixRef& x, const ConstRowMatrixRef& z,
                       double* out, Index out_stride, const RunContext& context);

}  // namespace mercer
