// The certificate of the machine on the kept columns, recomputed from the data.
#pragma once

#include "core/learners/svm_rfe/options.h"
#include "core/training/contract/learner_entry.h"

namespace mercer::svm_rfe {

// Bounds of the sum over the outputs of
//   min_{w, b}  1/2 |w|^2 + C sum_i c_i max(0, 1 - y_i (w'x_i + b)),  x_i row i on kept columns:
//   primal  its value at the weights and the bias of the witness
//   dual    the largest value of y'a - 1/2 |sum_i a_i x_i|^2 on the ray through the dual of the
//   witness made feasible
// The kept columns are those that the witness names: that they are the right ones is the method's
// choice, which no bound is about. Errors: kFailedPrecondition (the witness is not of these rows
// and columns), kCancelled.
Verifier<SvmRfeOptions> Verify;

}  // namespace mercer::svm_rfe
