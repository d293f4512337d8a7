// Linear systems (Q + diag(ridge)) x = b among some of the pairs: by conjugate gradients where
// products promise to cost less than the Cholesky factor, and by that where they do not, or come
// too slowly to an end; of many pairs by conjugate gradients alone.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "core/base/numeric/types.h"
#include "core/base/process/run_context.h"
#include "core/solvers/gradients/pair_kernel.h"
#include "core/solvers/gradients/pair_preconditioner.h"

namespace mercer {

inline constexpr Index kMostFactoredPairs = 3000;
inline constexpr Index kMostSystemProducts = 1000;  // for a column of many pairs

class PairSystem {
 public:
  enum class Indefinite { kIsAnError, kIsShifted };

  // Of a kernel that must outlive this. A matrix that is not positive definite in double precision
  // is an error, or has as much as it takes added to its diagonal. Errors: kInvalidArgument,
  // kCancelled.
  static absl::StatusOr<PairSystem> Make(const PairKernel& kernel, const Vector& ridge,
                                         std::vector<Index> pairs, Indefinite indefinite,
                                         RunContext& context);

  const std::vector<Index>& pairs() const { return pairs_; }
  // Solves for the columns of b, in place. Conjugate gradients end at this relative residual, or,
  // of many pairs, with what they have after `most_products` products for a column. Errors: those
  // of Make.
  absl::Status Solve(MatrixRef b, double accuracy, Index most_products, RunContext& context);
  // How many products of the kernel take as long as all that this has done.
  double work() const { return static_cast<double>(products_) + factor_work_; }

 private:
  PairSystem(const PairKernel& kernel, const Vector& ridge, std::vector<Index> pairs,
             Indefinite indefinite)
      : kernel_(&kernel),
        pairs_(std::move(pairs)),
        ridge_(ridge(pairs_)),
        indefinite_(indefinite) {}
  bool has_factor() const { return factor_.size() > 0; }
  bool is_large() const { return static_cast<Index>(pairs_.size()) > kMostFactoredPairs; }
  // How many products may be tried before the factor, for so many columns.
  Index ProductsToTry(Index columns, Index most_products) const;
  // How many products take as long as the factor, and solving for so many columns by it.
  double FactorWork(Index columns) const;
  absl::Status Factor(RunContext& context);
  // Solves with at most `most` products. False when they do not do.
  absl::StatusOr<bool> SolveByProducts(const PairPreconditioner& preconditioner, VectorRef b,
                                       double accuracy, Index most, RunContext& context);

  const PairKernel* kernel_;
  std::vector<Index> pairs_;
  Vector ridge_;  // of these pairs
  Indefinite indefinite_;
  Index products_ = 0;
  double factor_work_ = 0;                            // in products
  std::optional<PairPreconditioner> preconditioner_;  // of products
  Matrix factor_;                                     // empty as long as products do
};

}  // namespace mercer
