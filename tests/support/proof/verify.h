// The certificate of the learner of the proof, recomputed from the data.
#pragma once

#include "absl/status/statusor.h"

#include "core/training/contract/learner.h"
#include "tests/support/proof/options.h"

namespace mercer::pair_ridge {

// Bounds of the problem of pair_ridge.cc at the dual variables a of the witness, which are those of
// its coefficients of pairs, and at its biases:
//   primal  1/2 a'Ka + C sum_i c_i (y_i - (Ka)_i - b_t(i))^2
//   dual    a'y - 1/2 a'Ka - sum_i a_i^2 / (4 C c_i)
// The sum of a is 0 in every task, as the dual asks for. Errors: kFailedPrecondition (the witness
// is not of these pairs), kCancelled.
absl::StatusOr<Verification> Verify(const PairRidgeOptions& options, const TrainingProblem& problem,
                                    const Witness& witness, RunContext& context);

}  // namespace mercer::pair_ridge
