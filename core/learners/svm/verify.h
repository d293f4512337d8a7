// The certificate of the learner `svm`, recomputed from the data.
#pragma once

#include "core/learners/svm/options.h"
#include "core/training/contract/learner_entry.h"

namespace mercer::svm {

// Bounds at f = sum_i dual(i) K(x_i, .), K the sum of the kernels, with the bias b of the witness:
//   primal  1/2 dual'K dual + sum_i C c_i l(y_i, f(x_i) + b)
//   dual    the largest value of y'a - epsilon |a|_1 - 1/2 a'Ka on the ray through the dual made
//   feasible
// Written for itself: of the solver's it reads the formed kernel matrix alone, while the run holds
// it. Errors: kFailedPrecondition (the witness is not of these rows), kInvalidArgument (data,
// NOT_PSD), kCancelled.
Verifier<SvmOptions> Verify;

}  // namespace mercer::svm
