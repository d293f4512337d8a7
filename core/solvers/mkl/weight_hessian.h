// The curvature of an SVM's optimum as a function of its kernel weights:
// docs/mathematics/lp_mkl.md, section 4.
#pragma once

#include <optional>

#include "absl/status/statusor.h"

#include "core/base/numeric/types.h"
#include "core/base/process/run_context.h"
#include "core/kernels/gram/kernel_operator.h"
#include "core/solvers/svm/curved_samples.h"

namespace mercer {

// H = G'(S^-1 - S^-1 11' S^-1 / 1'S^-1 1) G  for the products G(:, k) = (K_k dual)_F with the
// curved samples F, and
//   S = K_FF + 1 / D    of a loss with the second derivatives D,
//   S = K_FF + shift    of a piecewise linear loss, whose dual moves so that the scores of
//                       its free samples stay where they are.
// Of a kernel with explicit features only matrices of their number are formed. Nothing when S is
// not positive definite in floating point. Errors: kCancelled.
absl::StatusOr<std::optional<Matrix>> WeightHessian(const KernelOperator& kernel,
                                                    const CurvedSamples& samples,
                                                    const Matrix& products, RunContext& context);

}  // namespace mercer
