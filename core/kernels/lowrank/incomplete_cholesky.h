// An incomplete Cholesky factor of a positive semidefinite matrix on pivots that somebody chooses:
// K ~ G G', equal at the rows and columns of the pivots I. With p the next pivot and d the diagonal
// of K - G G',
//
//   next column of G = (K(:, p) - G G(p, :)') / sqrt(d(p)),   0 at the pivots before it.
//
// G(I, :), the pivots' rows in the order of the pivots, is lower triangular, and
// G(I, :) G(I, :)' = K(I, I). Source: Fine, Scheinberg: Efficient SVM training using low-rank
// kernel representations. JMLR 2 (2001) 243-264.
#pragma once

#include <vector>

#include "absl/status/status.h"

#include "core/base/numeric/types.h"
#include "core/base/process/run_context.h"
#include "core/kernels/gram/kernel_columns.h"

namespace mercer {

class IncompleteCholesky {
 public:
  // Begins without pivots. The kernel must outlive it. Takes the memory of `max_columns` columns as
  // they come.
  IncompleteCholesky(const KernelColumns& kernel, Index max_columns);

  Index rows() const { return factor_.rows(); }
  Index rank() const { return static_cast<Index>(pivots_.size()); }
  const std::vector<Index>& pivots() const { return pivots_; }
  // The factor G, rows() x rank().
  auto factor() const { return factor_.leftCols(rank()); }
  // Hands out the factor G, which is then here no longer.
  Matrix TakeFactor() &&;
  // The diagonal of K - G G', what is left of the kernel: never negative, 0 at the pivots, and it
  // never rises.
  const Vector& diagonal() const { return diagonal_; }

  // out = (K - G G')(:, row), 0 at the pivots: sqrt(diagonal()(row)) times the column of G that
  // `row` would add. Errors: kCancelled.
  absl::Status ResidualColumn(Index row, VectorRef out, RunContext& context) const;
  // Adds a pivot with diagonal()(row) > 0, rank() < max_columns. Errors: kInvalidArgument with
  // reason NOT_PSD when the diagonal falls below -1e-8 of the kernel's largest entry by more than
  // the rounding that small pivots multiply; kCancelled. Both leave the factor as it was.
  absl::Status Append(Index row, RunContext& context);

 private:
  const KernelColumns* kernel_;
  double largest_;  // entry of the kernel
  double least_pivot_;
  Matrix factor_;
  Vector diagonal_;
  std::vector<Index> pivots_;
};

}  // namespace mercer
