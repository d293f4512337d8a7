// The certificate of the learner `ikl`, recomputed from the data.
#pragma once

#include "core/learners/ikl/options.h"
#include "core/training/contract/learner_entry.h"

namespace mercer::ikl {

// Bounds of the problem of ikl.h over the bandwidths s_m that the witness lists, at
// f = sum_m weights(m) K_m dual + bias, weights >= 0 of sum 1, and at the dual, made feasible:
//   primal  1/2 sum_m weights(m) dual'K_m dual + C sum_i c_i max(0, 1 - y_i f(x_i))
//   dual    y'dual - 1/2 max_m dual'K_m dual, at its best multiple
// Metrics: ikl.kernels, the bandwidths of weight > 0; ikl.family_dual, the same bound with the
// maximum over a fine grid of the interval as well, a bound of the optimum over all its bandwidths
// as far as such a grid can tell; ikl.family_gap, the relative gap of the primal value to it;
// ikl.min_bandwidth, ikl.max_bandwidth, the interval; ikl.searches, ikl.search_end. Errors:
// kFailedPrecondition with reason WITNESS_MISMATCH, kCancelled.
Verifier<IklOptions> Verify;

}  // namespace mercer::ikl
