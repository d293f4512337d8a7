#include "core/solvers/factor/factor_systems.h"

#include "core/base/status/status_macros.h"

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

}  // namespace mercer
