// Which solvers and loops are for which losses.
#pragma once

#include "absl/status/status.h"

#include "core/learners/lp_mkl/options.h"

namespace mercer::lp_mkl {

// What options can contradict without any data. Errors: kInvalidArgument naming the field
// "inner_solver" or "outer_loop".
absl::Status CheckLossAndSolver(const LpMklOptions& options);

}  // namespace mercer::lp_mkl
