// The option `loss`, and which solvers and loops are for which losses.
#pragma once

#include <memory>

#include "absl/status/statusor.h"

#include "core/learners/lp_mkl/options.h"
#include "core/objectives/loss.h"
#include "core/training/contract/problem.h"

namespace mercer::lp_mkl {

// The loss that the options ask for; auto: hinge for classes, epsilon-insensitive for numbers.
// Errors: kInvalidArgument naming the field "loss" when it is not one for such targets.
absl::StatusOr<std::unique_ptr<Loss>> MakeChosenLoss(const LpMklOptions& options, TargetKind kind);

// Whether the choice is a loss with a curvature: solved by Newton's method on the primal, never by
// pair steps.
bool IsCurved(LossChoice choice);

// What options can contradict without any data. Errors: kInvalidArgument naming the field
// "inner_solver" or "outer_loop".
absl::Status CheckLossAndSolver(const LpMklOptions& options);

}  // namespace mercer::lp_mkl
