// Recomputes the bounds of a trained model of coordinate_gradients.
#pragma once

#include "absl/status/statusor.h"

#include "core/base/process/run_context.h"
#include "core/learners/coordinate_gradients/options.h"
#include "core/training/contract/learner.h"

namespace mercer::coordinate_gradients {

// Errors: kFailedPrecondition with reason WITNESS_MISMATCH, kInvalidArgument with reason NOT_PSD,
// kCancelled.
absl::StatusOr<Verification> Verify(const CoordinateGradientsOptions& options,
                                    const TrainingProblem& problem, const Witness& witness,
                                    RunContext& context);

}  // namespace mercer::coordinate_gradients
