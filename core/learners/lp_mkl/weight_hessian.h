// The curvature of an SVM's optimum as a function of its kernel weights: the specification of lp-norm MKL, section (b7).
#pragma once

#include <optional>
#include <vector>

#include "absl/status/statusor.h"

#include "core/base/run_context.h"
#include "core/base/types.h"
#include "core/kernels/kernel_operator.h"

namespace mercer::lp_mkl {

// H = G'(S^-1 - S^-1 11' S^-1 / 1'S^-1 1) G,  S = K_FF + shift, for the free samples F and products G(:, k) = (K_k dual)_F. Of a kernel
// with explicit features only matrices of their number are formed. Nothing when S is not positive definite in floating point.
// Errors: kCancelled.
absl::StatusOr<std::optional<Matrix>> WeightHessian(const KernelOperator& kernel,
                                                    const std::vector<Index>& free,
                                                    const Matrix& products, RunContext& context);

}  // namespace mercer::lp_mkl
