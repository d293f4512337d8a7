// A symmetric positive semidefinite n x n matrix that may never be formed.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/types/span.h"

#include "core/base/numeric/types.h"
#include "core/base/process/run_context.h"
#include "core/kernels/gram/factor_rows.h"

namespace mercer {

// The rows [first, first + size) of a matrix, times a number.
struct FactorBlock {
  Index first;
  Index size;
  double scale;
};

// The kernels of a sum: K_k = X_k X_k' with X_k = rows B_k', B_k = scale stacked(block k).
struct FactorBlocks {
  const Matrix* stacked = nullptr;
  std::vector<FactorBlock> blocks;
};

// A kernel of explicit features, K = X X' with X = rows root, of which X is never formed.
struct FactoredKernel {
  const FactorRows& rows;  // n x r
  const Matrix& root;      // r x r, lower triangular; the strict upper triangle is 0
  // The kernels that K is the sum of, up to the small multiple of the identity in the root's
  // metric; null: K has no parts.
  const FactorBlocks* blocks = nullptr;

  Index size() const { return rows.rows(); }
  Index rank() const { return rows.cols(); }

  // out = X x. Errors of all operations: kCancelled.
  absl::Status Multiply(const Vector& x, Vector& out, RunContext& context) const;
  // out = X_J x, for the rows J.
  absl::Status MultiplyRows(absl::Span<const Index> of, const Vector& x, Vector& out,
                            RunContext& context) const;
  // out = X'a.
  absl::Status MultiplyTransposed(const Vector& a, Vector& out, RunContext& context) const;
  // The lower triangle of X_J' W X_J, W the diagonal matrix of the weights >= 0; the strict upper
  // one is arbitrary.
  absl::Status Gram(absl::Span<const Index> of, const Vector& weights, Matrix& out,
                    RunContext& context) const;
};

// Implementations are immutable and safe for concurrent use. Values do not depend on which entries
// are asked for together.
class KernelOperator {
 public:
  virtual ~KernelOperator() = default;

  virtual Index size() const = 0;
  // out = K x; x and out are n x c. Errors: kCancelled.
  virtual absl::Status Apply(ConstMatrixRef x, MatrixRef out, RunContext& context) const = 0;
  // out(i) = K(i, i).
  virtual absl::Status Diagonal(VectorRef out, RunContext& context) const = 0;
  // out(:, j) = K(:, columns[j]). Errors: kCancelled.
  virtual absl::Status Columns(absl::Span<const Index> columns, MatrixRef out,
                               RunContext& context) const = 0;
  // out(i, j) = K(rows[i], columns[j]): what a Newton step on the free variables needs. Errors:
  // kCancelled.
  virtual absl::Status Block(absl::Span<const Index> rows, absl::Span<const Index> columns,
                             MatrixRef out, RunContext& context) const = 0;
  // The whole matrix when it is formed (column-major, n x n, 64-byte aligned columns not
  // guaranteed), else null.
  virtual const Matrix* Dense() const { return nullptr; }
  // The factor of a kernel of low rank, else nothing. Valid for as long as the operator.
  virtual std::optional<FactoredKernel> Factored() const { return std::nullopt; }
};

// A formed Gram matrix; both triangles are filled.
class DenseKernelOperator : public KernelOperator {
 public:
  explicit DenseKernelOperator(std::shared_ptr<const Matrix> gram) : gram_(std::move(gram)) {}

  Index size() const override { return gram_->rows(); }
  absl::Status Apply(ConstMatrixRef x, MatrixRef out, RunContext& context) const override;
  absl::Status Diagonal(VectorRef out, RunContext& context) const override;
  absl::Status Columns(absl::Span<const Index> columns, MatrixRef out,
                       RunContext& context) const override;
  absl::Status Block(absl::Span<const Index> rows, absl::Span<const Index> columns, MatrixRef out,
                     RunContext& context) const override;
  const Matrix* Dense() const override { return gram_.get(); }

 private:
  std::shared_ptr<const Matrix> gram_;
};

}  // namespace mercer
