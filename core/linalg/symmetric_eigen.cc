#include "core/linalg/symmetric_eigen.h"

#include <algorithm>
#include <utility>

#include <Eigen/Eigenvalues>
#include <Eigen/Householder>
#include <cblas.h>

#include "core/base/numeric/index_range.h"
#include "core/base/process/paced_check.h"
#include "core/base/status/status_macros.h"
#include "core/linalg/blas_int.h"
#include "core/linalg/tridiagonal_eigen.h"

namespace mercer {
namespace {

constexpr Index kSmall = 64;            // rows: no decomposition of theirs takes a millisecond
constexpr Index kReducedColumns = 32;   // columns reduced before the rest is updated
constexpr Index kUpdatedColumns = 128;  // at a time
constexpr Index kReflectors = 64;       // applied at a time

// Adds scale op(a) b to `out`.
void AddMultiple(double scale, CBLAS_TRANSPOSE transposed, const ConstMatrixRef& a,
                 const ConstMatrixRef& b, MatrixRef out) {
  if (b.rows() > 0) {
    cblas_dgemm(CblasColMajor, transposed, CblasNoTrans, BlasInt(out.rows()), BlasInt(out.cols()),
                BlasInt(b.rows()), scale, a.data(), BlasInt(a.outerStride()), b.data(),
                BlasInt(b.outerStride()), 1.0, out.data(), BlasInt(out.outerStride()));
  }
}

class Tridiagonalization {
 public:
  explicit Tridiagonalization(Matrix a)
      : a_(std::move(a)),
        diagonal_(a_.rows()),
        subdiagonal_(std::max<Index>(a_.rows() - 1, 0)),
        scales_(Vector::Zero(subdiagonal_.size())) {}

  absl::Status Reduce(const RunContext& context) {
    PacedCheck check(context);
    for (Index begin = 0; begin < subdiagonal_.size(); begin += kReducedColumns) {
      const Index end = std::min(begin + kReducedColumns, subdiagonal_.size());
      reflectors_.setZero(a_.rows(), end - begin);
      products_.setZero(a_.rows(), end - begin);
      for (Index j = begin; j < end; ++j) {
        ReduceColumn(begin, j);
        MERCER_RETURN_IF_ERROR(check.After((a_.rows() - j) * (a_.rows() - j)));
      }
      MERCER_RETURN_IF_ERROR(UpdateRest(end, context));
    }
    if (a_.rows() > 0) {
      diagonal_(a_.rows() - 1) = a_(a_.rows() - 1, a_.rows() - 1);
    }
    return context.CheckCancelled();
  }

  const Vector& diagonal() const { return diagonal_; }
  const Vector& subdiagonal() const { return subdiagonal_; }
  const Vector& scales() const { return scales_; }
  Matrix TakeReflectors() && { return std::move(a_); }

 private:
  // Makes column j of the matrix that of a tridiagonal one. V and W hold the columns so far of the
  // panel that begins at column `begin`: the matrix is A - V W' - W V', A what is stored.
  void ReduceColumn(Index begin, Index j) {
    const Index done = j - begin;
    const Index below = a_.rows() - j - 1;
    const auto v = reflectors_.bottomRows(below + 1).leftCols(done);
    const auto w = products_.bottomRows(below + 1).leftCols(done);
    const Matrix of_row = [&] {
      Matrix rows(done, 2);
      rows.col(0) = w.row(0).transpose();
      rows.col(1) = v.row(0).transpose();
      return rows;
    }();
    auto column = a_.col(j).tail(below + 1);
    column.noalias() -= v * of_row.col(0);
    column.noalias() -= w * of_row.col(1);
    diagonal_(j) = column(0);
    auto reflected = column.tail(below);
    double scale = 0;
    double beta = 0;
    reflected.makeHouseholderInPlace(scale, beta);
    scales_(j) = scale;
    subdiagonal_(j) = beta;
    auto reflector = reflectors_.col(done).tail(below);
    reflector(0) = 1;
    reflector.tail(below - 1) = reflected.tail(below - 1);
    SetProduct(j, done, reflector);
  }

  // Computes w = s (A - V W' - W V') v - (s / 2) (w'v) v, so that H A H = A - v w' - w v' for the
  // reflection H = I - s v v'.
  void SetProduct(Index j, Index done, ConstVectorRef reflector) {
    const Index below = reflector.size();
    const auto v = reflectors_.bottomRows(below).leftCols(done);
    const auto w = products_.bottomRows(below).leftCols(done);
    auto product = products_.col(done).tail(below);
    cblas_dsymv(CblasColMajor, CblasLower, BlasInt(below), 1.0, &a_(j + 1, j + 1),
                BlasInt(a_.rows()), reflector.data(), 1, 0.0, product.data(), 1);
    const Vector of_v = v.transpose() * reflector;
    const Vector of_w = w.transpose() * reflector;
    product.noalias() -= v * of_w;
    product.noalias() -= w * of_v;
    product *= scales_(j);
    product -= (0.5 * scales_(j) * product.dot(reflector)) * reflector;
  }

  // Applies the panel to the rows and columns from `begin` on, in the lower triangle.
  absl::Status UpdateRest(Index begin, const RunContext& context) {
    for (Index column = begin; column < a_.rows(); column += kUpdatedColumns) {
      MERCER_RETURN_IF_ERROR(context.CheckCancelled());
      const Index columns = std::min(kUpdatedColumns, a_.rows() - column);
      const Index rows = a_.rows() - column;
      const auto of_columns = [&](const Matrix& all) {
        return Matrix(all.middleRows(column, columns).transpose());
      };
      auto rest = a_.block(column, column, rows, columns);
      AddMultiple(-1.0, CblasNoTrans, reflectors_.bottomRows(rows), of_columns(products_), rest);
      AddMultiple(-1.0, CblasNoTrans, products_.bottomRows(rows), of_columns(reflectors_), rest);
    }
    return absl::OkStatus();
  }

