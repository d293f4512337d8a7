// New kernel weights from the solution of the SVM of the present ones (docs/mathematics/lp_mkl.md,
// sections 2 to 4).
#pragma once

#include <vector>

#include "absl/status/statusor.h"

#include "core/base/numeric/types.h"
#include "core/base/process/run_context.h"
#include "core/kernels/gram/kernel_family.h"
#include "core/kernels/gram/kernel_operator.h"
#include "core/solvers/svm/curved_samples.h"

namespace mercer {

struct WeightStepInput {
  const KernelFamily& family;
  const KernelOperator& kernel;  // of the present weights
  double p;
  const Vector& weights;
  const Vector& dual;
  const Vector& energies;       // of all kernels
  const CurvedSamples& curved;  // where the optimum has a curvature
};

// The weights that belong to the norms weights(k) sqrt(energies(k)): the exact minimiser for the
// present function.
Vector ClosedFormStep(const WeightStepInput& input);
// A longer step with the same fixed point, OverRelaxedWeights(). At p = 1 kernels of weight 0 come
// back when their energy exceeds that of every kernel with a weight, and those of hardly any weight
// leave when their energy is below 0.9 of the largest.
Vector OverRelaxedStep(const WeightStepInput& input);
// The minimiser of the second-order model whose Hessian the curved samples give (weight_hessian.h).
// At p = 1 over the kernels of weight > 0 and those whose energy exceeds theirs. Falls back to
// OverRelaxedStep when there are fewer than two such samples or more than kMaxModelKernels kernels.
// Errors: kCancelled.
absl::StatusOr<Vector> NewtonStep(const WeightStepInput& input, RunContext& context);

inline constexpr size_t kMaxModelKernels = 256;

}  // namespace mercer
