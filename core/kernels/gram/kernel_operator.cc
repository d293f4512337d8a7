#include "core/kernels/gram/kernel_operator.h"

#include <algorithm>

#include "core/base/status/status_macros.h"
#include "core/linalg/matrix_products.h"
#include "core/linalg/vector_math.h"

namespace mercer {
namespace {

// How many rows a task has: about 1 ms of work for one column at n = 10^4.
constexpr Index kTileRows = 64;

}  // namespace

absl::Status FactoredKernel::Multiply(const Vector& x, Vector& out, RunContext& context) const {
  const Vector of_rows = root.triangularView<Eigen::Lower>() * x;
  out.resize(size());
  return rows.Multiply(of_rows, out, context);
}

absl::Status FactoredKernel::MultiplyRows(absl::Span<const Index> of, const Vector& x, Vector& out,
                                          RunContext& context) const {
  const Vector of_rows = root.triangularView<Eigen::Lower>() * x;
  out.resize(static_cast<Index>(of.size()));
  return rows.MultiplyRows(of, of_rows, out, context);
}

absl::Status FactoredKernel::MultiplyTransposed(const Vector& a, Vector& out,
                                                RunContext& context) const {
  Vector of_rows(rank());
  MERCER_RETURN_IF_ERROR(rows.MultiplyTransposed(a, of_rows, context));
  out = root.triangularView<Eigen::Lower>().transpose() * of_rows;
  return absl::OkStatus();
}

absl::Status FactoredKernel::Gram(absl::Span<const Index> of, const Vector& weights, Matrix& out,
                                  RunContext& context) const {
  Matrix of_rows = Matrix::Zero(rank(), rank());
  MERCER_RETURN_IF_ERROR(rows.AddGram(of, weights, 1.0, of_rows, context));
  out.resize(rank(), rank());
  return TriangularCongruence(of_rows, root, out, context);
}

// out(i, j) = dot(K(:, i), x(:, j)): K is symmetric, so its columns are its rows, and each dot
// product has an order of its own that depends on n alone. So a column's result does not depend on
// the columns beside it.
absl::Status DenseKernelOperator::Apply(ConstMatrixRef x, MatrixRef out,
                                        RunContext& context) const {
  const Index n = size();
  context.parallel().ForBlocks(n, kTileRows, [&](Index begin, Index end) {
    for (Index i = begin; i < end && !context.cancelled(); ++i) {
      for (Index j = 0; j < x.cols(); ++j) {
        out(i, j) = Dot(gram_->col(i).data(), x.col(j).data(), n);
      }
    }
  });
  return context.CheckCancelled();
}

absl::Status DenseKernelOperator::Diagonal(VectorRef out, RunContext& context) const {
  out = gram_->diagonal();
  return context.CheckCancelled();
}

absl::Status DenseKernelOperator::Columns(absl::Span<const Index> columns, MatrixRef out,
                                          RunContext& context) const {
  for (size_t j = 0; j < columns.size(); ++j) {
    MERCER_RETURN_IF_ERROR(context.CheckCancelled());
    out.col(static_cast<Index>(j)) = gram_->col(columns[j]);
  }
  return absl::OkStatus();
}

absl::Status DenseKernelOperator::Block(absl::Span<const Index> rows,
                                        absl::Span<const Index> columns, MatrixRef out,
                                        RunContext& context) const {
  for (size_t j = 0; j < columns.size(); ++j) {
    MERCER_RETURN_IF_ERROR(context.CheckCancelled());
    const double* column = gram_->col(columns[j]).data();
    double* target = out.col(static_cast<Index>(j)).data();
    for (size_t i = 0; i < rows.size(); ++i) {
      target[i] = column[rows[i]];
    }
  }
  return absl::OkStatus();
}

}  // namespace mercer
