#include "core/kernels/lowrank/low_rank_operator.h"

#include <algorithm>
#include <utility>

#include "core/base/status/status_macros.h"
#include "core/linalg/blocked_cholesky.h"

namespace mercer {
namespace {

constexpr double kFirstShift = 1e-14;  // of the mean diagonal
constexpr double kLastShift = 1e-9;
constexpr Index kProductRows = 64;

}  // namespace

absl::StatusOr<std::unique_ptr<KernelOperator>> LowRankOperator::Make(
    std::shared_ptr<const FactorRows> rows, Matrix metric, RunContext& context,
    FactorBlocks blocks) {
  const double mean = metric.size() > 0 ? metric.diagonal().mean() : 0.0;
  Matrix root;
  absl::Status factored = absl::OkStatus();
  if (!(mean > 0)) {
    // The kernel is zero, and so is every function of it.
    root = Matrix::Zero(metric.rows(), metric.cols());
  } else {
    for (double shift = kFirstShift; shift <= kLastShift; shift *= 10) {
      root = metric;
      root.diagonal().array() += shift * mean;
      factored = FactorCholesky(root, context);
      if (factored.ok() || absl::IsCancelled(factored)) {
        break;
      }
    }
    MERCER_RETURN_IF_ERROR(factored);
    root.triangularView<Eigen::StrictlyUpper>().setZero();
  }
  return std::unique_ptr<KernelOperator>(
      new LowRankOperator(std::move(rows), std::move(root), std::move(blocks)));
}

// out = Q (root (root' (Q'x))), from the right: of the order of rows times rank.
absl::Status LowRankOperator::Apply(ConstMatrixRef x, MatrixRef out, RunContext& context) const {
  const auto root = root_.triangularView<Eigen::Lower>();
  Vector reduced(rows_->cols());
  for (Index j = 0; j < x.cols(); ++j) {
    MERCER_RETURN_IF_ERROR(rows_->MultiplyTransposed(x.col(j), reduced, context));
    const Vector coefficients = root * (root.transpose() * reduced).eval();
    MERCER_RETURN_IF_ERROR(rows_->Multiply(coefficients, out.col(j), context));
  }
  return absl::OkStatus();
}

// q_i'M q_i = |root' q_i|^2.
absl::Status LowRankOperator::Diagonal(VectorRef out, RunContext& context) const {
  context.parallel().ForBlocks(size(), kProductRows, [&](Index begin, Index end) {
    for (Index i = begin; i < end && !context.cancelled(); ++i) {
      out(i) = (root_.transpose().triangularView<Eigen::Upper>() * Row(i)).squaredNorm();
    }
  });
  return context.CheckCancelled();
}

absl::Status LowRankOperator::Columns(absl::Span<const Index> columns, MatrixRef out,
                                      RunContext& context) const {
  for (size_t j = 0; j < columns.size(); ++j) {
    MERCER_RETURN_IF_ERROR(
        rows_->Multiply(Weighted(columns[j]), out.col(static_cast<Index>(j)), context));
  }
  return absl::OkStatus();
}

absl::Status LowRankOperator::Block(absl::Span<const Index> rows, absl::Span<const Index> columns,
                                    MatrixRef out, RunContext& context) const {
  for (size_t j = 0; j < columns.size(); ++j) {
    MERCER_RETURN_IF_ERROR(
        rows_->MultiplyRows(rows, Weighted(columns[j]), out.col(static_cast<Index>(j)), context));
  }
  return absl::OkStatus();
}

}  // namespace mercer
