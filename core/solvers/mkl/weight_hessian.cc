#include "core/solvers/mkl/weight_hessian.h"

#include <algorithm>

#include "core/base/status/status_macros.h"
#include "core/linalg/blocked_cholesky.h"
#include "core/linalg/matrix_products.h"
#include "core/solvers/svm/svm_newton.h"

namespace mercer {
namespace {

constexpr double kShift = 1e-8;       // of the mean diagonal of S
constexpr Index kHessianRows = 2048;  // rows per product: about 10 ms with 256 kernels

// With s = sqrt(D), or ones for a piecewise linear loss, and o the product by entries, everything
// is in terms of s s' o K_FF + shift, s o G and s: the shift is 1 for a loss with second
// derivatives, and the matrix then has no eigenvalue below 1 at any cost.
Vector RootOfCurvature(const CurvedSamples& samples) {
  const auto count = static_cast<Index>(samples.rows.size());
  return samples.curvature.size() == 0 ? Vector(Vector::Ones(count))
                                       : Vector(samples.curvature.cwiseSqrt());
}

// Solves (s s' o K_FF + shift) [T, t] = [s o G, s]. Nothing when the matrix is not positive
// definite in floating point.
absl::StatusOr<std::optional<Matrix>> SolveSamples(const KernelOperator& kernel,
                                                   const CurvedSamples& samples,
                                                   const Matrix& scaled, RunContext& context) {
  const Vector root = scaled.rightCols(1);
  const bool linear = samples.curvature.size() == 0;
  double relative = kShift;
  for (int trial = 0; trial < 4; ++trial, relative *= 100.0) {
    Matrix factor;
    MERCER_RETURN_IF_ERROR(GatherKernel(kernel, samples.rows, factor, context));
    if (!linear) {
      for (Index j = 0; j < factor.cols(); ++j) {
        factor.col(j).tail(factor.rows() - j).array() *=
            root(j) * root.tail(factor.rows() - j).array();
      }
    }
    const double mean = factor.diagonal().mean();
    const double later = trial == 0 ? 0.0 : relative * 1e-8 * mean;
    factor.diagonal().array() += linear ? relative * mean : 1.0 + later;
    const absl::Status status = FactorCholesky(factor, context);
    if (absl::IsCancelled(status)) {
      return status;
    }
    if (status.ok()) {
      Matrix solution = scaled;
      MERCER_RETURN_IF_ERROR(SolveCholesky(factor, solution, context));
      return std::optional<Matrix>(std::move(solution));
    }
  }
  return std::optional<Matrix>();
}

// The Hessian for a kernel whose entries are asked for: a system of the order of the curved
// samples.
absl::StatusOr<std::optional<Matrix>> DenseHessian(const KernelOperator& kernel,
                                                   const CurvedSamples& samples,
                                                   const Matrix& products, RunContext& context) {
  const Index count = products.cols();
  const Vector root = RootOfCurvature(samples);
  Matrix scaled(products.rows(), count + 1);
  scaled << root.asDiagonal() * products, root;
  MERCER_ASSIGN_OR_RETURN(const std::optional<Matrix> solved,
                          SolveSamples(kernel, samples, scaled, context));
  if (!solved.has_value()) {
    return std::optional<Matrix>();
  }
  Matrix hessian = Matrix::Zero(count, count);
  for (Index begin = 0; begin < products.rows(); begin += kHessianRows) {
    MERCER_RETURN_IF_ERROR(context.CheckCancelled());
    const Index rows = std::min(kHessianRows, products.rows() - begin);
    hessian.noalias() +=
        scaled.block(begin, 0, rows, count).transpose() * solved->block(begin, 0, rows, count);
  }
  const Vector row_sums = solved->leftCols(count).transpose() * root;  // G'S^-1 1
  hessian -= row_sums * row_sums.transpose() / root.dot(solved->col(count));
  return std::optional<Matrix>(std::move(hessian));
}

// out = root'rows'(weights o a) for values `a` of the curved samples.
absl::Status ReduceSamples(const FactoredKernel& kernel, const CurvedSamples& samples,
                           const Vector& values, Eigen::Ref<Vector> out, RunContext& context) {
  Vector scattered = Vector::Zero(kernel.size());
  scattered(samples.rows) =
      samples.curvature.size() == 0 ? values : Vector(samples.curvature.cwiseProduct(values));
  Vector reduced;
  MERCER_RETURN_IF_ERROR(kernel.MultiplyTransposed(scattered, reduced, context));
  out = reduced;
  return absl::OkStatus();
}

// Replaces the system by the factor of system + shift; false when that is not positive definite in
// floating point.
absl::StatusOr<bool> FactorWithShift(double shift, Matrix& system, RunContext& context) {
  system.diagonal().array() += shift;
  const absl::Status factored = FactorCholesky(system, context);
  if (absl::IsCancelled(factored)) {
    return factored;
  }
  return factored.ok();
}

// With features X = s o X_F, A = X'X, T = X'(s o G), t = X's: every s o G is X Y for some Y, which
// Y = (A + small)^-1 T is but for directions that the small number takes away anyhow. Then
// G'S^-1 G = Y'(A + shift)^-1 T, 1'S^-1 G = t'(A + shift)^-1 Y and
// 1'S^-1 1 = (s's - t'(A + shift)^-1 t) / shift.
absl::StatusOr<std::optional<Matrix>> FactoredHessian(const FactoredKernel& kernel,
                                                      const CurvedSamples& samples,
                                                      const Matrix& products, RunContext& context) {
  const Index rank = kernel.rank();
  const Index count = products.cols();
  const auto rows = static_cast<Index>(samples.rows.size());
  const Vector ones = Vector::Ones(rows);
  const bool linear = samples.curvature.size() == 0;
  const Vector& weights = linear ? ones : samples.curvature;
  Matrix system;
  MERCER_RETURN_IF_ERROR(kernel.Gram(samples.rows, weights, system, context));
  const double small = kShift * system.trace() / static_cast<double>(rows);
  const double shift = linear ? small : 1.0;
  Matrix reduced(rank, count + 1);
  for (Index k = 0; k < count; ++k) {
    MERCER_RETURN_IF_ERROR(
        ReduceSamples(kernel, samples, products.col(k), reduced.col(k), context));
  }
  MERCER_RETURN_IF_ERROR(ReduceSamples(kernel, samples, ones, reduced.col(count), context));
  const Vector sums = reduced.col(count);
  Matrix functions = reduced.leftCols(count);  // Y
  if (!linear) {
    Matrix gram = system;
    MERCER_ASSIGN_OR_RETURN(const bool positive, FactorWithShift(small, gram, context));
    if (!positive) {
      return std::optional<Matrix>();
    }
    MERCER_RETURN_IF_ERROR(SolveCholesky(gram, functions, context));
  }
  MERCER_ASSIGN_OR_RETURN(const bool positive, FactorWithShift(shift, system, context));
  if (!positive) {
    return std::optional<Matrix>();
  }
  MERCER_RETURN_IF_ERROR(SolveCholesky(system, reduced, context));
  const auto solved = reduced.leftCols(count);
  if (linear) {
    functions = solved;
  }
  Matrix hessian(count, count);
  MERCER_RETURN_IF_ERROR(TransposedProduct(functions, solved, hessian, context));
  const Vector row_sums = functions.transpose() * reduced.col(count);
  const double sum = (weights.sum() - sums.dot(reduced.col(count))) / shift;
  if (sum > 0) {
    hessian -= row_sums * row_sums.transpose() / sum;
  }
  return std::optional<Matrix>(std::move(hessian));
}

}  // namespace

absl::StatusOr<std::optional<Matrix>> WeightHessian(const KernelOperator& kernel,
                                                    const CurvedSamples& samples,
                                                    const Matrix& products, RunContext& context) {
  const std::optional<FactoredKernel> factored = kernel.Factored();
  MERCER_ASSIGN_OR_RETURN(std::optional<Matrix> hessian,
                          factored.has_value()
                              ? FactoredHessian(*factored, samples, products, context)
                              : DenseHessian(kernel, samples, products, context));
  if (hessian.has_value()) {
    hessian = (0.5 * (*hessian + hessian->transpose())).eval();
  }
  return hessian;
}

}  // namespace mercer
