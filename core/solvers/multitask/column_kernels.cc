#include "core/solvers/multitask/column_kernels.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/base/numeric/index_range.h"
#include "core/base/status/status_macros.h"
#include "core/linalg/row_products.h"

namespace mercer {
namespace {

// The list, or all where it is empty.
std::vector<Index> Listed(absl::Span<const Index> some, Index all) {
  return some.empty() ? IndexRange(0, all) : std::vector<Index>(some.begin(), some.end());
}

}  // namespace

ColumnBlocks::ColumnBlocks(std::vector<Index> block_of) : block_of_(std::move(block_of)) {
  const Index last = block_of_.empty() ? -1 : *std::max_element(block_of_.begin(), block_of_.end());
  begin_.assign(static_cast<size_t>(last) + 2, 0);
  for (const Index block : block_of_) {
    ++begin_[static_cast<size_t>(block) + 1];
  }
  for (size_t k = 1; k < begin_.size(); ++k) {
    begin_[k] += begin_[k - 1];
  }
  order_ = IndexRange(0, num_columns());
  std::stable_sort(order_.begin(), order_.end(),
                   [&](Index a, Index b) { return BlockOf(a) < BlockOf(b); });
}

absl::Span<const Index> ColumnBlocks::ColumnsOf(Index block) const {
  const auto begin = static_cast<size_t>(begin_[static_cast<size_t>(block)]);
  const auto end = static_cast<size_t>(begin_[static_cast<size_t>(block) + 1]);
  return absl::MakeConstSpan(order_).subspan(begin, end - begin);
}

std::vector<Index> ColumnBlocks::ColumnsOf(absl::Span<const Index> blocks) const {
  std::vector<Index> columns;
  for (const Index block : blocks) {
    const absl::Span<const Index> of_block = ColumnsOf(block);
    columns.insert(columns.end(), of_block.begin(), of_block.end());
  }
  return columns;
}

ColumnKernels::ColumnKernels(std::shared_ptr<const Matrix> values,
                             std::shared_ptr<const ColumnBlocks> blocks)
    : values_(std::move(values)),
      blocks_(std::move(blocks)),
      scales_(Vector::Ones(blocks_->num_blocks())) {}

Matrix ColumnKernels::Columns(absl::Span<const Index> columns) const {
  Matrix gathered(size(), static_cast<Index>(columns.size()));
  for (size_t j = 0; j < columns.size(); ++j) {
    gathered.col(static_cast<Index>(j)) = values_->col(columns[j]);
  }
  return gathered;
}

absl::StatusOr<Matrix> ColumnKernels::Sums(const ConstMatrixRef& a, RunContext& context) const {
  return ProductOverRows(*values_, a, context);
}

absl::Status ColumnKernels::QuadraticForms(ConstMatrixRef a, absl::Span<const Index> kernels,
                                           MatrixRef out, RunContext& context) const {
  const std::vector<Index> listed = Listed(kernels, num_kernels());
  const std::vector<Index> columns = blocks_->ColumnsOf(listed);
  const bool most = 2 * columns.size() > static_cast<size_t>(blocks_->num_columns());
  MERCER_ASSIGN_OR_RETURN(const Matrix sums,
                          most ? Sums(a, context) : ProductOverRows(Columns(columns), a, context));
  out.setZero();
  Index place = 0;
  for (size_t k = 0; k < listed.size(); ++k) {
    for (const Index column : blocks_->ColumnsOf(listed[k])) {
      const Index row = most ? column : place++;
      out.row(static_cast<Index>(k)).array() += sums.row(row).array().square();
    }
  }
  return context.CheckCancelled();
}

absl::Status ColumnKernels::Products(ConstVectorRef a, absl::Span<const Index> kernels,
                                     absl::Span<const Index> rows, MatrixRef out,
                                     RunContext& context) const {
  const std::vector<Index> listed = Listed(kernels, num_kernels());
  const std::vector<Index> wanted = Listed(rows, size());
  const std::vector<Index> columns = blocks_->ColumnsOf(listed);
  const Matrix gathered = Columns(columns);
  MERCER_ASSIGN_OR_RETURN(const Matrix sums, ProductOverRows(gathered, a, context));
  out.setZero();
  Index column = 0;
  for (size_t k = 0; k < listed.size(); ++k) {
    MERCER_RETURN_IF_ERROR(context.CheckCancelled());
    for (size_t c = 0; c < blocks_->ColumnsOf(listed[k]).size(); ++c, ++column) {
      out.col(static_cast<Index>(k)) += sums(column, 0) * gathered.col(column)(wanted);
    }
  }
  return absl::OkStatus();
}

absl::Status ColumnKernels::CombinedProduct(ConstVectorRef weights, ConstMatrixRef a, MatrixRef out,
                                            RunContext& context) const {
  MERCER_ASSIGN_OR_RETURN(Matrix sums, Sums(a, context));
  for (Index c = 0; c < sums.rows(); ++c) {
    sums.row(c) *= weights(blocks_->BlockOf(c));
  }
  return ForRowBlocks(size(), kPassRows, context, [&](Index begin, Index count) {
    out.middleRows(begin, count) = ProductOfBlock(values_->middleRows(begin, count), sums);
  });
}

absl::StatusOr<std::unique_ptr<KernelOperator>> ColumnKernels::Combine(ConstVectorRef weights,
                                                                       RunContext& context) const {
  std::vector<Index> columns;
  for (Index c = 0; c < blocks_->num_columns(); ++c) {
    if (weights(blocks_->BlockOf(c)) > 0) {
      columns.push_back(c);
    }
  }
  Matrix scaled(static_cast<Index>(columns.size()), size());
  for (size_t j = 0; j < columns.size(); ++j) {
    scaled.row(static_cast<Index>(j)) =
        std::sqrt(weights(blocks_->BlockOf(columns[j]))) * values_->col(columns[j]).transpose();
  }
  MERCER_ASSIGN_OR_RETURN(Matrix gram, GramOverRows(scaled, context));
  gram.triangularView<Eigen::StrictlyUpper>() = gram.transpose();
  return std::unique_ptr<KernelOperator>(
      std::make_unique<DenseKernelOperator>(std::make_shared<const Matrix>(std::move(gram))));
}

absl::Status ColumnKernels::Diagonals(absl::Span<const Index> kernels, MatrixRef out,
                                      RunContext& context) const {
  const std::vector<Index> listed = Listed(kernels, num_kernels());
  out.setZero();
  for (size_t k = 0; k < listed.size(); ++k) {
    for (const Index column : blocks_->ColumnsOf(listed[k])) {
      out.col(static_cast<Index>(k)).array() += values_->col(column).array().square();
    }
  }
  return context.CheckCancelled();
}

}  // namespace mercer
