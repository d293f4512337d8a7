#include "core/solvers/svm/curved_system.h"

#include <optional>

#include "core/base/process/row_vectors.h"
#include "core/base/status/status_macros.h"
#include "core/linalg/blocked_cholesky.h"
#include "core/linalg/row_products.h"
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

  Index size() const override { return kernel_.size(); }

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
    if (count == 0) {
      return absl::OkStatus();
    }
    Matrix factor;
    const absl::Status factored = FactorShifted(
        [&](Matrix& system) { return Form(step.rows, root, system, context); }, factor, context);
    if (absl::IsInvalidArgument(factored)) {
      return absl::OkStatus();
    }
    MERCER_RETURN_IF_ERROR(factored);
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
  // The lower triangle of s s' o K_JJ.
  absl::Status Form(const std::vector<Index>& rows, const Vector& root, Matrix& system,
                    RunContext& context) const {
    MERCER_RETURN_IF_ERROR(GatherKernel(kernel_, rows, system, context));
    for (Index j = 0; j < system.cols(); ++j) {
      system.col(j).tail(system.rows() - j).array() *=
          root(j) * root.tail(system.rows() - j).array();
    }
    return absl::OkStatus();
  }

  const KernelOperator& kernel_;
};

// Features X that are the rows of a matrix, with the operations of FactoredKernel.
class DenseFeatures {
 public:
  explicit DenseFeatures(const Matrix& features) : features_(features) {}

  Index size() const { return features_.rows(); }
  Index rank() const { return features_.cols(); }

  absl::Status Multiply(const Vector& x, Vector& out, RunContext& context) const {
    out.resize(size());
    return ForRowBlocks(size(), kPassRows, context, [&](Index begin, Index count) {
      out.segment(begin, count).noalias() = features_.middleRows(begin, count) * x;
    });
  }
  absl::Status MultiplyTransposed(const Vector& a, Vector& out, RunContext& context) const {
    MERCER_ASSIGN_OR_RETURN(const Matrix product, ProductOverRows(features_, a, context));
    out = product.col(0);
    return absl::OkStatus();
  }
  absl::Status Gram(const std::vector<Index>& of, const Vector& weights, Matrix& out,
                    RunContext& context) const {
    Vector roots = Vector::Zero(size());
    roots(of) = weights.cwiseSqrt();
    MERCER_ASSIGN_OR_RETURN(out, GramOverRows(features_, of, roots, context));
    return absl::OkStatus();
  }

 private:
  const Matrix& features_;
};

// With K = X X' and dv = X'g - X_J'lam the system is one of the order of the features:
//   (I + X_J'D X_J) dv + X_J'D 1 db = X'g,  1'D (X_J dv + 1 db) = sum,  lam = D (X_J dv + 1 db).
template <typename Features, bool kKeepsWeights>
class FeatureSystem final : public CurvedSystem {
 public:
  // `cubic_operations`: of the Gram matrix and its factorisation, for each cube of the rank, beside
  // those for each row.
  FeatureSystem(const Features& features, double cubic_operations)
      : features_(features), cubic_operations_(cubic_operations) {}

  Index size() const override { return features_.size(); }
  std::optional<Index> num_weights() const override {
    return kKeepsWeights ? std::optional(features_.rank()) : std::nullopt;
  }

  absl::Status Multiply(const Vector& coefficients, Vector& products,
                        RunContext& context) const override {
    if constexpr (kKeepsWeights) {
      return features_.MultiplyTransposed(coefficients, products, context);
    }
    Vector reduced;
    MERCER_RETURN_IF_ERROR(features_.MultiplyTransposed(coefficients, reduced, context));
    return features_.Multiply(reduced, products, context);
  }

  absl::Status Score(const Vector& weights, Vector& scores, RunContext& context) const override {
    return features_.Multiply(weights, scores, context);
  }

  absl::Status Solve(const CurvedStep& step, CurvedDirection& direction,
                     RunContext& context) const override {
    direction = {Vector::Zero(static_cast<Index>(step.rows.size())), 0};
    Vector weights;  // X'g, then dv
    if constexpr (kKeepsWeights) {
      weights = step.products;
    } else {
      MERCER_RETURN_IF_ERROR(features_.MultiplyTransposed(step.gradient, weights, context));
    }
    Matrix factor;
    const absl::Status factored = FactorShifted(
        [&](Matrix& gram) { return features_.Gram(step.rows, step.curvature, gram, context); },
        factor, context);
    if (absl::IsInvalidArgument(factored)) {
      return Keep(weights, direction, context);
    }
    MERCER_RETURN_IF_ERROR(factored);
    Vector curvature = Vector::Zero(size());
    curvature(step.rows) = step.curvature;
    Vector column;
    MERCER_RETURN_IF_ERROR(features_.MultiplyTransposed(curvature, column, context));
    Matrix solution(features_.rank(), 2);
    solution.col(0) = weights;
    solution.col(1) = column;
    MERCER_RETURN_IF_ERROR(SolveCholesky(factor, solution, context));
    const double corner = SumOfRows(curvature);
    const double schur = corner - column.dot(solution.col(1));
    direction.bias =
        schur > 1e-14 * corner ? (step.sum - column.dot(solution.col(0))) / schur : 0.0;
    weights = solution.col(0) - direction.bias * solution.col(1);
    if constexpr (kKeepsWeights) {
      MERCER_RETURN_IF_ERROR(Keep(weights, direction, context));
      direction.multipliers = direction.scores(step.rows);
    } else {
      MERCER_RETURN_IF_ERROR(
          features_.MultiplyRows(step.rows, weights, direction.multipliers, context));
    }
    direction.multipliers =
        step.curvature.array() * (direction.multipliers.array() + direction.bias);
    return absl::OkStatus();
  }

  double Cost(Index rows) const override {
    const auto n = static_cast<double>(features_.size());
    const auto rank = static_cast<double>(features_.rank());
    return static_cast<double>(rows) * rank * rank + 16.0 * n * rank +
           cubic_operations_ * rank * rank * rank;
  }

 private:
  absl::Status Keep(const Vector& weights, CurvedDirection& direction, RunContext& context) const {
    if constexpr (kKeepsWeights) {
      direction.weights = weights;
      return Score(direction.weights, direction.scores, context);
    }
    return absl::OkStatus();
  }

  const Features features_;
  const double cubic_operations_;
};

}  // namespace

std::unique_ptr<CurvedSystem> MakeCurvedSystem(const KernelOperator& kernel) {
  const std::optional<FactoredKernel> factored = kernel.Factored();
  if (factored.has_value()) {
    return std::make_unique<FeatureSystem<FactoredKernel, false>>(*factored, 5.0);
  }
  return std::make_unique<EntrySystem>(kernel);
}

std::unique_ptr<CurvedSystem> MakeFeatureSystem(const Matrix& features) {
  return std::make_unique<FeatureSystem<DenseFeatures, true>>(DenseFeatures(features), 1.0);
}

}  // namespace mercer
