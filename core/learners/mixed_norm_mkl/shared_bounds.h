// The certificate of machines that share the weights of their kernels, recomputed from the data.
#pragma once

#include "absl/status/statusor.h"

#include "core/base/process/run_context.h"
#include "core/kernels/gram/kernel_family.h"
#include "core/objectives/loss.h"
#include "core/training/contract/learner.h"
#include "core/training/contract/problem.h"
#include "core/training/model/witness.h"
#include "core/training/run/kernel_point_bounds.h"

namespace mercer::mixed_norm_mkl {

// Bounds of
//   min_{f, b}  1/2 |f|^2 + C sum_o sum_i c_i l(y_io, f_o(x_i) + b_o),   |f_k|^2 = sum_o |f_ko|^2,
// i over the rows that the output o sees, at f_ko = weights(k) K_k dual(:, o): of a problem of several
// outputs, with dual, biases and arrays of the witness as those of one output have them, a column for
// each. The lower dual is made feasible, output by output. Errors: kFailedPrecondition (weights
// missing or negative, duals of other rows), kInvalidArgument (reason NOT_PSD), kCancelled.
absl::StatusOr<Verification> BoundSharedPoint(const KernelNorms& norms, const Loss& loss, double C,
                                              const TrainingProblem& problem,
                                              const Witness& witness, const KernelFamily& family,
                                              RunContext& context);

}  // namespace mercer::mixed_norm_mkl
