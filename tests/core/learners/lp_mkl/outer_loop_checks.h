// What holds of every outer loop that moves dual and weights together, and problems to show it on.
#pragma once

#include <string>
#include <vector>

#include "tests/core/learners/lp_mkl/lp_mkl_problems.h"

namespace mercer::lp_mkl {

// Gaussian kernels of these widths on two clouds in three dimensions; regression of a smooth function of theirs.
TrainingProblem CloudsOfKind(Index rows, TargetKind kind, const std::vector<double>& widths,
                             uint64_t seed);

// The name of the case for messages.
std::string NormAndCost(double p, double C);
// Both runs reached the gap, each one's lower bound being below the other's upper one up to `rounding`.
void ExpectSameOptimum(const Fit& fit, const Fit& reference, double gap, double rounding,
                       const std::string& what);

// A run that is saved and restored before each of its steps, on other threads, has the states of one that is not.
void ExpectSameBitsAfterEveryStep(const TrainingProblem& problem, const OptionValues& options,
                                  int steps);
// A first step that is cancelled leaves the state before it, and no model; the next one goes on.
void ExpectCancelledStepLeavesTheStateBeforeIt(const TrainingProblem& problem,
                                               const OptionValues& options);
// Each of `refused`, in the place of the same options of `loop`, is refused by a violation of outer_loop alone.
void ExpectRefusedByName(const OptionValues& loop, const std::vector<OptionValues>& refused);
// Parts of a state, more than a state, other bytes, and the states of another loop are kDataLoss.
void ExpectDamagedStatesAreDataLoss(const TrainingProblem& problem, const OptionValues& options,
                                    const OptionValues& other_loop);

}  // namespace mercer::lp_mkl
