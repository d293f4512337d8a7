// What kernels that are fitted to the basis of others lose at any rows, without their features. The
// kernels share their landmarks.
//
// With standard normal numbers s over the features v of the fitted kernels, the mean of g(x)^2 for
//   g(x) = s'(v(x) - R q(x)) = sum_k (M_k s_k)'k_k(Z, x) - (R's)'q(x)
// is |v(x) - R q(x)|^2: a few products with vectors in place of those with the matrices M_k. The
// mean over eight draws of s is less than a tenth of what is lost with a probability below 0.001,
// even when all that is lost lies in one direction (chi-squared with eight degrees of freedom).
// Source: Hutchinson: A stochastic estimator of the trace of the influence matrix. Communications
// in Statistics 19 (1990) 433-450.
#pragma once

#include <cstdint>
#include <utility>

#include "absl/status/statusor.h"

#include "core/base/numeric/types.h"
#include "core/base/process/run_context.h"
#include "core/base/status/status_macros.h"
#include "core/kernels/lowrank/nystrom.h"

namespace mercer {

// Immutable and safe for concurrent use.
class FitProbes {
 public:
  // `fit` is R, features of the fitted kernels x r. `energies` are the mean squared norms of each
  // kernel's features, by which it is divided, so that every kernel counts the same; kernels of
  // energy 0 count nothing. Errors: kCancelled.
  static absl::StatusOr<FitProbes> Make(NystromFeatures fitted, ConstMatrixRef fit,
                                        const Vector& energies, uint64_t seed, RunContext& context);

  // The fitted kernels between the rows of `x` and the landmarks. Errors: as of CrossKernels.
  absl::StatusOr<BoundCrossKernels> Bind(const PreparedData& x, RunContext& context) const {
    MERCER_ASSIGN_OR_RETURN(NystromFeatures::Bound bound, fitted_.Bind(x, context));
    return std::move(bound.front());
  }
  // Estimates the sum over rows [begin, end) of what is lost of a row's squared norm, as a share of
  // the kernel's energy, in the mean over the fitted kernels of positive energy. `joint` holds q of these rows, r x rows. Of no use once
  // cancelled.
  double LostShares(const BoundCrossKernels& x, Index begin, Index end, ConstMatrixRef joint,
                    const RunContext& context) const;

 private:
  explicit FitProbes(NystromFeatures fitted) : fitted_(std::move(fitted)) {}

  NystromFeatures fitted_;
  Matrix of_landmarks_;  // M_k s_k, one kernel below the other: a column for each probe
  Matrix of_joint_;      // R's: r x probes
};

}  // namespace mercer
