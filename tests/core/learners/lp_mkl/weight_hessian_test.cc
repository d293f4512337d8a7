// The curvature of the optimum in the kernel weights, against differences of optima.
#include "core/solvers/mkl/weight_hessian.h"

#include <memory>
#include <optional>
#include <vector>

#include <Eigen/Cholesky>
#include <gtest/gtest.h>

#include "core/solvers/svm/curved_svm.h"
#include "tests/core/learners/lp_mkl/lp_mkl_problems.h"

namespace mercer::lp_mkl {
namespace {

constexpr Index kHessianSize = 40;
const std::vector<double> kHessianWidths = {0.7, 2.0, 6.0};

struct HessianCase {
  std::vector<Matrix> grams;
  SvmProblem problem;

  std::shared_ptr<const Matrix> Sum(const Vector& weights) const {
    Matrix sum = Matrix::Zero(kHessianSize, kHessianSize);
    for (size_t k = 0; k < grams.size(); ++k) {
      sum += weights(static_cast<Index>(k)) * grams[k];
    }
    return std::make_shared<const Matrix>(std::move(sum));
  }
  // The solution of the machine of these weights.
  std::unique_ptr<CurvedSvmSolver> Solve(const KernelOperator& kernel) const {
    auto solver = std::make_unique<CurvedSvmSolver>(kernel, 1e-15);
    RunContext context;
    EXPECT_TRUE(solver->Start(problem, {}, context).ok() && solver->Run(context).ok());
    EXPECT_LE(solver->certificate().RelativeGap(), 1e-12);
    return solver;
  }
  // -1/2 dual'K_k dual: the gradient of the optimum.
  Vector Gradient(const Vector& weights) const {
    const DenseKernelOperator kernel(Sum(weights));
    const Vector dual = Solve(kernel)->dual();
    Vector gradient(3);
    for (Index k = 0; k < 3; ++k) {
      gradient(k) = -0.5 * dual.dot(grams[static_cast<size_t>(k)] * dual);
    }
    return gradient;
  }
};

HessianCase MakeHessianCase(LossKind kind) {
  const Cloud cloud = OverlappingClouds(kHessianSize, 2, 11);
  HessianCase hessian;
  for (const double width : kHessianWidths) {
    hessian.grams.push_back(GaussianGram(cloud.x, cloud.x, width));
  }
  const Vector numbers = cloud.x.col(0).array().sin() + 0.3 * cloud.labels.array();
  hessian.problem = {*MakeLoss(kind), kind == LossKind::kSquare ? numbers : cloud.labels,
                     Vector::Constant(kHessianSize, 3.0)};
  return hessian;
}

// K = X X' with the Cholesky factor of K as features, in single precision: the kernel differs from K by as much.
class FactorOf final : public KernelOperator {
 public:
  explicit FactorOf(const Matrix& gram)
      : rows_(gram.rows(), gram.rows()), root_(Matrix::Identity(gram.rows(), gram.rows())) {
    Matrix ridged = gram;
    ridged.diagonal().array() += 1e-10;
    const Matrix factor = ridged.llt().matrixL();
    for (Index i = 0; i < gram.rows(); ++i) {
      rows_.SetRow(i, factor.row(i).transpose());
    }
  }

  Index size() const override { return rows_.rows(); }
  absl::Status Apply(ConstMatrixRef, MatrixRef, RunContext&) const override { return Unused(); }
  absl::Status Diagonal(VectorRef, RunContext&) const override { return Unused(); }
  absl::Status Columns(absl::Span<const Index>, MatrixRef, RunContext&) const override {
    return Unused();
  }
  absl::Status Block(absl::Span<const Index>, absl::Span<const Index>, MatrixRef,
                     RunContext&) const override {
    return Unused();
  }
  std::optional<FactoredKernel> Factored() const override { return FactoredKernel{rows_, root_}; }

 private:
  static absl::Status Unused() { return absl::InternalError("the features are to be read"); }

  FactorRows rows_;
  Matrix root_;
};

TEST(WeightHessianTest, IsTheDerivativeOfTheGradient) {
  const Vector weights{{0.5, 0.7, 0.4}};
  for (const LossKind kind : {LossKind::kSquare, LossKind::kSquaredHinge, LossKind::kLogistic}) {
    const HessianCase hessian = MakeHessianCase(kind);
    const DenseKernelOperator kernel(hessian.Sum(weights));
    const FactorOf features(*hessian.Sum(weights));
    const std::unique_ptr<CurvedSvmSolver> solved = hessian.Solve(kernel);
    const CurvedSamples samples = SamplesWithCurvature(
        {*hessian.problem.loss, hessian.problem.targets, hessian.problem.costs}, solved->scores(),
        solved->certificate().bias.chosen);
    Matrix products(static_cast<Index>(samples.rows.size()), 3);
    for (Index k = 0; k < 3; ++k) {
      const Vector product = hessian.grams[static_cast<size_t>(k)] * solved->dual();
      products.col(k) = product(samples.rows);
    }
    Matrix differences(3, 3);
    for (Index k = 0; k < 3; ++k) {
      const Vector step = 1e-4 * Vector::Unit(3, k);
      differences.col(k) =
          (hessian.Gradient(weights + step) - hessian.Gradient(weights - step)) / 2e-4;
    }
    RunContext context;
    for (const KernelOperator* of : std::vector<const KernelOperator*>{&kernel, &features}) {
      const auto found = WeightHessian(*of, samples, products, context);
      ASSERT_TRUE(found.ok() && found->has_value()) << found.status();
      const double tolerance = of == &kernel ? 1e-5 : 1e-3;
      EXPECT_LE((**found - differences).norm(), tolerance * differences.norm())
          << "kind " << static_cast<int>(kind) << "\n"
          << **found << "\ninstead of\n"
          << differences;
    }
  }
}

}  // namespace
}  // namespace mercer::lp_mkl
