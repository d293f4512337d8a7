#include "core/kernels/lowrank/incomplete_cholesky.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"

#include "core/base/status/errors.h"
#include "core/base/status/status_macros.h"

namespace mercer {
namespace {

constexpr Index kUpdatedRows = 2048;
// A diagonal below 0 by this share of the largest entry is more than rounding, where no pivot was
// small.
constexpr double kNegative = 1e-8;
constexpr double kRounding = 4 * std::numeric_limits<double>::epsilon();

}  // namespace

IncompleteCholesky::IncompleteCholesky(const KernelColumns& kernel, Index max_columns)
    : kernel_(&kernel),
      largest_(kernel.size() > 0 ? kernel.diagonal().maxCoeff() : 0.0),
      least_pivot_(largest_),
      factor_(kernel.size(), max_columns),
      diagonal_(kernel.diagonal()) {}

Matrix IncompleteCholesky::TakeFactor() && {
  factor_.conservativeResize(Eigen::NoChange, rank());
  return std::move(factor_);
}

absl::Status IncompleteCholesky::ResidualColumn(Index row, VectorRef out,
                                                RunContext& context) const {
  MERCER_RETURN_IF_ERROR(kernel_->Columns({row}, out, context));
  const Index rank = this->rank();
  const Vector of_row = factor_.row(row).head(rank).transpose();
  context.parallel().ForBlocks(rows(), kUpdatedRows, [&](Index begin, Index end) {
    if (!context.cancelled()) {
      out.segment(begin, end - begin).noalias() -=
          factor_.block(begin, 0, end - begin, rank) * of_row;
    }
  });
  for (const Index pivot : pivots_) {
    out(pivot) = 0;
  }
  return context.CheckCancelled();
}

absl::Status IncompleteCholesky::Append(Index row, RunContext& context) {
  Vector column(rows());
  MERCER_RETURN_IF_ERROR(ResidualColumn(row, column, context));
  const double root = std::sqrt(diagonal_(row));
  column /= root;
  column(row) = root;
  Vector diagonal = diagonal_ - column.cwiseAbs2();
  const double least_pivot = std::min(least_pivot_, diagonal_(row));
  // A column is divided by the root of its pivot, and with it the rounding of the kernel's entries.
  const double allowed = std::max(kNegative, kRounding * largest_ / least_pivot) * largest_;
  if (!(diagonal.minCoeff() >= -allowed)) {
    return WithReason(
        absl::InvalidArgumentError(absl::StrCat(
            "the kernel is not positive semidefinite: a diagonal of ", diagonal.minCoeff(),
            " is left after ", rank() + 1, " columns of its factor")),
        "NOT_PSD");
  }
  least_pivot_ = least_pivot;
  diagonal_ = diagonal.cwiseMax(0.0);
  diagonal_(row) = 0;
  factor_.col(rank()) = column;
  pivots_.push_back(row);
  return absl::OkStatus();
}

}  // namespace mercer
