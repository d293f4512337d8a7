// What makes a certificate trustworthy: the bounds are recomputed from the data and the witness by
// the learner's verifier, and the function that is stored is shown to be the one that the bounds
// are about.
#pragma once

#include <functional>

#include "absl/status/statusor.h"

#include "core/base/process/run_context.h"
#include "core/objectives/loss.h"
#include "core/training/contract/learner.h"

namespace mercer {

// The stage whose fraction says how many of the outputs are verified, where each is a run of its own.
inline constexpr char kOutputsStage[] = "outputs";

// Recomputes the certificate of `witness`, in the user's unit: with one output by the learner's own
// verifier, with several the sum of those of the parts. Errors: kFailedPrecondition (the witness
// does not fit the problem), those of the verifier, kCancelled.
absl::StatusOr<Certificate> VerifyWitness(const LearnerEntry& entry, const OptionValues& options,
                                          const TrainingProblem& problem, const Witness& witness,
                                          RunContext& context);

// The function of a model is compared with that of its witness at so many training rows, spread
// evenly (all, when there are no more), and may differ by so much of the size of the terms that it
// sums (Verification::scale).
inline constexpr Index kComparedRows = 512;
inline constexpr double kFunctionTolerance = 1e-10;

struct VerifiedFunction {
  Certificate certificate;
  std::vector<Metric> metrics;  // of the verifier: for every name the largest value of an output
};

// Does VerifyWitness, and checks that `function`, which is in the user's unit, is what the witness
// defines. So many outputs that are runs of their own are verified side by side; what is found does
// not depend on it. Errors: also kFailedPrecondition with reason WITNESS_MISMATCH.
absl::StatusOr<VerifiedFunction> VerifyFunction(const LearnerEntry& entry,
                                                const OptionValues& options,
                                                const TrainingProblem& problem,
                                                const ModelFunction& function,
                                                const Witness& witness, RunContext& context,
                                                Index parts_at_once = 1);

// For verifiers, which share nothing with the solvers: the largest value of
// scale linear - scale^2/2 quadratic over 0 <= scale <= largest, at least 0 (at scale 0). `largest`
// may be infinite when `quadratic` is positive or `linear` is 0.
double BestValueOnRay(double linear, double quadratic, double largest);
// The same for any concave function that is 0 at 0, over scales up to `largest` and at most 4.
// Never less than the value at 1, to rounding, when that is inside. Errors: kCancelled; `value_at`
// may then return what it likes.
absl::StatusOr<double> BestConcaveValueOnRay(const std::function<double(double)>& value_at,
                                             double largest, const RunContext& context);
// The largest multiple of `dual` inside the boxes of `loss`; infinite for the zero vector.
double LargestScaleInBox(const Loss& loss, ConstVectorRef targets, ConstVectorRef costs,
                         ConstVectorRef dual);

}  // namespace mercer
