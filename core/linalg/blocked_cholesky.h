// Cholesky factors in panels small enough that no single call of the linear algebra library is
// long: cancellation is checked between panels' tiles, tiles run in parallel, and their bounds
// depend on the size only.
#pragma once

#include "absl/status/status.h"

#include "core/base/numeric/types.h"
#include "core/base/process/run_context.h"

namespace mercer {

// Overwrites the lower triangle of the symmetric n x n matrix `a`, the only part read, with L,
// A = L L'; the strict upper triangle keeps its values. Errors: kInvalidArgument when A is not
// positive definite in double precision, kCancelled; both leave `a` damaged.
absl::Status FactorCholesky(MatrixRef a, RunContext& context);

// Solves A x = b in place, for columns of n entries, from the factor of FactorCholesky. Errors:
// kCancelled.
absl::Status SolveCholesky(const ConstMatrixRef& factor, MatrixRef x, RunContext& context);

// Makes x <- x L^{-T}, for rows of n entries, from the factor of FactorCholesky. Errors:
// kCancelled.
absl::Status SubstituteRows(const ConstMatrixRef& factor, MatrixRef x, RunContext& context);

}  // namespace mercer
