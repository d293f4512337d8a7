// Targets of regressions in a unit of their own, so that C, epsilon and lambda do not depend on the
// user's (docs/mathematics/README.md, section 6).
//
// A learner sees z = (y - m) / s of the targets y: m is their mean over the rows of a task, s their
// deviation from it, over all tasks, both weighted by the costs. Of the function g that it finds,
// the model's is f = m + s g. Of the objective J that g minimises, s^2 J is one that f minimises,
// in the user's unit:
//
//   square loss                s^2 [1/2 |g|^2 + C sum_i c_i (z_i - g_i)^2]
//                              = 1/2 |f - m|^2 + C sum_i c_i (y_i - f_i)^2
//   epsilon-insensitive loss   s^2 [1/2 |g|^2 + C sum_i c_i l_epsilon(z_i - g_i)]
//                              = 1/2 |f - m|^2 + C s sum_i c_i l_(s epsilon)(y_i - f_i)
//   penalties that are norms   s^2 lambda |w|  =  lambda s |s w|
//
// |.| is the norm of functions without their bias, which m is a part of. So bounds of J are those
// of s^2 J when they are multiplied by s^2, and a relative gap is the same in both units. One s for
// all tasks keeps that true where they share a penalty.
#pragma once

#include "core/training/contract/learner.h"
#include "core/training/contract/problem.h"
#include "core/training/model/certificate.h"

namespace mercer {

// Gives the targets of `problem` mean 0 and deviation 1, and problem.unit what they were; rows of
// cost 0 have no say. Where all targets of a task are equal they become 0, exactly; without any
// deviation, or one below 1e-150, s is 1. Targets times a power of two become the same numbers, bit
// for bit. Targets that are not numbers, or beyond 1e150, leave all as it is. Requires one output,
// costs >= 0.
void StandardizeTargets(TrainingProblem& problem);

// Takes values, functions and certificates from the learner's unit to the user's. By the identity
// nothing changes, not a bit.
void ToUserUnit(const TargetUnit& unit,
                TrainedPoint& point);  // not its witness, which is of the learner's problem
void ToUserUnit(const TargetUnit& unit, Certificate& certificate);
void ToUserUnit(const TargetUnit& unit, StepReport& report);

}  // namespace mercer
