// The divide and conquer of symmetric_eigen.h.
#pragma once

#include "absl/status/statusor.h"

#include "core/base/numeric/types.h"
#include "core/base/process/run_context.h"

namespace mercer {

struct TridiagonalEigen {
  Vector values;  // in no order
  Matrix vectors;
};

// Decomposes the symmetric matrix with this diagonal and, one shorter, this subdiagonal; magnitudes
// of about 1 at most. Errors: kCancelled, kInternal (no convergence).
absl::StatusOr<TridiagonalEigen> DecomposeTridiagonal(Vector diagonal, const Vector& subdiagonal,
                                                      const RunContext& context);

}  // namespace mercer
