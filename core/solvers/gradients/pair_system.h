// Linear systems (Q + diag(ridge)) x = b among some of the pairs: by the Cholesky factor, of many
// pairs by conjugate gradients, which need products alone.
#pragma once

#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "core/base/numeric/types.h"
#include "core/base/process/run_context.h"
#include "core/solvers/gradients/pair_kernel.h"

namespace mercer {

inline constexpr Index kMostFactoredPairs = 3000;

class PairSystem {
 public:
  // Of a kernel that must outlive this. `shift` times the mean diagonal is added to it. Errors:
  // kInvalidArgument when the matrix is not positive definite in double precision, kCancelled.
  static absl::StatusOr<PairSystem> Make(const PairKernel& kernel, const Vector& ridge,
                                         std::vector<Index> pairs, double shift,
                                         RunContext& context);
  // With as large a shift as it takes.
  static absl::StatusOr<PairSystem> MakeShifted(const PairKernel& kernel, const Vector& ridge,
                                                const std::vector<Index>& pairs,
                                                RunContext& context);

  const std::vector<Index>& pairs() const { return pairs_; }
  // Solves for the columns of b, in place. Conjugate gradients end at this relative residual.
  // Errors: kCancelled.
  absl::Status Solve(MatrixRef b, double accuracy, RunContext& context) const;

 private:
  PairSystem(const PairKernel& kernel, std::vector<Index> pairs)
      : kernel_(&kernel), pairs_(std::move(pairs)) {}
  absl::Status SolveByProducts(VectorRef b, double accuracy, RunContext& context) const;

  const PairKernel* kernel_;
  std::vector<Index> pairs_;
  Vector ridge_;   // of these pairs
  Matrix factor_;  // empty where there are too many pairs
};

}  // namespace mercer