  Matrix a_;
  Vector diagonal_;
  Vector subdiagonal_;
  Vector scales_;
  Matrix reflectors_;  // V and W of the panel
  Matrix products_;
};

// Some consecutive reflections as one matrix, I - V T V', so that they are applied by matrix
// products.
struct BlockReflector {
  Matrix v;  // rows from the first that it changes
  Matrix t;  // upper triangular
};

BlockReflector BlockOf(const Matrix& reflectors, const Vector& scales, Index begin, Index end) {
  const Index count = end - begin;
  BlockReflector block{Matrix::Zero(reflectors.rows() - begin - 1, count),
                       Matrix::Zero(count, count)};
  for (Index j = 0; j < count; ++j) {
    const Index below = block.v.rows() - j - 1;
    block.v(j, j) = 1;
    block.v.col(j).tail(below) = reflectors.col(begin + j).tail(below);
  }
  Matrix products = Matrix::Zero(count, count);
  AddMultiple(1.0, CblasTrans, block.v, block.v, products);
  for (Index j = 0; j < count; ++j) {
    const double scale = scales(begin + j);
    block.t(j, j) = scale;
    block.t.col(j).head(j) = -scale * (block.t.topLeftCorner(j, j) * products.col(j).head(j));
  }
  return block;
}

void Apply(const BlockReflector& block, MatrixRef x) {
  Matrix inside = Matrix::Zero(block.t.rows(), x.cols());
  AddMultiple(1.0, CblasTrans, block.v, x, inside);
  Matrix scaled = Matrix::Zero(block.t.rows(), x.cols());
  AddMultiple(1.0, CblasNoTrans, block.t, inside, scaled);
  AddMultiple(-1.0, CblasNoTrans, block.v, scaled, x);
}

// Divides by the largest magnitude of the lower triangle and returns it: squares are then in range.
absl::StatusOr<double> ScaleToOne(MatrixRef a, const RunContext& context) {
  PacedCheck check(context);
  double largest = 0;
  for (Index j = 0; j < a.cols(); ++j) {
    largest = std::max(largest, a.col(j).tail(a.rows() - j).cwiseAbs().maxCoeff());
    MERCER_RETURN_IF_ERROR(check.After(a.rows() - j));
  }
  for (Index j = 0; j < a.cols() && largest > 0; ++j) {
    a.col(j).tail(a.rows() - j) /= largest;
    MERCER_RETURN_IF_ERROR(check.After(a.rows() - j));
  }
  return largest;
}

}  // namespace

absl::StatusOr<SymmetricEigen> SymmetricEigen::Make(Matrix a, const RunContext& context) {
  SymmetricEigen eigen;
  if (a.rows() <= kSmall) {
    Eigen::SelfAdjointEigenSolver<Matrix> solver(a);
    if (solver.info() != Eigen::Success) {
      return absl::InternalError("the eigenvalues of a symmetric matrix did not converge");
    }
    eigen.values_ = solver.eigenvalues();
    eigen.of_tridiagonal_ = solver.eigenvectors();
    eigen.places_ = IndexRange(0, a.rows());
    return eigen;
  }
  MERCER_ASSIGN_OR_RETURN(const double scale, ScaleToOne(a, context));
  Tridiagonalization reduced(std::move(a));
  MERCER_RETURN_IF_ERROR(reduced.Reduce(context));
  MERCER_ASSIGN_OR_RETURN(TridiagonalEigen tridiagonal,
                          DecomposeTridiagonal(reduced.diagonal(), reduced.subdiagonal(), context));
  eigen.places_ = IndexRange(0, tridiagonal.values.size());
  std::stable_sort(eigen.places_.begin(), eigen.places_.end(),
                   [&](Index i, Index j) { return tridiagonal.values(i) < tridiagonal.values(j); });
  eigen.values_ = scale * tridiagonal.values(eigen.places_);
  eigen.of_tridiagonal_ = std::move(tridiagonal.vectors);
  eigen.scales_ = reduced.scales();
  eigen.reflectors_ = std::move(reduced).TakeReflectors();
  return eigen;
}

absl::StatusOr<Matrix> SymmetricEigen::Largest(Index count, const RunContext& context) const {
  PacedCheck check(context);
  Matrix vectors(values_.size(), count);
  for (Index j = 0; j < count; ++j) {
    vectors.col(j) = of_tridiagonal_.col(places_[places_.size() - static_cast<size_t>(j) - 1]);
    MERCER_RETURN_IF_ERROR(check.After(vectors.rows()));
  }
  for (Index end = scales_.size(); end > 0; end = (end - 1) / kReflectors * kReflectors) {
    const Index begin = (end - 1) / kReflectors * kReflectors;
    const BlockReflector block = BlockOf(reflectors_, scales_, begin, end);
    for (Index column = 0; column < count; column += kUpdatedColumns) {
      MERCER_RETURN_IF_ERROR(context.CheckCancelled());
      const Index columns = std::min(kUpdatedColumns, count - column);
      Apply(block, vectors.block(begin + 1, column, block.v.rows(), columns));
    }
  }
  return vectors;
}

}  // namespace mercer
