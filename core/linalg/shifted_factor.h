// Cholesky factors of matrices that are positive definite but for rounding.
#pragma once

#include <functional>

#include "absl/status/status.h"

#include "core/base/numeric/types.h"
#include "core/base/process/run_context.h"

namespace mercer {

// The factor of I + system, whose lower triangle is read. Large entries make rounding larger than
// I: then with a larger diagonal, which leaves a Newton direction one of descent. Errors:
// kInvalidArgument when even that does not help, kCancelled.
absl::Status FactorShifted(Matrix& system, RunContext& context);
// The same of a matrix that is not copied: `form` makes its lower triangle in `system`, anew for
// every diagonal. Errors: also those of `form`.
absl::Status FactorShifted(const std::function<absl::Status(Matrix&)>& form, Matrix& system,
                           RunContext& context);

}  // namespace mercer
