// The certificate of lp-norm multiple kernel learning, recomputed from the data.
#pragma once

#include "core/learners/lp_mkl/options.h"
#include "core/training/contract/learner_entry.h"

namespace mercer::lp_mkl {

// Bounds of
//   min_{f, b, d >= 0, |d|_p <= 1}  1/2 sum_k |f_k|^2 / d_k + C sum_i c_i l(y_i, f(x_i) + b)
// at f_k = d_k K_k dual, with the dual and bias of the witness and d from its array "weights":
// docs/mathematics/lp_mkl.md, section 6. Kernels are evaluated anew in double, but for kernels of
// low rank that the cache holds; the dual is made feasible for the lower bound. Errors:
// kFailedPrecondition (weights missing, negative or outside the ball), kCancelled.
//
// Metrics of kernels of low rank: low_rank.joint_rank, low_rank.dropped_share
// (LowRankKernelFamily), and with exact_certificate exact_kernels.relative_gap,
// exact_kernels.value_difference and, for p > 1, exact_kernels.relative_distance.
Verifier<LpMklOptions> Verify;

}  // namespace mercer::lp_mkl
