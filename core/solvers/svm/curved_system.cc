#include "core/solvers/svm/curved_system.h"

#include <algorithm>
#include <optional>

#include "core/base/status/status_macros.h"
#include "core/linalg/blocked_cholesky.h"
#include "core/linalg/matrix_products.h"
#include "core/linalg/shifted_factor.h"
#include "core/solvers/svm/svm_newton.h"

namespace mercer {
namespace {

// With s = sqrt(D) and o the product by entries, (1 / D + K_JJ) lam = (K g)_J + db 1 becomes
//   (I + s s' o K_JJ) mu = s o ((K g)_J + db 1),  lam = s o mu,
// whose matrix has no eigenvalue below 1, however small or large the curvatures are.
class EntrySystem final : public CurvedSystem {
 public:
  explicit EntrySystem(const KernelOperator& kernel) : kernel_(kernel) {}

  absl::Status Multiply(const Vector& coefficients, Vector& products,
                        RunContext& context) const override {
    std::vector<Index> columns;
    for (Index i = 0; i < coefficients.size(); ++i) {
      if (coefficients(i) != 0) {
        columns.push_back(i);
      }
    }
    products = Vector::Zero(kernel_.size());
    const Vector of_columns = coefficients(columns);
    return AddKernelColumns(kernel_, columns, of_columns, products, context);
  }

  absl::Status Solve(const CurvedStep& step, CurvedDirection& direction,
                     RunContext& context) const override {
    const Vector root = step.curvature.cwiseSqrt();
    const auto count = static_cast<Index>(step.rows.size());
    direction = {Vector::Zero(count), 0};
    Matrix factor;
    bool factored = count == 0;
    MERCER_RETURN_IF_ERROR(Factor(step.rows, root, factor, factored, context));
    if (!factored || count == 0) {
      return absl::OkStatus();
    }
    Matrix solution(count, 2);
    solution.col(0) = root.cwiseProduct(step.products(step.rows));
    solution.col(1) = root;
    MERCER_RETURN_IF_ERROR(SolveCholesky(factor, solution, context));
    solution = root.asDiagonal() * solution;
    const double denominator = solution.col(1).sum();
    direction.bias = denominator > 0 ? (step.sum - solution.col(0).sum()) / denominator : 0.0;
    direction.multipliers = solution.col(0) + direction.bias * solution.col(1);
    return absl::OkStatus();
  }

  double Cost(Index rows) const override {
    const auto curved = static_cast<double>(rows);
    const auto n = static_cast<double>(kernel_.size());
    return curved * curved * curved / 3.0 + 8.0 * n * n;
  }

 private:
  // The matrix is gathered anew for every trial: a copy of it would be as large as the kernel.
  absl::Status Factor(const std::vector<Index>& rows, const Vector& root, Matrix& factor,
                      bool& factored, RunContext& context) const {
    double shift = 1.0;
    for (int trial = 0; trial < 6 && !factored; ++trial) {
      MERCER_RETURN_IF_ERROR(GatherKernel(kernel_, rows, factor, context));
      for (Index j = 0; j < factor.cols(); ++j) {
        factor.col(j).tail(factor.rows() - j).array() *=
            root(j) * root.tail(factor.rows() - j).array();
      }
      const double rounding = 1e-15 * factor.diagonal().cwiseAbs().sum();
      factor.diagonal().array() += shift;
      const absl::Status status = FactorCholesky(factor, context);
      if (absl::IsCancelled(status)) {
        return status;
      }
      factored = status.ok();
      shift = 100.0 * std::max(shift, rounding);
    }
    return absl::OkStatus();
  }

  const KernelOperator& kernel_;
};

// With K = X X' and dv = X'g - X_J'lam the system is one of the order of the features:
//   (I + X_J'D X_J) dv + X_J'D 1 db = X'g,  1'D (X_J dv + 1 db) = sum,  lam = D (X_J dv + 1 db).
class FactoredSystem final : public CurvedSystem {
 public:
  explicit FactoredSystem(const FactoredKernel& kernel) : kernel_(kernel) {}

