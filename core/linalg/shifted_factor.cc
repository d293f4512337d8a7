#include "core/linalg/shifted_factor.h"

#include <algorithm>

#include "core/linalg/blocked_cholesky.h"

namespace mercer {

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
