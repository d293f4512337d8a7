// Problem      min_{f, b} 1/2 |f|^2 + sum_i c(i) (y(i) - f(x_i) - b)^2, several outputs y at once
// Solution     f = sum_i dual(i) k(x_i, .), dual = 2 c (y - f - b), hence
//              (K + diag(1 / (2 c))) dual + b 1 = y  and  1'dual = 0;  without bias b = 0 and no
//              condition on the sum. Cholesky factor of the n x n matrix, refined by exact
//              residuals. docs/mathematics/kernel_ridge.md, section 2.
// Guarantees   A certificate per output: CertifySvm with the square loss.
// Cost         n^3 / 3 operations once, n^2 per output; one n x n matrix besides the kernel.
// In the usual form sum (y - f - b)^2 + lambda |f|^2 take c = 1 / (2 lambda).
#pragma once

#include <vector>

#include "absl/status/statusor.h"

#include "core/base/numeric/types.h"
#include "core/base/process/run_context.h"
#include "core/kernels/gram/kernel_operator.h"
#include "core/solvers/svm/svm_certificate.h"

namespace mercer {

struct RidgeSolution {
  Matrix dual;                               // n x outputs
  Vector bias;                               // outputs
  Matrix scores;                             // K dual, without bias
  std::vector<SvmCertificate> certificates;  // per output
};

// `targets` is n x outputs, `costs` of size n, >= 0; samples of cost 0 are left out (dual 0).
// Errors: kInvalidArgument (sizes, values not finite, no cost > 0, kernel not positive
// semidefinite), kCancelled.
absl::StatusOr<RidgeSolution> SolveKernelRidge(const KernelOperator& kernel, ConstMatrixRef targets,
                                               ConstVectorRef costs, bool with_bias,
                                               RunContext& context);

}  // namespace mercer
