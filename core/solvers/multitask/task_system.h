// What one task adds to a step of the joint interior point: the second derivative of its barrier,
//
//   H = diag(barrier) + Y Q(d) Y,   Q(d) = sum_k d_k / beta_k^2 K_k,   Y = diag(labels),
//
// over its rows of cost > 0 and some working blocks k, and the slopes G(:, k) = Y K_k v / beta_k^2
// of half the energies s_k / beta_k^2 in alpha, v = Y alpha.
//
// Two forms of the inverse: by the Cholesky factor of H itself, scaled to a diagonal of 1; or, of
// columns X that are few against the rows, with R = Y X and D^2 = d / beta^2 of each column,
//
//   H^-1 = L - L R D (I + D S D)^-1 D R'L,   S = R'L R,   L = diag(barrier)^-1.
//
// The second loses digits where rows and columns are about as many (measured: a relative gap of
// 1e-5 where the first reaches 1e-9), so that it is taken from 4 rows a column on.
#pragma once

#include <vector>

#include "absl/status/status.h"

#include "core/base/numeric/types.h"
#include "core/base/process/run_context.h"
#include "core/solvers/multitask/column_kernels.h"
#include "core/solvers/multitask/multitask_problem.h"

namespace mercer {

// Not thread-safe. Errors of all operations: kCancelled, kInvalidArgument where rounding has spoilt
// the factor.
class TaskSystem {
 public:
  // The task must outlive this. `blocks` are the working ones, ascending.
  TaskSystem(const MultitaskTask& task, std::vector<Index> blocks, const Vector& block_weights);

  Index num_rows() const { return static_cast<Index>(rows_.size()); }
  const Vector& labels() const { return labels_; }
  const Vector& costs() const { return costs_; }
  // Signed dual variables of all rows of the task.
  Vector DualOf(const ConstVectorRef& alpha) const;
  Vector AlphaOf(const Vector& dual) const;

  // The working blocks' energies over beta^2 at alpha, and G.
  absl::Status SetPoint(const ConstVectorRef& alpha, RunContext& context);
  const Vector& energies() const { return energies_; }
  const Matrix& slopes() const { return slopes_; }

  // For these d and barrier, at the point; `bordered` is the lower triangle of [G y]'H^-1 [G y].
  absl::Status Factor(const Vector& shares, const ConstVectorRef& barrier, Matrix& bordered,
                      RunContext& context);
  // x <- H^-1 x.
  absl::Status Solve(Vector& x, RunContext& context) const;

 private:
  bool is_structured() const;
  absl::Status FactorRows(const Vector& shares, Matrix& bordered, RunContext& context);
  absl::Status FactorColumns(const Vector& shares, Matrix& bordered, RunContext& context);
  absl::Status FormRows(const Vector& shares, RunContext& context);

  const MultitaskTask& task_;
  const std::vector<Index> blocks_;
  Vector beta_;              // of the working blocks
  std::vector<Index> rows_;  // of cost > 0
  Vector labels_;
  Vector costs_;
  const ColumnKernels* columns_ = nullptr;  // where the blocks are of columns
  std::vector<Index> place_;                // of each column's block among the working ones
  Matrix signed_columns_;                   // R

  Vector sums_;  // R'alpha
  Vector energies_;
  Matrix slopes_;
  Vector barrier_;
  Matrix factor_;
  Vector scaling_;  // of the rows: 1 / sqrt(H_ii); of the columns: D
};

}  // namespace mercer
