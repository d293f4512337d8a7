#include "core/solvers/factor/ridge.h"

#include <cmath>
#include <memory>

#include <Eigen/Cholesky>
#include <Eigen/LU>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/linalg/blocked_cholesky.h"
#include "tests/core/solvers/svm_test_problems.h"

namespace mercer {
namespace {

// The whole bordered system by LU.
Matrix DenseSolution(const Matrix& gram, const Matrix& targets, const Vector& costs,
                     bool with_bias) {
  const Index n = gram.rows();
  Matrix system = Matrix::Zero(n + 1, n + 1);
  system.topLeftCorner(n, n) = gram;
  system.diagonal().head(n) += 0.5 * costs.cwiseInverse();
  if (with_bias) {
    system.col(n).head(n).setOnes();
    system.row(n).head(n).setOnes();
  } else {
    system(n, n) = 1;
  }
  Matrix right = Matrix::Zero(n + 1, targets.cols());
  right.topRows(n) = targets;
  return system.fullPivLu().solve(right);
}

TEST(RidgeTest, AgreesWithADenseSolveOfTheBorderedSystem) {
  for (const Index n : {1, 5, 300, 600}) {
    for (const bool with_bias : {false, true}) {
      const RowMatrix x = RandomFeatures(41, n, 3);
      const Matrix gram = GaussianGram(x, 0.3);
      Matrix targets(n, 2);
      targets << NoisyTargets(41, x), NoisyTargets(42, x);
      const Vector costs = Vector::Constant(n, 0.7) + RandomFeatures(43, n, 1).col(0).cwiseAbs();
      RunContext context;
      const auto solution =
          SolveKernelRidge(DenseKernelOperator(std::make_shared<const Matrix>(gram)), targets,
                           costs, with_bias, context);
      ASSERT_TRUE(solution.ok()) << solution.status();
      const Matrix expected = DenseSolution(gram, targets, costs, with_bias);
      EXPECT_LE((solution->dual - expected.topRows(n)).lpNorm<Eigen::Infinity>(), 1e-10) << n;
      EXPECT_LE((solution->bias - expected.row(n).transpose()).lpNorm<Eigen::Infinity>(), 1e-10)
          << n;
      for (const SvmCertificate& certificate : solution->certificates) {
        EXPECT_LE(std::abs(certificate.RelativeGap()), 1e-12);
      }
    }
  }
}

TEST(RidgeTest, StationaryInFunctionAndBias) {
  const RowMatrix x = RandomFeatures(44, 50, 3);
  const Matrix gram = GaussianGram(x, 0.3);
  const Vector targets = NoisyTargets(44, x);
  const Vector costs = Vector::Constant(50, 2.0);
  RunContext context;
  const auto solution = SolveKernelRidge(DenseKernelOperator(std::make_shared<const Matrix>(gram)),
                                         targets, costs, true, context);
  ASSERT_TRUE(solution.ok());
  const auto objective = [&](const Vector& dual, double bias) {
    return 0.5 * dual.dot(gram * dual) +
           2.0 * (targets - gram * dual - Vector::Constant(50, bias)).squaredNorm();
  };
  const Vector dual = solution->dual.col(0);
  const double best = objective(dual, solution->bias(0));
  EXPECT_NEAR(best, solution->certificates[0].primal, 1e-12 * best);
  for (Index i = 0; i < 50; i += 7) {
    for (const double step : {-1e-3, 1e-3}) {
      EXPECT_GT(objective(dual + step * Vector::Unit(50, i), solution->bias(0)), best);
      EXPECT_GT(objective(dual, solution->bias(0) + step), best);
    }
  }
}

TEST(RidgeTest, WeightTwoEqualsTheSampleTwiceAndWeightZeroItsAbsence) {
  const RowMatrix x = RandomFeatures(45, 30, 2);
  RowMatrix twice(31, 2);
  twice << x, x.row(4);
  const Vector targets = NoisyTargets(45, x);
  Vector targets_twice(31);
  targets_twice << targets, targets(4);
  Vector costs = Vector::Ones(30);
  costs(4) = 2.0;
  Vector costs_absent = Vector::Ones(31);
  RunContext context;
  const auto solve = [&](const RowMatrix& rows, const Vector& y, const Vector& c) {
    return *SolveKernelRidge(
        DenseKernelOperator(std::make_shared<const Matrix>(GaussianGram(rows, 0.5))), y, c, true,
        context);
  };
  const RidgeSolution weighted = solve(x, targets, costs);
  const RidgeSolution repeated = solve(twice, targets_twice, costs_absent);
  EXPECT_LE((weighted.scores - repeated.scores.topRows(30)).lpNorm<Eigen::Infinity>(), 1e-10);
  costs_absent(30) = 0.0;
  targets_twice(30) = 1e6;
  const RidgeSolution absent = solve(twice, targets_twice, costs_absent);
  const RidgeSolution plain = solve(x, targets, Vector::Ones(30));
  EXPECT_EQ(absent.dual(30, 0), 0.0);
  EXPECT_LE((absent.scores.topRows(30) - plain.scores).lpNorm<Eigen::Infinity>(), 1e-10);
}

TEST(RidgeTest, SingularKernelAndHugeCostStillCloseTheGap) {
  const RowMatrix x = RandomFeatures(46, 60, 2);
  const Matrix gram = x * x.transpose();
  RunContext context;
  const auto solution =
      SolveKernelRidge(DenseKernelOperator(std::make_shared<const Matrix>(gram)),
                       NoisyTargets(46, x), Vector::Constant(60, 1e8), true, context);
  ASSERT_TRUE(solution.ok());
  EXPECT_LE(solution->certificates[0].RelativeGap(), 1e-6);
}

TEST(RidgeTest, RefusesIndefiniteKernelsAndBadInput) {
  const DenseKernelOperator indefinite(
      std::make_shared<const Matrix>(Matrix{{1.0, 4.0}, {4.0, 1.0}}));
  RunContext context;
  const Vector targets{{1, 2}};
  EXPECT_EQ(SolveKernelRidge(indefinite, targets, Vector::Constant(2, 10.0), true, context)
                .status()
                .code(),
            absl::StatusCode::kInvalidArgument);
  EXPECT_FALSE(SolveKernelRidge(indefinite, targets, Vector::Zero(2), true, context).ok());
  EXPECT_FALSE(SolveKernelRidge(indefinite, Vector{{1}}, Vector::Ones(2), true, context).ok());
}

TEST(RidgeTest, CancelledContextEndsIt) {
  const RowMatrix x = RandomFeatures(47, 300, 2);
  RunContext context;
  context.cancellation().Cancel();
  EXPECT_EQ(
      SolveKernelRidge(DenseKernelOperator(std::make_shared<const Matrix>(GaussianGram(x, 0.5))),
                       NoisyTargets(47, x), Vector::Ones(300), true, context)
          .status()
          .code(),
      absl::StatusCode::kCancelled);
}

TEST(BlockedCholeskyTest, ReproducesTheMatrixAndIgnoresTheUpperTriangle) {
  for (const Index n : {1, 255, 256, 257, 700}) {
    const RowMatrix x = RandomFeatures(48, n, 5);
    const Matrix a = GaussianGram(x, 0.2) + 0.1 * Matrix::Identity(n, n);
    Matrix factor = a;
    factor.triangularView<Eigen::StrictlyUpper>().setConstant(7.0);
    RunContext context;
    ASSERT_EQ(FactorCholesky(factor, context), absl::OkStatus());
    const Matrix lower = factor.triangularView<Eigen::Lower>();
    EXPECT_LE((lower * lower.transpose() - a).lpNorm<Eigen::Infinity>(),
              1e-11 * static_cast<double>(n))
        << n;
    Matrix right = a * RandomFeatures(49, n, 70);
    ASSERT_EQ(SolveCholesky(factor, right, context), absl::OkStatus());
    EXPECT_LE((right - RandomFeatures(49, n, 70)).lpNorm<Eigen::Infinity>(), 1e-8) << n;
  }
}

TEST(BlockedCholeskyTest, ThreadsChangeNoBit) {
  const Matrix a = GaussianGram(RandomFeatures(50, 700, 5), 0.2) + 0.1 * Matrix::Identity(700, 700);
  Matrix one = a;
  Matrix many = a;
  RunContext single;
  RunContext parallel(CancellationToken(), 4, nullptr);
  ASSERT_EQ(FactorCholesky(one, single), absl::OkStatus());
  ASSERT_EQ(FactorCholesky(many, parallel), absl::OkStatus());
  EXPECT_TRUE(one == many);
}

TEST(BlockedCholeskyTest, ValuesThatAreNotFiniteAreRefused) {
  RunContext context;
  for (const double value : {std::nan(""), kInfinity}) {
    Matrix matrix = 4.0 * Matrix::Identity(300, 300);
    matrix(299, 7) = value;
    EXPECT_EQ(FactorCholesky(matrix, context).code(), absl::StatusCode::kInvalidArgument) << value;
  }
}

}  // namespace
}  // namespace mercer
