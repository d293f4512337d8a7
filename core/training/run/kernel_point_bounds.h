// For verifiers of learners that learn weights of kernels: bounds of
//
//   min_f 1/2 |f|^2 + sum_i costs(i) l(targets(i), f(x_i) + b),   f = sum_k f_k,
//
// or of another growing function of |f| in place of half its square,
//
// at f_k = weights(k) K_k dual, recomputed from kernels and dual alone; it shares nothing with the
// solvers. A learner says its norm by norms(k) = |f_k|, and the dual one by energies(k) = a'K_k a.
#pragma once

#include <functional>
#include <vector>

#include "absl/status/statusor.h"

#include "core/base/process/run_context.h"
#include "core/kernels/gram/kernel_family.h"
#include "core/objectives/loss.h"
#include "core/training/contract/problem.h"
#include "core/training/model/certificate.h"
#include "core/training/model/witness.h"

namespace mercer {

struct WeightedKernelPoint {
  Vector targets;
  Vector costs;
  Vector weights;
  Vector dual;
  double bias = 0;
  Vector lower_dual = {};  // where the lower bound is taken; empty: at `dual`
};

// The array "weights" of the witness. Errors: kFailedPrecondition when it holds no weights >= 0 of
// these kernels.
absl::StatusOr<Vector> ReadKernelWeights(const TrainingProblem& problem, const Witness& witness);

// Reads dual, bias, the array "weights" and, if there is one, "lower_dual" of the witness; costs
// are those of the task times C. Errors: kFailedPrecondition when the witness is not of these rows,
// holds no weights >= 0 of these kernels, or another dual that is not of these rows.
absl::StatusOr<WeightedKernelPoint> ReadWeightedKernelPoint(const TrainingProblem& problem,
                                                            double C, const Witness& witness);

// An energy below -1e-8 a'a max_i K_k(i, i) is no rounding: the matrix is no kernel, and the bounds
// would mean nothing (docs/mathematics/README.md, section 3). energies(k, j) = a_j'K_k a_j for the
// columns a_j of `duals`. Errors: kInvalidArgument with reason NOT_PSD, kCancelled.
absl::Status CheckEnergies(const KernelFamily& family, const std::vector<KernelSpec>& kernels,
                           const Matrix& duals, const Matrix& energies, RunContext& context);

struct KernelNorms {
  std::function<double(const Vector& norms)> half_squared_norm;
  std::function<double(const Vector& energies)> support;  // the squared dual norm
  // What the dual objective takes away at a dual of this squared norm, a convex function that grows;
  // null: half of it.
  std::function<double(double support)> dual_cost = nullptr;
};

struct BoundedKernelPoint {
  Certificate certificate;
  Vector scores;  // at the training rows, without the bias
  double half_squared_norm = 0;
};

// The upper bound is the value at the point, the lower one the best of its dual, or lower dual, on
// its ray, after it was made feasible. Errors: kInvalidArgument with reason NOT_PSD, kCancelled.
absl::StatusOr<BoundedKernelPoint> BoundKernelPoint(const KernelNorms& norms, const Loss& loss,
                                                    const WeightedKernelPoint& point,
                                                    const std::vector<KernelSpec>& kernels,
                                                    const KernelFamily& family,
                                                    RunContext& context);

}  // namespace mercer
