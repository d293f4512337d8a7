// The kernel Q M Q' for a tall Q and a small positive semidefinite M. With M = root root' it has
// the explicit features Q root.
#pragma once

#include <memory>

#include "absl/status/statusor.h"

#include "core/kernels/gram/factor_rows.h"
#include "core/kernels/gram/kernel_operator.h"

namespace mercer {

class LowRankOperator : public KernelOperator {
 public:
  // `metric`, of which the lower triangle is read, is positive semidefinite up to rounding; at most 1e-9 of its mean
  // diagonal is added to make it positive definite. `blocks`, if any: the kernels that this one is
  // the sum of; their matrix must outlive the operator. Errors: kInvalidArgument (not even then),
  // kCancelled.
  static absl::StatusOr<std::unique_ptr<KernelOperator>> Make(
      std::shared_ptr<const FactorRows> rows, Matrix metric, RunContext& context,
      FactorBlocks blocks = {});

  Index size() const override { return rows_->rows(); }
  absl::Status Apply(ConstMatrixRef x, MatrixRef out, RunContext& context) const override;
  absl::Status Diagonal(VectorRef out, RunContext& context) const override;
  absl::Status Columns(absl::Span<const Index> columns, MatrixRef out,
                       RunContext& context) const override;
  absl::Status Block(absl::Span<const Index> rows, absl::Span<const Index> columns, MatrixRef out,
                     RunContext& context) const override;
  std::optional<FactoredKernel> Factored() const override {
    return FactoredKernel{*rows_, root_, blocks_.stacked != nullptr ? &blocks_ : nullptr};
  }

 private:
  LowRankOperator(std::shared_ptr<const FactorRows> rows, Matrix root, FactorBlocks blocks)
      : rows_(std::move(rows)), root_(std::move(root)), blocks_(std::move(blocks)) {}

  Vector Row(Index i) const {
    return Eigen::Map<const Eigen::VectorXf>(rows_->row(i), rows_->cols()).cast<double>();
  }
  // The vector M q_i, q_i being row i of Q.
  Vector Weighted(Index i) const {
    const auto root = root_.triangularView<Eigen::Lower>();
    return root * (root.transpose() * Row(i)).eval();
  }

  std::shared_ptr<const FactorRows> rows_;
  Matrix root_;  // lower triangular, M = root root'
  FactorBlocks blocks_;
};

}  // namespace mercer
