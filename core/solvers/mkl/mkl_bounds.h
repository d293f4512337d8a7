// Bounds of the optimum of multiple kernel learning at one point: docs/mathematics/lp_mkl.md,
// section 6.
#pragma once

#include <vector>

#include "absl/status/statusor.h"

#include "core/base/numeric/types.h"
#include "core/base/process/run_context.h"
#include "core/objectives/loss.h"
#include "core/objectives/weight_regularizer.h"

namespace mercer {

// The samples of one of several machines that share the weights.
struct SampleRange {
  Index first = 0;
  Index size = 0;
};

// A point and what the kernels say about it. `dual` is feasible.
struct PointView {
  const Loss& loss;
  const Vector& targets;
  const Vector& costs;
  const WeightRegularizer& regularizer;
  const Vector& weights;
  const Vector& dual;
  const Vector& energies;     // dual'K_k dual of every kernel, also of those with weight 0
  const Vector& scores;       // sum_k weights(k) K_k dual
  double function_scale = 1;  // another multiple of the function to try
  // The machines, each with a bias of its own; empty: one of all samples. Energies are sums over
  // them.
  std::vector<SampleRange> machines = {};
  // sum over machines of |f_k|^2 / weights(k)^2 where the function is not that of the dual; empty:
  // the energies.
  Vector function_energies = {};
};

struct PointBounds {
  double primal = kInfinity;
  double dual = -kInfinity;
  double dual_scale = 1;  // the multiple of the dual that attains the lower bound
  // The multiple of the function that attains the upper bound: 1, PointView::function_scale, or for
  // a regulariser with maximisers the best one of the function with the bias found before.
  double function_scale = 1;
  double bias = 0;     // for that function
  Vector biases = {};  // of each machine
  // 1/2 (support - weights'energies) >= 0: the part of the gap that is due to the weights; and
  // where some of them maximise 1/2 (|f|^2 - weights'energies), if that is above 0.
  double weight_gap = 0;

  // (primal - dual) / max(|primal|, |dual|, 1e-300).
  double RelativeGap() const;
};

// Upper bound, of the best of a few multiples of the function: 1/2 |f|^2 + risk at the best bias,
// |f_k| = weights(k) sqrt(energies(k)). Lower bound: that of the dual on the ray through `dual`.
// Errors: kCancelled.
absl::StatusOr<PointBounds> BoundPoint(const PointView& point, const RunContext& context);

}  // namespace mercer
