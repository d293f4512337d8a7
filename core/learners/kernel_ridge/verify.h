// The certificate of the learner `kernel_ridge`, recomputed by code of its own.
#pragma once

#include "core/learners/kernel_ridge/options.h"
#include "core/training/contract/learner_entry.h"

namespace mercer::kernel_ridge {

// Bounds at f = sum_i dual(i) K(x_i, .), K the sum of the kernels, with the bias b of the witness.
// With a = dual, made of sum 0:
//   primal  lambda/2 dual'K dual + sum_i c_i (y_i - f(x_i) - b)^2
//   dual    lambda (y'a - 1/2 a'Ka - sum_i lambda a_i^2 / (4 c_i))
// A row of cost 0 has a_i = 0 in the dual. Errors: kFailedPrecondition (the witness is not of these
// rows), kInvalidArgument (data), kCancelled.
Verifier<KernelRidgeOptions> Verify;

}  // namespace mercer::kernel_ridge
