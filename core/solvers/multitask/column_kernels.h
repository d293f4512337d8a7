// Linear kernels of blocks of columns: K_k(x, z) is the sum of x(c) z(c) over the columns c of block
// k, which are no other block's.
//
// No Gram matrix of a single kernel is formed. Energies are sums of squares of X'a, never
// differences, and cost one product with the columns; a combination is one Gram matrix.
#pragma once

#include <memory>
#include <vector>

#include "absl/types/span.h"

#include "core/base/numeric/types.h"
#include "core/kernels/gram/kernel_family.h"

namespace mercer {

// Which columns are in which block, for all tasks alike.
class ColumnBlocks {
 public:
  // block_of[c] >= 0 is the block of column c; blocks up to the largest number may be empty.
  explicit ColumnBlocks(std::vector<Index> block_of);

  Index num_blocks() const { return static_cast<Index>(begin_.size()) - 1; }
  Index num_columns() const { return static_cast<Index>(block_of_.size()); }
  Index BlockOf(Index column) const { return block_of_[static_cast<size_t>(column)]; }
  // Ascending.
  absl::Span<const Index> ColumnsOf(Index block) const;
  // Those of some blocks, one block after the other.
  std::vector<Index> ColumnsOf(absl::Span<const Index> blocks) const;

 private:
  std::vector<Index> block_of_;
  std::vector<Index> order_;  // columns by blocks
  std::vector<Index> begin_;  // of each block in the order, and its end
};

class ColumnKernels final : public KernelFamily {
 public:
  // `values` has a row for each row of the problem, and as many columns as `blocks`.
  ColumnKernels(std::shared_ptr<const Matrix> values, std::shared_ptr<const ColumnBlocks> blocks);

  const ColumnBlocks& blocks() const { return *blocks_; }
  // X(:, columns).
  Matrix Columns(absl::Span<const Index> columns) const;
  // X'a. Errors: kCancelled.
  absl::StatusOr<Matrix> Sums(const ConstMatrixRef& a, RunContext& context) const;

  Index size() const override { return values_->rows(); }
  Index num_kernels() const override { return blocks_->num_blocks(); }
  const Vector& scales() const override { return scales_; }
  absl::Status QuadraticForms(ConstMatrixRef a, absl::Span<const Index> kernels, MatrixRef out,
                              RunContext& context) const override;
  absl::Status Products(ConstVectorRef a, absl::Span<const Index> kernels,
                        absl::Span<const Index> rows, MatrixRef out,
                        RunContext& context) const override;
  absl::Status CombinedProduct(ConstVectorRef weights, ConstMatrixRef a, MatrixRef out,
                               RunContext& context) const override;
  absl::StatusOr<std::unique_ptr<KernelOperator>> Combine(ConstVectorRef weights,
                                                          RunContext& context) const override;
  absl::Status Diagonals(absl::Span<const Index> kernels, MatrixRef out,
                         RunContext& context) const override;

 private:
  const std::shared_ptr<const Matrix> values_;
  const std::shared_ptr<const ColumnBlocks> blocks_;
  const Vector scales_;  // ones
};

}  // namespace mercer
