// What the weights of kernels may be: a set of weights >= 0, and the norm of functions that it
// stands for. The loop over machines of fixed weights (solvers/mkl/mkl_loop.h) asks nothing else.
//
//   norm       |f|^2 = min over the set of  sum_k norms(k)^2 / weights(k),  norms(k) = |f_k|
//   support    max over the set of          sum_k weights(k) energies(k),   energies(k) = a'K_k a
//
// where all weights minimise the optimum.
//
// The problem is min_f 1/2 |f|^2 + risk, its dual max_a linear(a) - 1/2 support. At a solution
// norms(k) = weights(k) sqrt(energies(k)). For the lp ball: docs/mathematics/lp_mkl.md, sections 1
// to 4.
//
// Weights may have a part that maximises where the others minimise, as the groups of a mixed norm
// do: with weights(k) = inner(k) / outer(group of k), inner and outer of sum 1 in a group and over
// the groups, the optimum is convex in `inner` and concave in `outer`, and |f| is the largest sum
// of the norms of a group; the support is the least over `outer` of the largest over `inner`. Such
// weights say so in has_maximisers(): what a step must not raise is then the gap, since the optimum
// of a machine bounds nothing.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "absl/status/statusor.h"

#include "core/base/numeric/types.h"
#include "core/base/process/run_context.h"

namespace mercer {

// Newton's step on the weights of more kernels costs too much: it is left to the others.
inline constexpr size_t kMaxModelKernels = 256;

// The second-order model of the optimum of a machine as a function of its kernel weights d around
// `start`: -1/2 energies'(d - start) + 1/2 (d - start)'hessian (d - start). `hessian` is positive
// semidefinite.
struct WeightModel {
  Vector start;
  Vector energies;
  Matrix hessian;
};

// Immutable and safe for concurrent use.
class WeightRegularizer {
 public:
  virtual ~WeightRegularizer() = default;

  virtual double HalfSquaredNorm(ConstVectorRef norms) const = 0;
  virtual double Support(ConstVectorRef energies) const = 0;
  virtual bool has_maximisers() const { return false; }
  // Whether so many kernels leave no choice.
  virtual bool AreFixed(Index num_kernels) const = 0;
  // Whether weights become 0, and kernels leave the machine and come back.
  virtual bool is_sparse() const = 0;
  // The weights of the set in the direction of others >= 0.
  virtual Vector Normalized(const Vector& weights) const = 0;

  // Steps from the solution of the machine of `weights`, of these energies. The exact minimiser for
  // its function,
  virtual Vector ClosedForm(const Vector& weights, const Vector& energies) const = 0;
  // and a longer step with the same fixed point, by which the distance to it shrinks to the share
  // OverRelaxedRate(). It also brings kernels back, and takes them out, where weights are sparse.
  virtual Vector OverRelaxed(const Vector& weights, const Vector& energies) const = 0;
  virtual double OverRelaxedRate() const = 0;
  // Where some weights maximise: steps between the two, by the power of the energies that weights
  // are multiplied by, from 1/2 for the closed form to 2 for the longer step.
  virtual Vector Relaxed(const Vector& weights, const Vector& energies, double /*power*/) const {
    return OverRelaxed(weights, energies);
  }

  // The kernels that Newton's step is about,
  virtual std::vector<Index> Candidates(const Vector& weights, const Vector& energies) const = 0;
  // and its weights, where the model, of these kernels, has its saddle point or minimum; nothing
  // when there is none. Errors: kCancelled.
  virtual absl::StatusOr<std::optional<Vector>> SolveModel(const WeightModel& model,
                                                           const std::vector<Index>& candidates,
                                                           const RunContext& context) const = 0;
};

}  // namespace mercer
