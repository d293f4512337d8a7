// The dual of a machine with a fixed kernel of pairs,
//
//   max  sum_p -conjugate_p(-v_p) - 1/2 sum_p smoothing v_p^2 / c_p - 1/2 v'Q v,
//
// v_p the signed dual variables, c_p their costs: a linear system for the square loss, for the
// hinge losses a quadratic function of a_p = y_p v_p on a box, 0 <= a_p <= c_p or 0 <= a_p.
//
// Method       Boxes: Newton's method on the variables that are not at a bound, with a search along
//              the projected path; where that ends early (Q may be singular) Mehrotra's interior
//              point, from whose end variables are moved to their bounds, and Newton's method
//              again.
// Source       docs/mathematics: learning gradients with coordinate weights.
#pragma once

#include <vector>

#include "absl/status/statusor.h"

#include "core/base/numeric/types.h"
#include "core/base/process/run_context.h"
#include "core/objectives/loss.h"
#include "core/solvers/gradients/gradient_problem.h"
#include "core/solvers/gradients/pair_kernel.h"

namespace mercer {

// Pairs, or rows, with a kernel between them.
struct PairMachine {
  const Loss& loss;  // square, hinge or squared hinge; must outlive this
  Vector targets;
  Vector costs;          // > 0
  double smoothing = 0;  // of the hinge
  // Of the diagonal that the dual adds to Q: 1 / (2 c) of the losses with a curvature.
  Vector Ridge() const;
};

// The machine of rows that is left where all pairs of a target have the same prediction, as those of
// a linear function with its own gradient, w'x_j + w'(x_i - x_j) = w'x_i: each row at the costs of
// its pairs. Every row must be a target.
PairMachine CollapsedMachine(const GradientProblem& problem, const Vector& targets);

struct PairSolution {
  Vector dual;
  std::vector<Index> free;  // the variables that are at no bound
  double value = 0;         // of the dual, the smoothing included
  double gap = kInfinity;   // of this machine, relative
  int steps = 0;            // factorisations, or products of a linear system
};

// From `start` (of any values; empty: 0). To the precision of double arithmetic, as far as it
// goes: `gap` tells. Errors: kCancelled.
absl::StatusOr<PairSolution> SolvePairs(const PairMachine& machine, const PairKernel& kernel,
                                        const Vector& start, RunContext& context);

// Coordinate descent on the box, of hinge losses and a kernel that is formed: some sweeps come
// near the solution, many are needed to reach it.
absl::StatusOr<Vector> SweepPairs(const PairMachine& machine, const PairKernel& kernel,
                                  const Vector& start, int sweeps, RunContext& context);

// Of any dual, which is made feasible, with bounds from the data alone (smoothing does not count).
struct MachinePoint {
  Vector dual;
  Vector predictions;
  double norm = 0;  // |F|^2
  double upper = kInfinity;
  double lower = -kInfinity;
};
absl::StatusOr<MachinePoint> EvaluateMachine(const PairMachine& machine, const PairKernel& kernel,
                                             Vector dual, RunContext& context);

}  // namespace mercer
