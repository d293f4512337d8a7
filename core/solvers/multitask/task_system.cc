#include "core/solvers/multitask/task_system.h"

#include <cmath>
#include <memory>
#include <utility>

#include "core/base/status/status_macros.h"
#include "core/linalg/blocked_cholesky.h"
#include "core/linalg/matrix_products.h"
#include "core/linalg/row_products.h"

namespace mercer {
namespace {

constexpr Index kRowsOfColumn = 4;  // from so many on the form of columns is as exact, and faster
constexpr double kJitter = 1e-14;   // of a diagonal of 1

}  // namespace

TaskSystem::TaskSystem(const MultitaskTask& task, std::vector<Index> blocks,
                       const Vector& block_weights)
    : task_(task), blocks_(std::move(blocks)), beta_(block_weights(blocks_)) {
  for (Index i = 0; i < task.costs.size(); ++i) {
    if (task.costs(i) > 0) {
      rows_.push_back(i);
    }
  }
  labels_ = task.targets(rows_);
  costs_ = task.costs(rows_);
  columns_ = dynamic_cast<const ColumnKernels*>(task.blocks.get());
  if (columns_ == nullptr) {
    return;
  }
  for (size_t k = 0; k < blocks_.size(); ++k) {
    place_.insert(place_.end(), columns_->blocks().ColumnsOf(blocks_[k]).size(),
                  static_cast<Index>(k));
  }
  const Matrix all_rows = columns_->Columns(columns_->blocks().ColumnsOf(blocks_));
  signed_columns_ = labels_.asDiagonal() * all_rows(rows_, Eigen::all);
}

bool TaskSystem::is_structured() const {
  return columns_ != nullptr && num_rows() >= kRowsOfColumn * signed_columns_.cols();
}

Vector TaskSystem::DualOf(const ConstVectorRef& alpha) const {
  Vector dual = Vector::Zero(task_.targets.size());
  dual(rows_) = labels_.cwiseProduct(alpha);
  return dual;
}

Vector TaskSystem::AlphaOf(const Vector& dual) const { return labels_.cwiseProduct(dual(rows_)); }

absl::Status TaskSystem::SetPoint(const ConstVectorRef& alpha, RunContext& context) {
  const auto blocks = static_cast<Index>(blocks_.size());
  energies_ = Vector::Zero(blocks);
  slopes_ = Matrix::Zero(num_rows(), blocks);
  if (columns_ != nullptr) {
    MERCER_ASSIGN_OR_RETURN(const Matrix sums, ProductOverRows(signed_columns_, alpha, context));
    sums_ = sums.col(0);
    for (size_t c = 0; c < place_.size(); ++c) {
      const auto column = static_cast<Index>(c);
      const Index k = place_[c];
      const double divided = sums_(column) / (beta_(k) * beta_(k));
      energies_(k) += sums_(column) * divided;
      slopes_.col(k) += divided * signed_columns_.col(column);
    }
    return context.CheckCancelled();
  }
  MERCER_RETURN_IF_ERROR(task_.blocks->Products(DualOf(alpha), blocks_, rows_, slopes_, context));
  slopes_ = labels_.asDiagonal() * slopes_ * beta_.array().square().inverse().matrix().asDiagonal();
  energies_ = (slopes_.transpose() * alpha).cwiseMax(0.0);
  return context.CheckCancelled();
}

absl::Status TaskSystem::Factor(const Vector& shares, const ConstVectorRef& barrier,
                                Matrix& bordered, RunContext& context) {
  barrier_ = barrier;
  return is_structured() ? FactorColumns(shares, bordered, context)
                         : FactorRows(shares, bordered, context);
}

// H without the barrier, in the lower triangle.
absl::Status TaskSystem::FormRows(const Vector& shares, RunContext& context) {
  if (columns_ != nullptr) {
    Matrix scaled(signed_columns_.cols(), num_rows());
    for (size_t c = 0; c < place_.size(); ++c) {
      const auto column = static_cast<Index>(c);
      scaled.row(column) =
          std::sqrt(shares(place_[c])) / beta_(place_[c]) * signed_columns_.col(column).transpose();
    }
    MERCER_ASSIGN_OR_RETURN(factor_, GramOverRows(scaled, context));
    return absl::OkStatus();
  }
  Vector weights = Vector::Zero(task_.blocks->num_kernels());
  weights(blocks_) = shares.array() / beta_.array().square();
  MERCER_ASSIGN_OR_RETURN(const std::unique_ptr<KernelOperator> combined,
                          task_.blocks->Combine(weights, context));
  factor_.resize(num_rows(), num_rows());
  MERCER_RETURN_IF_ERROR(combined->Block(rows_, rows_, factor_, context));
  factor_ = labels_.asDiagonal() * factor_ * labels_.asDiagonal();
  return absl::OkStatus();
}

absl::Status TaskSystem::FactorRows(const Vector& shares, Matrix& bordered, RunContext& context) {
  MERCER_RETURN_IF_ERROR(FormRows(shares, context));
  factor_.diagonal() += barrier_;
  scaling_ = factor_.diagonal().cwiseSqrt().cwiseInverse();
  factor_ = scaling_.asDiagonal() * factor_ * scaling_.asDiagonal();
  factor_.diagonal().array() += kJitter;
  MERCER_RETURN_IF_ERROR(FactorCholesky(factor_, context));
  // Rows (L^-1 [G y])', whose products with each other are wanted.
  Matrix sides(slopes_.cols() + 1, num_rows());
  sides.topRows(slopes_.cols()) = slopes_.transpose() * scaling_.asDiagonal();
  sides.bottomRows(1) = labels_.cwiseProduct(scaling_).transpose();
  MERCER_RETURN_IF_ERROR(SubstituteRows(factor_, sides, context));
  MERCER_ASSIGN_OR_RETURN(bordered, GramOverRows(sides.transpose(), context));
  return absl::OkStatus();
}

absl::Status TaskSystem::FactorColumns(const Vector& shares, Matrix& bordered,
                                       RunContext& context) {
  const Index columns = signed_columns_.cols();
  const Vector roots = barrier_.cwiseSqrt().cwiseInverse();
  Matrix sides(num_rows(), columns + 1);
  sides.leftCols(columns) = roots.asDiagonal() * signed_columns_;
  sides.rightCols(1) = labels_.cwiseProduct(roots);
  MERCER_ASSIGN_OR_RETURN(Matrix gram, GramOverRows(sides, context));
  gram.triangularView<Eigen::StrictlyUpper>() = gram.transpose();
  scaling_.resize(columns);
  for (Index c = 0; c < columns; ++c) {
    const Index k = place_[static_cast<size_t>(c)];
    scaling_(c) = std::sqrt(shares(k)) / beta_(k);
  }
  factor_ = scaling_.asDiagonal() * gram.topLeftCorner(columns, columns) * scaling_.asDiagonal();
  factor_.diagonal().array() += 1;
  MERCER_RETURN_IF_ERROR(FactorCholesky(factor_, context));
  // [R y]'H^-1 [R y], of which rows and columns of one block are then added up.
  Matrix halves = gram.leftCols(columns) * scaling_.asDiagonal();
  MERCER_RETURN_IF_ERROR(SubstituteRows(factor_, halves, context));
  MERCER_RETURN_IF_ERROR(AddProduct(-1.0, halves, Matrix(halves.transpose()), gram, context));
  Matrix rows = Matrix::Zero(slopes_.cols() + 1, columns + 1);
  const auto divided = [&](Index c, Index k) { return sums_(c) / (beta_(k) * beta_(k)); };
  for (Index c = 0; c < columns; ++c) {
    const Index k = place_[static_cast<size_t>(c)];
    rows.row(k) += divided(c, k) * gram.row(c);
  }
  rows.bottomRows(1) = gram.bottomRows(1);
  bordered = Matrix::Zero(rows.rows(), rows.rows());
  for (Index c = 0; c < columns; ++c) {
    const Index k = place_[static_cast<size_t>(c)];
    bordered.col(k) += divided(c, k) * rows.col(c);
  }
  bordered.rightCols(1) = rows.rightCols(1);
  return context.CheckCancelled();
}

absl::Status TaskSystem::Solve(Vector& x, RunContext& context) const {
  if (!is_structured()) {
    x = x.cwiseProduct(scaling_);
    MERCER_RETURN_IF_ERROR(SolveCholesky(factor_, x, context));
    x = x.cwiseProduct(scaling_);
    return absl::OkStatus();
  }
  x = x.cwiseQuotient(barrier_);
  MERCER_ASSIGN_OR_RETURN(Matrix reduced, ProductOverRows(signed_columns_, x, context));
  reduced = scaling_.asDiagonal() * reduced;
  MERCER_RETURN_IF_ERROR(SolveCholesky(factor_, reduced, context));
  reduced = scaling_.asDiagonal() * reduced;
  Matrix scores = Matrix::Zero(num_rows(), 1);
  MERCER_RETURN_IF_ERROR(AddProduct(1.0, signed_columns_, reduced, scores, context));
  x -= scores.col(0).cwiseQuotient(barrier_);
  return absl::OkStatus();
}

}  // namespace mercer
