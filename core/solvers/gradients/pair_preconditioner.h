// What conjugate gradients on pairs are preconditioned by: with the leading part L L' of G,
//
//   Q(p, q) = G(j, j') u_p'u_q  is near  v_p'v_q,  v_p = L(j, :) (x) u_p,  u_p = (1, z_i - z_j),
//
// to which the diagonal of what is left and the ridge are added: a low rank and a diagonal, whose
// inverse is applied by the identity of Sherman, Morrison and Woodbury. A Gaussian whose width is
// the median distance is nearly constant in many columns, and so nearly all of it is in L.
#pragma once

#include <vector>

#include "absl/status/statusor.h"

#include "core/base/numeric/types.h"
#include "core/base/process/run_context.h"
#include "core/solvers/gradients/pair_kernel.h"

namespace mercer {

// L, with so many columns at most: the leading eigenvectors times the roots of their eigenvalues, as
// far as some subspace iterations know them. Errors: kCancelled.
absl::StatusOr<Matrix> LeadingPart(const ConstMatrixRef& gram, Index most, RunContext& context);

class PairPreconditioner {
 public:
  // Of a kernel that must outlive this, for these pairs, whose ridge is given. Where the kernel does
  // not say its parts it is the diagonal. Errors: kCancelled.
  static absl::StatusOr<PairPreconditioner> Make(const PairKernel& kernel, const Vector& ridge,
                                                 const std::vector<Index>& pairs,
                                                 RunContext& context);

  // The inverse times x.
  Vector Apply(const Vector& x) const;

 private:
  // V'x and V x, V the pairs' v_p as rows.
  Vector TransposedTimes(const Vector& x) const;
  Vector Times(const Vector& x) const;

  const PairParts* parts_ = nullptr;  // null: there are none
  std::vector<Index> pairs_;
  Index leading_ = 0;  // columns of L in use
  Vector inverse_;     // of the diagonal
  Matrix factor_;      // of 1 + V' diag(inverse) V
};

}  // namespace mercer
