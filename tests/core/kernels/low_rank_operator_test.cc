#include "core/kernels/lowrank/low_rank_operator.h"

#include <cmath>

#include <gtest/gtest.h>

#include "tests/core/kernels/low_rank_test_data.h"

namespace mercer {
namespace {

constexpr Index kOperatorRows = 230;
constexpr Index kOperatorRank = 21;

std::unique_ptr<KernelOperator> MakeOperator(const std::shared_ptr<const FactorRows>& rows,
                                             const Matrix& metric) {
  RunContext context;
  auto made = LowRankOperator::Make(rows, metric, context);
  EXPECT_TRUE(made.ok()) << made.status();
  return *std::move(made);
}

// Positive semidefinite of the given rank.
Matrix MetricOfRank(Index rank) {
  const Matrix half = UniformMatrix(kOperatorRank, rank, 2);
  return half * half.transpose();
}

// Products with the features equal those with their dense matrix.
void ExpectFeatures(const FactoredKernel& factored, const Matrix& features) {
  RunContext context;
  ASSERT_EQ(factored.size(), features.rows());
  ASSERT_EQ(factored.rank(), features.cols());
  const Vector x = UniformMatrix(features.cols(), 1, 6).col(0);
  const Vector a = UniformMatrix(features.rows(), 1, 7).col(0);
  const std::vector<Index> chosen = {3, 100, 4, features.rows() - 1};
  const Matrix rows = features(chosen, Eigen::all);
  const Vector weights{{0.0, 2.0, 0.5, 1.0}};
  Vector product;
  ASSERT_TRUE(factored.Multiply(x, product, context).ok());
  ExpectMatrixNear(product, features * x, 1e-12, "Multiply");
  ASSERT_TRUE(factored.MultiplyRows(chosen, x, product, context).ok());
  ExpectMatrixNear(product, rows * x, 1e-12, "MultiplyRows");
  ASSERT_TRUE(factored.MultiplyTransposed(a, product, context).ok());
  ExpectMatrixNear(product, features.transpose() * a, 1e-12, "MultiplyTransposed");
  Matrix gram;
  ASSERT_TRUE(factored.Gram(chosen, weights, gram, context).ok());
  const Matrix lower = gram.triangularView<Eigen::Lower>();
  const Matrix expected = rows.transpose() * weights.asDiagonal() * rows;
  const Matrix expected_lower = expected.triangularView<Eigen::Lower>();
  ExpectMatrixNear(lower, expected_lower, 1e-12, "Gram");
}

// All views of the operator equal Q M Q'.
void ExpectOperator(const KernelOperator& kernel, const Matrix& expected, double tolerance) {
  RunContext context;
  const Index n = expected.rows();
  ASSERT_EQ(kernel.size(), n);
  EXPECT_EQ(kernel.Dense(), nullptr);
  const Matrix x = UniformMatrix(n, 3, 4);
  Matrix product = Matrix::Constant(n, 3, NAN);
  ASSERT_TRUE(kernel.Apply(x, product, context).ok());
  ExpectMatrixNear(product, expected * x, tolerance, "Apply");
  Vector diagonal = Vector::Constant(n, NAN);
  ASSERT_TRUE(kernel.Diagonal(diagonal, context).ok());
  ExpectMatrixNear(diagonal, expected.diagonal(), tolerance, "Diagonal");
  const std::vector<Index> columns = {n - 1, 0, 100, 0};
  const std::vector<Index> rows = {7, 0, n - 1, 7, 64};
  Matrix some = Matrix::Constant(n, 4, NAN);
  ASSERT_TRUE(kernel.Columns(columns, some, context).ok());
  Matrix block = Matrix::Constant(5, 4, NAN);
  ASSERT_TRUE(kernel.Block(rows, columns, block, context).ok());
  Matrix expected_columns(n, 4);
  for (Index j = 0; j < 4; ++j) {
    expected_columns.col(j) = expected.col(columns[static_cast<size_t>(j)]);
    for (Index i = 0; i < 5; ++i) {
      EXPECT_EQ(block(i, j), some(rows[static_cast<size_t>(i)], j)) << i << ", " << j;
    }
  }
  ExpectMatrixNear(some, expected_columns, tolerance, "Columns");
  const auto factored = kernel.Factored();
  ASSERT_TRUE(factored.has_value());
  const Matrix features = DenseFactor(factored->rows) * factored->root;
  ExpectMatrixNear(features * features.transpose(), expected, tolerance, "Factored");
  const Matrix lower = factored->root.triangularView<Eigen::Lower>();
  ExpectEqualBits(factored->root, lower, "root");
  ExpectFeatures(*factored, features);
}

TEST(LowRankOperatorTest, AllViewsEqualTheDefinition) {
  const auto rows = RandomFactor(kOperatorRows, kOperatorRank, 1);
  const Matrix metric = MetricOfRank(2 * kOperatorRank);
  const Matrix q = DenseFactor(*rows);
  ExpectOperator(*MakeOperator(rows, metric), q * metric * q.transpose(), 1e-12);
}

TEST(LowRankOperatorTest, SingularMetricsCostAtMostTheShift) {
  const auto rows = RandomFactor(kOperatorRows, kOperatorRank, 1);
  const Matrix q = DenseFactor(*rows);
  for (const Index rank : {1, 5, 20}) {
    const Matrix metric = MetricOfRank(rank);
    ExpectOperator(*MakeOperator(rows, metric), q * metric * q.transpose(), 1e-8);
  }
}

TEST(LowRankOperatorTest, EigenvaluesBelowZeroByRoundingAreAccepted) {
  const auto rows = RandomFactor(kOperatorRows, kOperatorRank, 1);
  const Matrix q = DenseFactor(*rows);
  Matrix metric = MetricOfRank(5);
  metric.diagonal().array() -= 1e-13 * metric.diagonal().mean();
  ExpectOperator(*MakeOperator(rows, metric), q * metric * q.transpose(), 1e-8);
}

TEST(LowRankOperatorTest, OnlyTheLowerTriangleOfTheMetricIsRead) {
  const auto rows = RandomFactor(kOperatorRows, kOperatorRank, 1);
  Matrix metric = MetricOfRank(2 * kOperatorRank);
  const Matrix q = DenseFactor(*rows);
  const Matrix expected = q * metric * q.transpose();
  metric.triangularView<Eigen::StrictlyUpper>().setConstant(1e6);
  ExpectOperator(*MakeOperator(rows, metric), expected, 1e-12);
}

TEST(LowRankOperatorTest, TinyAndHugeMetricsKeepTheirDigits) {
  const auto rows = RandomFactor(kOperatorRows, kOperatorRank, 1);
  const Matrix q = DenseFactor(*rows);
  for (const double scale : {1e-200, 1e200}) {
    const Matrix metric = scale * MetricOfRank(2 * kOperatorRank);
    ExpectOperator(*MakeOperator(rows, metric), q * metric * q.transpose(), 1e-12);
  }
}

TEST(LowRankOperatorTest, AZeroMetricIsTheZeroKernel) {
  const auto rows = RandomFactor(kOperatorRows, kOperatorRank, 1);
  ExpectOperator(*MakeOperator(rows, Matrix::Zero(kOperatorRank, kOperatorRank)),
                 Matrix::Zero(kOperatorRows, kOperatorRows), 0.0);
}

TEST(LowRankOperatorTest, AFactorWithoutColumnsIsTheZeroKernel) {
  const auto rows = std::make_shared<FactorRows>(kOperatorRows, 0);
  ExpectOperator(*MakeOperator(rows, Matrix(0, 0)), Matrix::Zero(kOperatorRows, kOperatorRows),
                 0.0);
}

TEST(LowRankOperatorTest, AnIndefiniteMetricIsRefused) {
  RunContext context;
  Matrix metric = MetricOfRank(kOperatorRank);
  metric(3, 3) -= 100;
  metric(4, 4) += 200;
  EXPECT_EQ(
      LowRankOperator::Make(RandomFactor(5, kOperatorRank, 1), metric, context).status().code(),
      absl::StatusCode::kInvalidArgument);
}

TEST(LowRankOperatorTest, EveryOperationEndsWithCancellation) {
  const auto rows = RandomFactor(kOperatorRows, kOperatorRank, 1);
  const Matrix metric = MetricOfRank(2 * kOperatorRank);
  const auto kernel = MakeOperator(rows, metric);
  RunContext context = CancelledContext();
  EXPECT_TRUE(absl::IsCancelled(LowRankOperator::Make(rows, metric, context).status()));
  Matrix out = Matrix::Ones(kOperatorRows, 2);
  Vector diagonal(kOperatorRows);
  const std::vector<Index> two = {1, 2};
  EXPECT_TRUE(absl::IsCancelled(kernel->Apply(out, out, context)));
  EXPECT_TRUE(absl::IsCancelled(kernel->Diagonal(diagonal, context)));
  EXPECT_TRUE(absl::IsCancelled(kernel->Columns(two, out, context)));
  EXPECT_TRUE(absl::IsCancelled(kernel->Block(two, two, out.topRows(2), context)));
}

}  // namespace
}  // namespace mercer
