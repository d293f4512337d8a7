// What the methods of pair_solver.h share: min 1/2 a'H a - 1'a on a box, H = yy' o Q + diag(ridge).
#pragma once

#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "core/base/numeric/types.h"
#include "core/base/process/run_context.h"
#include "core/solvers/gradients/pair_kernel.h"

namespace mercer {

struct BoxDual {
  const PairKernel& kernel;  // must outlive this
  Vector signs;              // y
  Vector ridge;
  Vector bounds;  // may be infinite

  Index size() const { return signs.size(); }
  Vector Clip(const Vector& a) const { return a.cwiseMax(0.0).cwiseMin(bounds); }
  double Scale(Index p) const { return bounds(p) < kInfinity ? bounds(p) : 1.0; }
};

struct BoxPoint {
  Vector a;
  Vector gradient;  // H a - 1
  double value = 0;
  double gap = kInfinity;  // relative, of the machine with this ridge
};

// Errors of all: kCancelled.
absl::StatusOr<BoxPoint> EvaluateBox(const BoxDual& box, Vector a, RunContext& context);
// Those that are not at a bound which the gradient holds them at.
std::vector<Index> FreeVariables(const BoxDual& box, const BoxPoint& point);
// Newton steps; `point` only improves. True when it is solved to rounding.
absl::StatusOr<bool> ImproveByNewton(const BoxDual& box, int most_steps, BoxPoint& point,
                                     int& steps, RunContext& context);
// The interior point, its end moved to bounds. Of at most kMostFactoredPairs variables.
absl::StatusOr<Vector> SolveByInteriorPoint(const BoxDual& box, int& steps, RunContext& context);

}  // namespace mercer
