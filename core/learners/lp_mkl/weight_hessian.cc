#include "core/learners/lp_mkl/weight_hessian.h"

#include <algorithm>

#include "core/base/status_macros.h"
#include "core/kernels/blocked_cholesky.h"
#include "core/kernels/matrix_products.h"
#include "core/solvers/svm_newton.h"

namespace mercer::lp_mkl {
namespace {

constexpr double kShift = 1e-8;       // of the mean diagonal of S
constexpr Index kHessianRows = 2048;  // rows per product: about 10 ms with 256 kernels

// S^-1 [G 1] for S = K_FF + shift; nothing when S is not positive definite in floating point.
absl::StatusOr<std::optional<Matrix>> SolveFree(const KernelOperator& kernel,
                                                const std::vector<Index>& free,
                                                const Matrix& products, RunContext& context) {
  const Index count = products.rows();
  double shift = kShift;
  for (int trial = 0; trial < 4; ++trial, shift *= 100.0) {
    Matrix factor;
    MERCER_RETURN_IF_ERROR(GatherKernel(kernel, free, factor, context));
    factor.diagonal().array() += shift * factor.diagonal().mean();
    const absl::Status status = FactorCholesky(factor, context);
    if (absl::IsCancelled(status)) {
      return status;
    }
    if (status.ok()) {
      Matrix solution(count, products.cols() + 1);
      solution << products, Vector::Ones(count);
      MERCER_RETURN_IF_ERROR(SolveCholesky(factor, solution, context));
      return std::optional<Matrix>(std::move(solution));
    }
  }
  return std::optional<Matrix>();
}

// With many free samples and the whole kernel.
absl::StatusOr<std::optional<Matrix>> DenseHessian(const KernelOperator& kernel,
                                                   const std::vector<Index>& free,
                                                   const Matrix& products, RunContext& context) {
  const Index count = products.cols();
  MERCER_ASSIGN_OR_RETURN(const std::optional<Matrix> solved,
                          SolveFree(kernel, free, products, context));
  if (!solved.has_value()) {
    return std::optional<Matrix>();
  }
  Matrix hessian = Matrix::Zero(count, count);
  for (Index begin = 0; begin < products.rows(); begin += kHessianRows) {
    MERCER_RETURN_IF_ERROR(context.CheckCancelled());
    const Index rows = std::min(kHessianRows, products.rows() - begin);
    hessian.noalias() +=
        products.middleRows(begin, rows).transpose() * solved->block(begin, 0, rows, count);
  }
  const Vector row_sums = solved->leftCols(count).colwise().sum();  // G'S^-1 1
  hessian -= row_sums * row_sums.transpose() / solved->col(count).sum();
  return std::optional<Matrix>(std::move(hessian));
}

// out = root'rows'a for the free samples' values `a`.
absl::Status ReduceFree(const FactoredKernel& kernel, const std::vector<Index>& free,
                        const Vector& a, Eigen::Ref<Vector> out, RunContext& context) {
  Vector scattered = Vector::Zero(kernel.rows.rows());
  for (size_t j = 0; j < free.size(); ++j) {
    scattered(free[j]) = a(static_cast<Index>(j));
  }
  Vector reduced(kernel.rows.cols());
  MERCER_RETURN_IF_ERROR(kernel.rows.MultiplyTransposed(scattered, reduced, context));
  out = kernel.root.triangularView<Eigen::Lower>().transpose() * reduced;
  return absl::OkStatus();
}

// With features X = X_F, B = X'X, T = X'G, t = X'1: every G is X Y for some Y, which Y = (B + shift)^-1 T is but for directions that
// the shift takes away anyhow; then G'S^-1 G = Y'Y, 1'S^-1 G = t'(B + shift)^-1 Y and 1'S^-1 1 = (|F| - t'(B + shift)^-1 t) / shift.
absl::StatusOr<std::optional<Matrix>> FactoredHessian(const FactoredKernel& kernel,
                                                      const std::vector<Index>& free,
                                                      const Matrix& products, RunContext& context) {
  const Index rank = kernel.rows.cols();
  const Index count = products.cols();
  const auto samples = static_cast<Index>(free.size());
  Matrix gram = Matrix::Zero(rank, rank);
  MERCER_RETURN_IF_ERROR(kernel.rows.AddGram(free, Vector::Ones(samples), 1.0, gram, context));
  Matrix system(rank, rank);
  MERCER_RETURN_IF_ERROR(TriangularCongruence(gram, kernel.root, system, context));
  const double shift = kShift * system.trace() / static_cast<double>(samples);
  system.diagonal().array() += shift;
  const absl::Status factored = FactorCholesky(system, context);
  if (!factored.ok()) {
    return absl::IsCancelled(factored) ? absl::StatusOr<std::optional<Matrix>>(factored)
                                       : std::optional<Matrix>();
  }
  Matrix reduced(rank, count + 1);
  for (Index k = 0; k < count; ++k) {
    MERCER_RETURN_IF_ERROR(ReduceFree(kernel, free, products.col(k), reduced.col(k), context));
  }
  MERCER_RETURN_IF_ERROR(
      ReduceFree(kernel, free, Vector::Ones(samples), reduced.col(count), context));
  const Vector ones = reduced.col(count);
  MERCER_RETURN_IF_ERROR(SolveCholesky(system, reduced, context));
  const auto solved = reduced.leftCols(count);
  Matrix hessian(count, count);
  MERCER_RETURN_IF_ERROR(TransposedProduct(solved, solved, hessian, context));
  const Vector row_sums = solved.transpose() * reduced.col(count);
  const double sum = (static_cast<double>(samples) - ones.dot(reduced.col(count))) / shift;
  if (sum > 0) {
    hessian -= row_sums * row_sums.transpose() / sum;
  }
  return std::optional<Matrix>(std::move(hessian));
}

}  // namespace

absl::StatusOr<std::optional<Matrix>> WeightHessian(const KernelOperator& kernel,
                                                    const std::vector<Index>& free,
                                                    const Matrix& products, RunContext& context) {
  const std::optional<FactoredKernel> factored = kernel.Factored();
  MERCER_ASSIGN_OR_RETURN(std::optional<Matrix> hessian,
                          factored.has_value() ? FactoredHessian(*factored, free, products, context)
                                               : DenseHessian(kernel, free, products, context));
  if (hessian.has_value()) {
    hessian = (0.5 * (*hessian + hessian->transpose())).eval();
  }
  return hessian;
}

}  // namespace mercer::lp_mkl
