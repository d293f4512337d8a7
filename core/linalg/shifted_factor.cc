#include "core/linalg/shifted_factor.h"

#include <algorithm>

#include "core/base/status/status_macros.h"
#include "core/linalg/blocked_cholesky.h"

namespace mercer {

absl::Status FactorShifted(Matrix& system, RunContext& context) {
  const Matrix unshifted = system;
  const auto copy = [&](Matrix& formed) {
    formed = unshifted;
    return absl::OkStatus();
  };
  return FactorShifted(copy, system, context);
}

absl::Status FactorShifted(const std::function<absl::Status(Matrix&)>& form, Matrix& system,
                           RunContext& context) {
  absl::Status factored = absl::OkStatus();
  double shift = 1.0;
  for (int trial = 0; trial < 6; ++trial) {
    MERCER_RETURN_IF_ERROR(form(system));
    const double rounding = 1e-15 * system.diagonal().cwiseAbs().sum();
    system.diagonal().array() += shift;
    factored = FactorCholesky(system, context);
    if (factored.ok() || absl::IsCancelled(factored)) {
      break;
    }
    shift = 100.0 * std::max(shift, rounding);
  }
  return factored;
}

}  // namespace mercer
