// The certificate of jointly sparse machines, recomputed from the data.
#pragma once

#include "absl/status/statusor.h"

#include "core/learners/sparse_multitask_svm/options.h"
#include "core/training/contract/learner.h"
#include "core/training/contract/problem.h"
#include "core/training/model/witness.h"

namespace mercer::sparse_multitask_svm {

// Bounds at the function f_tk = weights(t, k) K_tk dual_t of the witness with its biases, and at its
// lower dual, which is made feasible. Columns are read row by row; other kernels are made anew. For
// p < 1 the array "smoothing" of the witness says the penalty, and the certificate is one of
// stationarity: its bounds differ by the gap of the convex problem that touches at the function.
// Errors: kFailedPrecondition (the witness is not of these rows and kernels), those of kernels,
// kCancelled.
absl::StatusOr<Verification> Verify(const SparseMultitaskSvmOptions& options,
                                    const TrainingProblem& problem, const Witness& witness,
                                    RunContext& context);

}  // namespace mercer::sparse_multitask_svm