  absl::Status Multiply(const Vector& coefficients, Vector& products,
                        RunContext& context) const override {
    Vector reduced;
    MERCER_RETURN_IF_ERROR(Reduce(coefficients, reduced, context));
    const Vector of_rows = kernel_.root.triangularView<Eigen::Lower>() * reduced;
    products.resize(kernel_.rows.rows());
    return kernel_.rows.Multiply(of_rows, products, context);
  }

  absl::Status Solve(const CurvedStep& step, CurvedDirection& direction,
                     RunContext& context) const override {
    const Index rank = kernel_.rows.cols();
    const auto count = static_cast<Index>(step.rows.size());
    direction = {Vector::Zero(count), 0};
    Matrix system;
    const absl::Status factored = Factor(step, system, context);
    if (!factored.ok()) {
      return absl::IsCancelled(factored) ? factored : absl::OkStatus();
    }
    Vector curvature = Vector::Zero(kernel_.rows.rows());
    curvature(step.rows) = step.curvature;
    Vector reduced;
    Vector column;
    MERCER_RETURN_IF_ERROR(Reduce(step.gradient, reduced, context));
    MERCER_RETURN_IF_ERROR(Reduce(curvature, column, context));
    Matrix solution(rank, 2);
    solution << reduced, column;
    MERCER_RETURN_IF_ERROR(SolveCholesky(system, solution, context));
    const double corner = step.curvature.sum();
    const double schur = corner - column.dot(solution.col(1));
    direction.bias =
        schur > 1e-14 * corner ? (step.sum - column.dot(solution.col(0))) / schur : 0.0;
    const Vector coefficients = solution.col(0) - direction.bias * solution.col(1);
    const Vector of_rows = kernel_.root.triangularView<Eigen::Lower>() * coefficients;
    MERCER_RETURN_IF_ERROR(
        kernel_.rows.MultiplyRows(step.rows, of_rows, direction.multipliers, context));
    direction.multipliers =
        step.curvature.array() * (direction.multipliers.array() + direction.bias);
    return absl::OkStatus();
  }

  double Cost(Index rows) const override {
    const auto n = static_cast<double>(kernel_.rows.rows());
    const auto rank = static_cast<double>(kernel_.rows.cols());
    return static_cast<double>(rows) * rank * rank + 16.0 * n * rank + 5.0 * rank * rank * rank;
  }

 private:
  absl::Status Reduce(const Vector& coefficients, Vector& reduced, RunContext& context) const {
    Vector of_rows(kernel_.rows.cols());
    MERCER_RETURN_IF_ERROR(kernel_.rows.MultiplyTransposed(coefficients, of_rows, context));
    reduced = kernel_.root.triangularView<Eigen::Lower>().transpose() * of_rows;
    return absl::OkStatus();
  }

  absl::Status Factor(const CurvedStep& step, Matrix& system, RunContext& context) const {
    const Index rank = kernel_.rows.cols();
    Matrix gram = Matrix::Zero(rank, rank);
    MERCER_RETURN_IF_ERROR(kernel_.rows.AddGram(step.rows, step.curvature, 1.0, gram, context));
    system.resize(rank, rank);
    MERCER_RETURN_IF_ERROR(TriangularCongruence(gram, kernel_.root, system, context));
    return FactorShifted(system, context);
  }

  const FactoredKernel kernel_;
};

}  // namespace

std::unique_ptr<CurvedSystem> MakeCurvedSystem(const KernelOperator& kernel) {
  const std::optional<FactoredKernel> factored = kernel.Factored();
  if (factored.has_value()) {
    return std::make_unique<FactoredSystem>(*factored);
  }
  return std::make_unique<EntrySystem>(kernel);
}

}  // namespace mercer
