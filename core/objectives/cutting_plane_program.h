// The linear program of cutting planes on the simplex: planes lie above a concave function, whose
// maximum is sought where the least of them is largest.
//
//   max gamma  over gamma and beta >= 0 of the sum 1,  gamma <= sum_l beta_l planes(l, t) for all t
//
// Its dual has a multiplier lambda_t >= 0 of each plane, of the sum 1: min of max_l (planes
// lambda)_l. A plane c + beta's has the entries c + s_l, its values at the corners.
//
// Method       COIN-OR Clp's simplex method from the best corner, among few corners; those that its
//              multipliers call for follow until there are none.
#pragma once

#include <optional>

#include "absl/status/statusor.h"

#include "core/base/numeric/types.h"
#include "core/base/process/run_context.h"

namespace mercer {

// A program of more corners is given up: its solution has at most one more than there are planes.
inline constexpr Index kMostCorners = 1000;

struct CuttingPlaneMaximum {
  Vector point;        // beta
  Vector multipliers;  // lambda
  double bound = 0;    // max_l (planes lambda)_l: gamma is at most that, whatever the rounding
};

// Of at least one plane and one corner; depends on the planes alone, bit by bit. Nothing when
// entries are not finite, rounding has spoilt the method or it takes too long. Errors: kCancelled, kResourceExhausted.
absl::StatusOr<std::optional<CuttingPlaneMaximum>> MaximizeUnderPlanes(const ConstMatrixRef& planes,
                                                                       const RunContext& context);

}  // namespace mercer
