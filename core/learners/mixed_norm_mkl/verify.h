// The certificate of mixed-norm multiple kernel learning, recomputed from the data.
#pragma once

#include "absl/status/statusor.h"

#include "core/base/process/run_context.h"
#include "core/learners/mixed_norm_mkl/options.h"
#include "core/training/contract/learner.h"
#include "core/training/contract/problem.h"
#include "core/training/model/witness.h"

namespace mercer::mixed_norm_mkl {

// Bounds of
//   min_{f, b}  1/2 max_j (sum_{k in j} |f_k|)^2 + C sum_i c_i l(y_i, f(x_i) + b)
// (of the other regularizations: mixed_norm_mkl.h) at f_k = weights(k) K_k dual, with dual and bias
// of the witness and any weights >= 0, those of its array "weights"; the lower bound is that of its
// array "lower_dual", or of the dual. Kernels are evaluated anew in double; the lower dual is made
// feasible, and all kernels count in its bound. Errors:
// kFailedPrecondition (weights missing or negative), kInvalidArgument (reason NOT_PSD), kCancelled.
absl::StatusOr<Verification> Verify(const MixedNormMklOptions& options,
                                    const TrainingProblem& problem, const Witness& witness,
                                    RunContext& context);

}  // namespace mercer::mixed_norm_mkl
