// The certificate of the learner `csi`, recomputed from the data.
#pragma once

#include "core/learners/csi/options.h"
#include "core/training/contract/learner_entry.h"

namespace mercer::csi {

// Bounds of the problem of csi.h given the pivots I of the witness, at
// f = sum_{p in I} a_p K(x_p, .) + b for its coefficients a and biases b, and at its dual variables
// u, made feasible; with K_I the columns of the pivots, K_II = L L' their rows, G = K_I L^-T and
// w = L'a:
//
//   primal  lambda/2 |w|^2 + sum_i c_i l(y_i, (G w)_i + b)
//   dual    -sum_i conjugate_i(-lambda u_i) - lambda/2 |G'u|^2,  sum_i u_i = 0,
//           at its best multiple
//
// summed over the outputs. Metrics: csi.pivots, and csi.criterion (J of core/kernels/lowrank/csi.h,
// as the run says). Errors: kFailedPrecondition with reason WITNESS_MISMATCH; those of the kernels;
// kCancelled.
Verifier<CsiLearnerOptions> Verify;

}  // namespace mercer::csi
