#include "core/kernels/lowrank/csi.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"

#include "core/base/process/row_vectors.h"
#include "core/base/status/status_macros.h"
#include "core/linalg/row_products.h"

namespace mercer {
namespace {

constexpr double kLeastDiagonal = 1e-12;  // of the mean of the kernel's diagonal
constexpr double kLeastShare = 1e-12;     // of |c|^2: what is less of q is rounding
constexpr double kConstant = 1e-24;       // of |Y|^2: targets that vary by less are constant

// How many rows a block has so that its products with matrices of `columns` columns take about
// kMultiplications.
Index RowsOfBlock(Index columns) {
  constexpr Index kMultiplications = Index{1} << 26;  // some 20 ms
  return std::clamp<Index>(kMultiplications / std::max<Index>(1, columns * columns), 1, kPassRows);
}

// Subtracts a coefficients from x.
absl::Status Subtract(const ConstMatrixRef& a, const Matrix& coefficients, MatrixRef x,
                      RunContext& context) {
  return ForRowBlocks(a.rows(), kPassRows, context, [&](Index begin, Index count) {
    x.middleRows(begin, count).noalias() -= a.middleRows(begin, count) * coefficients;
  });
}

absl::StatusOr<Matrix> SymmetricGram(const ConstMatrixRef& a, RunContext& context) {
  MERCER_ASSIGN_OR_RETURN(const Matrix lower, GramOverRows(a, context));
  return Matrix(lower.selfadjointView<Eigen::Lower>());
}

// Makes x orthogonal to the basis: x <- (I - basis basis')x, twice, for orthogonality up to
// rounding.
absl::Status Orthogonalize(const ConstMatrixRef& basis, MatrixRef x, RunContext& context) {
  for (int pass = 0; pass < 2; ++pass) {
    MERCER_ASSIGN_OR_RETURN(const Matrix coefficients, ProductOverRows(basis, x, context));
    MERCER_RETURN_IF_ERROR(Subtract(basis, coefficients, x, context));
  }
  return absl::OkStatus();
}

// A Householder reflection: the symmetric orthogonal matrix I - factor direction direction' that
// turns a vector into one whose last entry alone is not 0.
struct Reflection {
  Vector direction;
  double factor = 0;
};

Reflection ReflectToLast(Vector x) {
  const Index last = x.size() - 1;
  const double length = x.norm();
  x(last) += x(last) < 0 ? -length : length;
  const double square = x.squaredNorm();
  return {std::move(x), square > 0 ? 2 / square : 0.0};
}

absl::Status CheckCsi(const KernelColumns& kernel, ConstMatrixRef targets,
                      const CsiOptions& options) {
  const double trace = SumOfRows(kernel.diagonal());
  if (targets.rows() != kernel.size() || kernel.size() == 0) {
    return absl::InvalidArgumentError(absl::StrCat("there are targets of ", targets.rows(),
                                                   " rows, and the kernel has ", kernel.size()));
  }
  if (!targets.allFinite()) {
    return absl::InvalidArgumentError("the targets must be finite");
  }
  if (!(trace > 0) || !std::isfinite(trace)) {
    return absl::InvalidArgumentError(
        absl::StrCat("the trace of the kernel is ", trace, ", must be > 0 and finite"));
  }
  if (options.max_columns < 1 || options.look_ahead < 1 || !(options.kappa >= 0) ||
      !(options.kappa <= 1) || !(options.tolerance >= 0)) {
    return absl::InvalidArgumentError(
        "max_columns and look_ahead must be >= 1, kappa in [0, 1], tolerance >= 0");
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<CsiFactor> CsiFactor::Make(const KernelColumns& kernel, ConstMatrixRef targets,
                                          const CsiOptions& options) {
  MERCER_RETURN_IF_ERROR(CheckCsi(kernel, targets, options));
  Matrix centred = targets;
  for (Index j = 0; j < centred.cols(); ++j) {
    centred.col(j).array() -= SumOfRows(targets.col(j)) / static_cast<double>(targets.rows());
  }
  if (SquaredNormOfColumns(centred) <= kConstant * SquaredNormOfColumns(targets)) {
    centred.setZero();
  }
  return CsiFactor(kernel, std::move(centred), options);
}

CsiFactor::CsiFactor(const KernelColumns& kernel, Matrix centred, const CsiOptions& options)
    : max_columns_(std::min(options.max_columns, kernel.size())),
      options_(options),
      cholesky_(kernel, max_columns_),
      basis_(kernel.size(), max_columns_ + 1),
      residual_(std::move(centred)),
      ahead_remainder_(kernel.diagonal()) {
  const auto n = static_cast<double>(kernel.size());
  const double variation = SquaredNormOfColumns(residual_);
  const double trace = SumOfRows(kernel.diagonal());
  const double kappa = variation > 0 ? options.kappa : 0.0;
  trace_weight_ = (1 - kappa) / trace;
  target_weight_ = variation > 0 ? kappa / variation : 0.0;
  least_diagonal_ = kLeastDiagonal * trace / n;
  basis_.col(0).setConstant(1 / std::sqrt(n));
  outside_ = Vector::Constant(kernel.size(), 1 - 1 / n);
  // One column more than are kept: a pivot enters L before it leaves it for G.
  const Index ahead = std::min(options.look_ahead, kernel.size()) + 1;
  ahead_.resize(kernel.size(), ahead);
  projected_.resize(kernel.size(), ahead);
  RecordObjective();
}

void CsiFactor::RecordObjective() {
  const double value = trace_weight_ * SumOfRows(cholesky_.diagonal()) +
                       target_weight_ * SquaredNormOfColumns(residual_);
  objective_.push_back(objective_.empty() ? value : std::min(value, objective_.back()));
}

bool CsiFactor::WantsLookAhead() const {
  return cholesky_.rank() < max_columns_ && progress_.look_ahead < ahead_.cols() - 1 &&
         ahead_remainder_.maxCoeff() > least_diagonal_;
}

double CsiFactor::NextOperations() const {
  const auto n = static_cast<double>(rows());
  const auto ahead = static_cast<double>(ahead_.cols());
  const auto rank = static_cast<double>(cholesky_.rank() + 1);
  const bool grows = WantsLookAhead();
  return n * (10 * rank + 4 * ahead + (grows ? 0.0 : 4 * ahead * ahead));
}

absl::Status CsiFactor::Advance(RunContext& context) {
  if (done()) {
    return absl::OkStatus();
  }
  if (WantsLookAhead()) {
    Index row = 0;
    ahead_remainder_.maxCoeff(&row);
    return AppendLookAhead(row, context);
  }
  if (cholesky_.rank() == max_columns_) {
    progress_.done = true;
    return absl::OkStatus();
  }
  MERCER_ASSIGN_OR_RETURN(const Candidate best, FindPivot(context));
  if (best.row < 0 || best.gain < options_.tolerance) {
    progress_.done = true;
    return absl::OkStatus();
  }
  return AppendPivot(best.row, context);
}

absl::Status CsiFactor::Restore(const Progress& progress, RunContext& context) {
  for (const Index pivot : progress.pivots) {
    while (WantsLookAhead()) {
      MERCER_RETURN_IF_ERROR(Advance(context));
    }
    if (pivot < 0 || pivot >= rows() || cholesky_.rank() == max_columns_ ||
        !(cholesky_.diagonal()(pivot) > least_diagonal_)) {
      return absl::InvalidArgumentError("these are no pivots of this kernel");
    }
    MERCER_RETURN_IF_ERROR(AppendPivot(pivot, context));
  }
  while (progress_.look_ahead < progress.look_ahead && WantsLookAhead()) {
    MERCER_RETURN_IF_ERROR(Advance(context));
  }
  progress_.done = progress.done;
  return progress_.look_ahead == progress.look_ahead
             ? absl::OkStatus()
             : absl::InvalidArgumentError("this is no progress of this kernel");
}

// Extends L by the column of `row` of what is left of the kernel, and (I - Q Q')L with it.
absl::Status CsiFactor::AppendLookAhead(Index row, RunContext& context) {
  const Index size = progress_.look_ahead;
  Matrix column(rows(), 1);
  MERCER_RETURN_IF_ERROR(cholesky_.ResidualColumn(row, column.col(0), context));
  const Matrix of_row = ahead_.row(row).head(size).transpose();
  MERCER_RETURN_IF_ERROR(Subtract(ahead_.leftCols(size), of_row, column, context));
  const double root = std::sqrt(ahead_remainder_(row));
  column /= root;
  column(row, 0) = root;
  ahead_remainder_ = (ahead_remainder_ - column.col(0).cwiseAbs2()).cwiseMax(0.0);
  ahead_remainder_(row) = 0;
  ahead_.col(size) = column.col(0);
  MERCER_RETURN_IF_ERROR(Orthogonalize(basis_.leftCols(basis_size_), column, context));
  projected_.col(size) = column.col(0);
  ++progress_.look_ahead;
  return absl::OkStatus();
}

// The residual column of row i is r = L v + e u, v = L(i, :)', e = e(i), u the unit vector of i,
// and c = r / sqrt(d(i)). So
//   |r|^2 = v'L'L v + 2 e |v|^2 + e^2,   R'r = R'L v + e R(i, :)',
//   |(I - Q Q')r|^2 = v'P'P v + 2 e P(i, :) v + e^2 (1 - |Q(i, :)|^2),   P = (I - Q Q')L.
absl::StatusOr<CsiFactor::Candidate> CsiFactor::FindPivot(RunContext& context) const {
  const Index size = progress_.look_ahead;
  const auto ahead = ahead_.leftCols(size);
  const auto projected = projected_.leftCols(size);
  MERCER_ASSIGN_OR_RETURN(const Matrix inner, SymmetricGram(ahead, context));
  MERCER_ASSIGN_OR_RETURN(const Matrix outer, SymmetricGram(projected, context));
  MERCER_ASSIGN_OR_RETURN(const Matrix with_targets, ProductOverRows(ahead, residual_, context));
  const double unexplained = SquaredNormOfColumns(residual_);
  const Index block_rows = RowsOfBlock(size);
  std::vector<Candidate> best(static_cast<size_t>((rows() + block_rows - 1) / block_rows));
  MERCER_RETURN_IF_ERROR(ForRowBlocks(rows(), block_rows, context, [&](Index begin, Index count) {
    const auto v = ahead.middleRows(begin, count);
    const auto e = ahead_remainder_.segment(begin, count).array();
    const Eigen::ArrayXd length = v.rowwise().squaredNorm().array();
    const Eigen::ArrayXd along = ProductOfBlock(v, inner).cwiseProduct(v).rowwise().sum().array();
    const Eigen::ArrayXd outside = ProductOfBlock(v, outer).cwiseProduct(v).rowwise().sum().array();
    const Eigen::ArrayXd own =
        projected.middleRows(begin, count).cwiseProduct(v).rowwise().sum().array();
    const Matrix explained =
        v * with_targets + (residual_.middleRows(begin, count).array().colwise() * e).matrix();
    const Eigen::ArrayXd square = along + 2 * e * length + e.square();
    const Eigen::ArrayXd share =
        outside + 2 * e * own + e.square() * outside_.segment(begin, count).array();
    const Eigen::ArrayXd predicted = explained.rowwise().squaredNorm().array();
    Candidate& block = best[static_cast<size_t>(begin / block_rows)];
    for (Index i = 0; i < count; ++i) {
      const double diagonal = cholesky_.diagonal()(begin + i);
      if (!(diagonal > least_diagonal_)) {
        continue;
      }
      const double ratio =
          share(i) > kLeastShare * square(i) ? std::min(predicted(i) / share(i), unexplained) : 0.0;
      const double gain = trace_weight_ * square(i) / diagonal + target_weight_ * ratio;
      if (block.row < 0 || gain > block.gain) {
        block = {begin + i, gain};
      }
    }
  }));
  Candidate winner;
  for (const Candidate& block : best) {
    if (block.row >= 0 && (winner.row < 0 || block.gain > winner.gain)) {
      winner = block;
    }
  }
  return winner;
}

absl::Status CsiFactor::AppendPivot(Index row, RunContext& context) {
  if (ahead_remainder_(row) > least_diagonal_) {
    MERCER_RETURN_IF_ERROR(AppendLookAhead(row, context));
  }
  MERCER_RETURN_IF_ERROR(DropFromLookAhead(row, context));
  MERCER_RETURN_IF_ERROR(cholesky_.Append(row, context));
  MERCER_RETURN_IF_ERROR(Project(context));
  progress_.pivots.push_back(row);
  RecordObjective();
  return absl::OkStatus();
}

// Takes the pivot's column out of L. L is turned by a reflection, which leaves L L' as it is, so
// that its last column is all that it has at the row of the pivot: that column, the next one of G,
// is dropped.
absl::Status CsiFactor::DropFromLookAhead(Index pivot, RunContext& context) {
  const Index size = progress_.look_ahead;
  if (size == 0) {
    return absl::OkStatus();
  }
  const Reflection reflection = ReflectToLast(ahead_.row(pivot).head(size).transpose());
  MERCER_RETURN_IF_ERROR(ForRowBlocks(rows(), kPassRows, context, [&](Index begin, Index count) {
    for (Matrix* matrix : {&ahead_, &projected_}) {
      auto block = matrix->block(begin, 0, count, size);
      const Vector product = reflection.factor * (block * reflection.direction);
      block.noalias() -= product * reflection.direction.transpose();
    }
  }));
  ahead_.row(pivot).setZero();
  ahead_remainder_(pivot) = 0;
  --progress_.look_ahead;
  return absl::OkStatus();
}

// Extends Q by the newest column of G and takes that direction out of R and of (I - Q Q')L. A
// column that rounding alone keeps out of the span of Q adds nothing.
absl::Status CsiFactor::Project(RunContext& context) {
  Matrix q = cholesky_.factor().rightCols<1>();
  const double whole = SquaredNormOfRows(q.col(0));
  MERCER_RETURN_IF_ERROR(Orthogonalize(basis_.leftCols(basis_size_), q, context));
  const double left = SquaredNormOfRows(q.col(0));
  if (!(left > kLeastShare * whole)) {
    return absl::OkStatus();
  }
  q /= std::sqrt(left);
  for (Matrix* matrix : {&residual_, &projected_}) {
    auto columns = matrix->leftCols(matrix == &projected_ ? progress_.look_ahead : matrix->cols());
    MERCER_ASSIGN_OR_RETURN(const Matrix coefficients, ProductOverRows(q, columns, context));
    MERCER_RETURN_IF_ERROR(Subtract(q, coefficients, columns, context));
  }
  outside_ = (outside_ - q.col(0).cwiseAbs2()).cwiseMax(0.0);
  basis_.col(basis_size_++) = q.col(0);
  return absl::OkStatus();
}

}  // namespace mercer
