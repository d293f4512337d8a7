// Normalisations of whole Gram matrices: docs/mathematics/README.md, section 5.
#pragma once

#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "core/base/numeric/types.h"
#include "core/kernels/spec/kernel_spec.h"

namespace mercer {

// Sums of a Gram matrix K that decide its factor.
struct GramSums {
  Index rows = 0;
  double trace = 0;
  double total = 0;  // sum of all entries
};

// The factor by which `scaling` multiplies a kernel with these sums. Errors: kInvalidArgument when
// the trace is <= 1e-300 or not finite, or the variance <= 1e-12 trace / n.
absl::StatusOr<double> ScalingFactor(KernelScaling scaling, const GramSums& sums);

// The error kInvalidArgument with reason ZERO_DIAGONAL: "<what> <row + 1>: the kernel of the row
// with itself is <value>, ..."; the row is given from 0 and named from 1.
absl::Status ZeroDiagonalError(std::string_view what, Index row, double value);

// Makes the diagonal 1: gram(i, j) / sqrt(gram(i, i) gram(j, j)), and for test rows
// gram_test(t, i) / sqrt(self_test(t) gram(i, i)). Errors: kInvalidArgument naming the row (from 1)
// whose self-kernel is not positive.
absl::Status NormalizeUnitDiagonal(MatrixRef gram, MatrixRef gram_test, ConstVectorRef self_test);

// Centres the kernel in feature space: H K H with H = I - 11'/n, and for test rows
// k(x, x_i) - mean_j k(x, x_j) - mean_j k(x_j, x_i) + mean K. No training needs it
// (docs/mathematics/README.md, section 5).
void CentreGram(MatrixRef gram, MatrixRef gram_test);

}  // namespace mercer
