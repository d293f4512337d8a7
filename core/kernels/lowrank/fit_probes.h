// What a fit v(x) ~ R q(x) of the features of all kernels loses at any rows.
//
// With standard normal numbers s over the features, the mean of g(x)^2 for
//   g(x) = s'(v(x) - R q(x)) = sum_k (M_k s_k)'k_k(Z, x) - (R's)'q(x)
// is |v(x) - R q(x)|^2: a few products with vectors in place of those with the matrices M_k. The
// mean over eight draws of s is less than a tenth of what is lost with a probability below 0.001,
// even when all that is lost lies in one direction (chi-squared with eight degrees of freedom).
// Source: Hutchinson: A stochastic estimator of the trace of the influence matrix. Communications
// in Statistics 19 (1990) 433-450.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"

#include "core/base/numeric/types.h"
#include "core/base/process/run_context.h"
#include "core/kernels/lowrank/nystrom.h"

namespace mercer {

// Immutable and safe for concurrent use.
class FitProbes {
 public:
  // `fit` is R, features x r. Every kernel's features are multiplied by its scale, that all count
  // the same; kernels whose scale is not above 0 count nothing. Errors: kCancelled.
  static absl::StatusOr<FitProbes> Make(const NystromFeatures& features, ConstMatrixRef fit,
                                        const Vector& scales, uint64_t seed, RunContext& context);

  // The products of the kernels' values with the probes, probes x rows: begun with zeros, and added
  // to by every kernel. Of no use once cancelled.
  static Matrix Start(Index rows);
  void AddKernel(Index k, const CrossValues& values, Matrix& probes,
                 const RunContext& context) const;
  // Of the sums of all kernels an estimate of what is lost, summed over the rows, of the squared
  // norms of a kernel's scaled features, in the mean over the kernels that count. `joint` holds q
  // of the rows, r x rows.
  double LostEnergy(ConstMatrixRef joint, Matrix probes, const RunContext& context) const;

 private:
  std::vector<Matrix> of_landmarks_;  // of each kernel M_k s_k, landmarks x probes
  Matrix of_joint_;                   // R's: r x probes
};

}  // namespace mercer
