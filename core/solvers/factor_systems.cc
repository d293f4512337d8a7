#include "core/solvers/factor_systems.h"

#include <algorithm>

#include "core/base/status_macros.h"
#include "core/kernels/blocked_cholesky.h"

namespace mercer {

absl::Status ReduceDual(const FactoredKernel& kernel, const Vector& dual, Vector& reduced,
                        RunContext& context) {
  Vector of_rows(kernel.rows.cols());
  MERCER_RETURN_IF_ERROR(kernel.rows.MultiplyTransposed(dual, of_rows, context));
  reduced = kernel.root.triangularView<Eigen::Lower>().transpose() * of_rows;
  return absl::OkStatus();
}

absl::Status ScoreSamples(const FactoredKernel& kernel, const Vector& coefficients, Vector& scores,
                          RunContext& context) {
  const Vector of_rows = kernel.root.triangularView<Eigen::Lower>() * coefficients;
  scores.resize(kernel.rows.rows());
  return kernel.rows.Multiply(of_rows, scores, context);
}

absl::Status FactorShifted(Matrix& system, RunContext& context) {
  const Matrix unshifted = system;
  const double rounding = 1e-15 * unshifted.diagonal().cwiseAbs().sum();
  absl::Status factored = absl::OkStatus();
  double shift = 1.0;
  for (int trial = 0; trial < 6; ++trial, shift = 100.0 * std::max(shift, rounding)) {
    system = unshifted;
    system.diagonal().array() += shift;
    factored = FactorCholesky(system, context);
    if (factored.ok() || absl::IsCancelled(factored)) {
      break;
    }
  }
  return factored;
}

}  // namespace mercer
