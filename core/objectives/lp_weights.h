// Weights of kernels on the lp ball, |weights|_p <= 1 with 1 <= p <= inf, and the squared block
// norm that they stand for (docs/mathematics/lp_mkl.md, sections 1 to 4).
//
//   min over weights >= 0, |weights|_p <= 1 of  1/2 sum_k norms(k)^2 / weights(k)
//                                             = 1/2 (sum_k norms(k)^r)^(2/r),  r = 2p/(p+1)
//   max over the same weights of                1/2 sum_k weights(k) energies(k)
//                                             = 1/2 |energies|_q,              q = p/(p-1)
//
// norms(k) is the norm of the k-th part of the function, energies(k) = dual'K_k dual; at a solution
// norms(k) = weights(k) sqrt(energies(k)). All powers are taken of ratios to the largest entry, so
// that entries from 1e-160 to 1e150 are harmless.
#pragma once

#include <optional>
#include <vector>

#include "absl/status/statusor.h"

#include "core/base/numeric/types.h"
#include "core/base/process/run_context.h"
#include "core/objectives/weight_regularizer.h"

namespace mercer {

// The norm |values|_p of values >= 0; p in [1, inf].
double LpNorm(ConstVectorRef values, double p);

// The dual exponent q = p / (p - 1): 1 for p = inf, inf for p = 1.
double DualExponent(double p);

// The weight m^(-1/p) for each of m kernels: the point of the ball that treats all kernels alike.
Vector UniformWeights(Index num_kernels, double p);

// Half the squared block norm, 1/2 (sum_k norms(k)^r)^(2/r).
double HalfSquaredBlockNorm(ConstVectorRef norms, double p);

// The minimising weights of the first line above, with |weights|_p = 1; for p = inf all are 1. When
// all norms are zero the weights are undefined and `current` is returned.
Vector WeightsFromNorms(ConstVectorRef norms, double p, ConstVectorRef current);

// The over-relaxed weights (weights(k) energies(k))^(1/p), normalised: a longer step with the same
// fixed point. `current` as above.
Vector OverRelaxedWeights(ConstVectorRef weights, ConstVectorRef energies, double p);

// The minimiser of the model over d >= 0, |d|_p <= 1, scaled to |d|_p = 1; 1 <= p < inf. By a
// primal-dual interior point method (Mehrotra's predictor and corrector) with a slack for the norm,
// so that steps may leave its curved boundary and come back. Cost: 10 to 30 factorisations of order
// m. Nothing when the numbers do not admit a solution (entries that are not finite, all energies 0)
// or the point that was reached is worse than `start`. Errors: kCancelled.
absl::StatusOr<std::optional<Vector>> MinimizeWeightModel(const WeightModel& model, double p,
                                                          const RunContext& context);

// All of this as the regulariser of a loop.
class LpBall : public WeightRegularizer {
 public:
  explicit LpBall(double p) : p_(p) {}

  double HalfSquaredNorm(ConstVectorRef norms) const override;
  double Support(ConstVectorRef energies) const override;
  // For p = inf all weights are 1, and so is that of a single kernel.
  bool AreFixed(Index num_kernels) const override;
  bool is_sparse() const override { return p_ == 1.0; }
  Vector Normalized(const Vector& weights) const override;
  Vector ClosedForm(const Vector& weights, const Vector& energies) const override;
  // At p = 1 kernels of weight 0 come back when their energy exceeds that of every kernel with a
  // weight, and those of hardly any weight leave when their energy is below 0.9 of the largest.
  Vector OverRelaxed(const Vector& weights, const Vector& energies) const override;
  double OverRelaxedRate() const override { return 1.0 / p_; }
  // All, or at p = 1 those of weight > 0 and those whose energy exceeds theirs.
  std::vector<Index> Candidates(const Vector& weights, const Vector& energies) const override;
  absl::StatusOr<std::optional<Vector>> SolveModel(const WeightModel& model,
                                                   const std::vector<Index>& candidates,
                                                   const RunContext& context) const override;

 private:
  double p_;
};

}  // namespace mercer
