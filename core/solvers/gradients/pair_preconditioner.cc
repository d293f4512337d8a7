#include "core/solvers/gradients/pair_preconditioner.h"

#include <algorithm>
#include <numeric>

#include <Eigen/Eigenvalues>
#include <Eigen/QR>

#include "core/base/numeric/random.h"
#include "core/base/status/status_macros.h"
#include "core/linalg/blocked_cholesky.h"
#include "core/linalg/matrix_products.h"

namespace mercer {
namespace {

constexpr int kSubspaceIterations = 2;
constexpr Index kMostRank = 256;  // of the low rank, but for one leading vector
constexpr Index kMostOfOneVector = 1024;
constexpr double kLeastDiagonalShare = 0.01;  // of the diagonal that is left
constexpr double kLeastOfMean = 1e-12;

Matrix Orthonormal(const Matrix& columns) {
  return Eigen::HouseholderQR<Matrix>(columns).householderQ() *
         Matrix::Identity(columns.rows(), columns.cols());
}

// Pairs whose anchor has the kernel 0 count as a small part of the mean.
Vector FlooredDiagonal(const Vector& diagonal) {
  const double mean = diagonal.mean();
  return diagonal.cwiseMax(mean > 0 ? kLeastOfMean * mean : 1.0);
}

}  // namespace

absl::StatusOr<Matrix> LeadingPart(const ConstMatrixRef& gram, Index most, RunContext& context) {
  const Index count = std::min(most, gram.rows());
  RandomStream random(1, "leading part of a kernel");
  Matrix basis = Matrix::NullaryExpr(gram.rows(), count, [&] { return random.Uniform() - 0.5; });
  for (int pass = 0; pass <= kSubspaceIterations; ++pass) {
    Matrix product = Matrix::Zero(gram.rows(), count);
    MERCER_RETURN_IF_ERROR(AddProduct(1.0, gram, basis, product, context));
    basis = Orthonormal(product);
  }
  Matrix product = Matrix::Zero(gram.rows(), count);
  MERCER_RETURN_IF_ERROR(AddProduct(1.0, gram, basis, product, context));
  const Matrix inner = basis.transpose() * product;
  const Eigen::SelfAdjointEigenSolver<Matrix> eigen(0.5 * (inner + inner.transpose()));
  const Vector roots = eigen.eigenvalues().cwiseMax(0.0).cwiseSqrt().reverse();
  return Matrix(basis * eigen.eigenvectors().rowwise().reverse() * roots.asDiagonal());
}

absl::StatusOr<PairPreconditioner> PairPreconditioner::Make(const PairKernel& kernel,
                                                            const Vector& ridge,
                                                            const std::vector<Index>& pairs,
                                                            RunContext& context) {
  PairPreconditioner made;
  const Vector diagonal = FlooredDiagonal(kernel.diagonal()(pairs));
  const PairParts* const parts = kernel.parts();
  const Index width = parts == nullptr ? 0 : 1 + parts->z.cols();
  if (parts == nullptr || parts->leading.cols() == 0 || width > kMostOfOneVector) {
    made.inverse_ = (diagonal + ridge).cwiseInverse();
    return made;
  }
  made.parts_ = parts;
  made.pairs_ = pairs;
  made.leading_ = std::clamp<Index>(kMostRank / width, 1, parts->leading.cols());
  const RowMatrix z = parts->z;
  const Vector shares = parts->leading.leftCols(made.leading_).rowwise().squaredNorm();
  made.inverse_.resize(diagonal.size());
  std::vector<Index> order(pairs.size());  // those of an anchor side by side
  std::iota(order.begin(), order.end(), Index{0});
  const auto anchor = [&](Index k) {
    return parts->pairs.anchors[static_cast<size_t>(pairs[static_cast<size_t>(k)])];
  };
  std::stable_sort(order.begin(), order.end(),
                   [&](Index a, Index b) { return anchor(a) < anchor(b); });
  const Index rank = made.leading_ * width;
  made.factor_ = Matrix::Identity(rank, rank);
  Vector u(width);
  Matrix of_anchor(width, width);  // the sum of u_p u_p' over the diagonal
  for (size_t first = 0; first < order.size();) {
    MERCER_RETURN_IF_ERROR(context.CheckCancelled());
    const Index j = anchor(order[first]);
    of_anchor.setZero();
    for (; first < order.size() && anchor(order[first]) == j; ++first) {
      const Index k = order[first];
      const auto p = static_cast<size_t>(pairs[static_cast<size_t>(k)]);
      u << 1, (z.row(parts->pairs.targets[p]) - z.row(j)).transpose();
      const double left = diagonal(k) - shares(j) * u.squaredNorm();
      made.inverse_(k) = 1 / (std::max(left, kLeastDiagonalShare * diagonal(k)) + ridge(k));
      of_anchor.selfadjointView<Eigen::Lower>().rankUpdate(u, made.inverse_(k));
    }
    of_anchor.triangularView<Eigen::StrictlyUpper>() = of_anchor.transpose();
    for (Index a = 0; a < made.leading_; ++a) {
      for (Index b = 0; b <= a; ++b) {
        made.factor_.block(a * width, b * width, width, width) +=
            parts->leading(j, a) * parts->leading(j, b) * of_anchor;
      }
    }
  }
  MERCER_RETURN_IF_ERROR(FactorCholesky(made.factor_, context));
  return made;
}

Vector PairPreconditioner::TransposedTimes(const Vector& x) const {
  const Index rows = parts_->leading.rows();
  const Index width = 1 + parts_->z.cols();
  Matrix moments = Matrix::Zero(rows, width);
  const GradientPairs& all = parts_->pairs;
  for (size_t k = 0; k < pairs_.size(); ++k) {
    moments(all.anchors[static_cast<size_t>(pairs_[k])], 0) += x(static_cast<Index>(k));
  }
  for (Index c = 0; c < parts_->z.cols(); ++c) {
    const double* const z = parts_->z.col(c).data();
    double* const sums = moments.col(c + 1).data();
    for (size_t k = 0; k < pairs_.size(); ++k) {
      const auto p = static_cast<size_t>(pairs_[k]);
      const Index j = all.anchors[p];
      sums[j] += x(static_cast<Index>(k)) * (z[all.targets[p]] - z[j]);
    }
  }
  const Matrix products = moments.transpose() * parts_->leading.leftCols(leading_);
  return Vector::Map(products.data(), products.size());
}

Vector PairPreconditioner::Times(const Vector& x) const {
  const Index width = 1 + parts_->z.cols();
  const Matrix values =
      parts_->leading.leftCols(leading_) * Matrix::Map(x.data(), width, leading_).transpose();
  const GradientPairs& all = parts_->pairs;
  Vector out(static_cast<Index>(pairs_.size()));
  for (size_t k = 0; k < pairs_.size(); ++k) {
    out(static_cast<Index>(k)) = values(all.anchors[static_cast<size_t>(pairs_[k])], 0);
  }
  for (Index c = 0; c < parts_->z.cols(); ++c) {
    const double* const z = parts_->z.col(c).data();
    const double* const of_anchors = values.col(c + 1).data();
    for (size_t k = 0; k < pairs_.size(); ++k) {
      const auto p = static_cast<size_t>(pairs_[k]);
      const Index j = all.anchors[p];
      out(static_cast<Index>(k)) += (z[all.targets[p]] - z[j]) * of_anchors[j];
    }
  }
  return out;
}

Vector PairPreconditioner::Apply(const Vector& x) const {
  const Vector scaled = inverse_.cwiseProduct(x);
  if (parts_ == nullptr) {
    return scaled;
  }
  Vector inner = TransposedTimes(scaled);
  factor_.triangularView<Eigen::Lower>().solveInPlace(inner);
  factor_.triangularView<Eigen::Lower>().transpose().solveInPlace(inner);
  return scaled - inverse_.cwiseProduct(Times(inner));
}

}  // namespace mercer
