// Which options go together: solvers, loops and losses, and where landmarks come from.
#pragma once

#include "absl/status/status.h"

#include "core/learners/lp_mkl/options.h"

namespace mercer::lp_mkl {

// What options can contradict without any data. Errors: kInvalidArgument naming the field
// "inner_solver", "outer_loop" or "own_landmarks".
absl::Status CheckCombinations(const LpMklOptions& options);

}  // namespace mercer::lp_mkl
