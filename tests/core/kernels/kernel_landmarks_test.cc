#include "core/kernels/lowrank/kernel_landmarks.h"

#include <algorithm>
#include <limits>
#include <set>

#include <gtest/gtest.h>

#include "core/base/numeric/index_range.h"
#include "tests/core/kernels/low_rank_test_data.h"

namespace mercer {
namespace {

// The kernels' sum, each divided by its mean diagonal.
Matrix NaiveMean(const std::vector<KernelSpec>& kernels, const PreparedData& data) {
  Matrix mean = Matrix::Zero(data.rows, data.rows);
  const std::vector<Index> columns = IndexRange(0, data.rows);
  for (const KernelSpec& spec : kernels) {
    const Matrix gram = NaiveCross(spec, data, data, columns);
    mean += gram / gram.diagonal().mean();
  }
  return mean;
}

std::vector<Index> NaivePivots(Matrix rest, Index count) {
  std::vector<Index> pivots;
  const double largest = rest.diagonal().maxCoeff();
  for (Index r = 0; r < count; ++r) {
    Index pivot = 0;
    const double value = rest.diagonal().maxCoeff(&pivot);
    if (value <= 1e-12 * largest) {
      break;
    }
    pivots.push_back(pivot);
    rest -= rest.col(pivot) * rest.row(pivot) / value;
  }
  std::sort(pivots.begin(), pivots.end());
  return pivots;
}

std::vector<Index> Pivots(const PreparedData& data, const std::vector<KernelSpec>& kernels,
                          Index count, int num_threads = 1) {
  RunContext context = ContextOfThreads(num_threads);
  const auto rows = PickPivots(data, kernels, count, 1, context);
  EXPECT_TRUE(rows.ok()) << rows.status();
  return rows.ok() ? *rows : std::vector<Index>();
}

std::vector<Index> Leverage(const PreparedData& data, const std::vector<KernelSpec>& kernels,
                            Index count, uint64_t seed, int num_threads = 1) {
  RunContext context = ContextOfThreads(num_threads);
  const auto rows = DrawByLeverage(data, kernels, count, seed, context);
  EXPECT_TRUE(rows.ok()) << rows.status();
  return rows.ok() ? *rows : std::vector<Index>();
}

TEST(KernelLandmarksTest, PivotsAreThoseOfTheCholeskyFactorOfTheMean) {
  const auto data = MixedData(90, 4);
  KernelSpec scaled = MakeSpec(KernelType::kLinear, "wide");
  const std::vector<std::vector<KernelSpec>> sets = {
      {MakeSpec(KernelType::kGaussian, "x", 0.8)},
      {MakeSpec(KernelType::kGaussian, "x", 0.8), MakeSpec(KernelType::kLaplacian, "x", 2.0),
       scaled, MakeSpec(KernelType::kPolynomial, "x")},
      {MakeSpec(KernelType::kPrecomputed, "K")}};
  for (const std::vector<KernelSpec>& kernels : sets) {
    EXPECT_EQ(Pivots(*data, kernels, 12), NaivePivots(NaiveMean(kernels, *data), 12));
  }
}

TEST(KernelLandmarksTest, PivotsEndWithTheRankOfTheKernel) {
  RowMatrix rows = RandomRows(200, 3, 5);
  EXPECT_EQ(Pivots(*BlockOf(rows), {MakeSpec(KernelType::kLinear, "x")}, 50).size(), 3u);
  for (Index i = 0; i < rows.rows(); ++i) {
    rows.row(i) = rows.row(i % 7).eval();
  }
  EXPECT_EQ(Pivots(*BlockOf(rows), GaussiansOfX({0.5}), 50).size(), 7u);
  // All rows equal, and a kernel that is zero: one landmark.
  rows.rowwise() = rows.row(0).eval();
  EXPECT_EQ(Pivots(*BlockOf(rows), GaussiansOfX({0.5}), 50).size(), 1u);
  EXPECT_EQ(
      Pivots(*BlockOf(RowMatrix::Zero(20, 3)), {MakeSpec(KernelType::kLinear, "x")}, 5).size(), 1u);
}

TEST(KernelLandmarksTest, APoolOfManyRowsIsDrawn) {
  EXPECT_EQ(LandmarkPoolRows(300, 10), 300);
  EXPECT_EQ(LandmarkPoolRows(1'000'000, 100), 5000);
  EXPECT_EQ(LandmarkPoolRows(1'000'000, 10'000), 20'000);
  const auto data = BlockOf(RandomRows(6000, 2, 6));
  for (const std::vector<Index>& rows :
       {Pivots(*data, GaussiansOfX({0.3}), 20), Leverage(*data, GaussiansOfX({0.3}), 20, 2)}) {
    EXPECT_EQ(std::set<Index>(rows.begin(), rows.end()).size(), 20u);
    EXPECT_TRUE(std::is_sorted(rows.begin(), rows.end()));
    EXPECT_GE(rows.front(), 0);
    EXPECT_LT(rows.back(), 6000);
  }
}

// Ten rows far from the 990 others, and from one another, span most of a narrow kernel's remaining directions.
TEST(KernelLandmarksTest, RowsUnlikeAllOthersAreDrawnMoreOften) {
  RowMatrix values = 0.05 * RandomRows(1000, 2, 7);
  for (Index i = 0; i < 10; ++i) {
    values.row(100 * i).setConstant(5.0 * static_cast<double>(i + 1));
  }
  const auto data = BlockOf(values);
  int by_leverage = 0;
  int uniform = 0;
  for (uint64_t seed = 0; seed < 60; ++seed) {
    for (const Index row : Leverage(*data, GaussiansOfX({0.5}), 50, seed)) {
      by_leverage += row % 100 == 0 ? 1 : 0;
    }
    for (const Index row : DrawRows(1000, 50, seed, "landmarks")) {
      uniform += row % 100 == 0 ? 1 : 0;
    }
  }
  EXPECT_GT(by_leverage, 2 * uniform) << uniform;
}

TEST(KernelLandmarksTest, TheSameForEveryNumberOfThreads) {
  const auto data = BlockOf(RandomRows(700, 4, 8));
  const std::vector<KernelSpec> kernels = GaussiansOfX({0.5, 2.0});
  EXPECT_EQ(Pivots(*data, kernels, 30, 1), Pivots(*data, kernels, 30, 3));
  EXPECT_EQ(Leverage(*data, kernels, 30, 4, 1), Leverage(*data, kernels, 30, 4, 3));
  EXPECT_NE(Leverage(*data, kernels, 30, 4), Leverage(*data, kernels, 30, 5));
}

TEST(KernelLandmarksTest, IdentityAndConstantKernels) {
  const auto data = BlockOf(RandomRows(300, 4, 9));
  for (const double width : {1e-9, 1e9, std::numeric_limits<double>::min()}) {
    EXPECT_EQ(Leverage(*data, GaussiansOfX({width}), 30, 1).size(), 30u) << width;
    EXPECT_LE(Pivots(*data, GaussiansOfX({width}), 30).size(), 30u) << width;
  }
  EXPECT_EQ(
      Leverage(*BlockOf(RowMatrix::Zero(50, 2)), {MakeSpec(KernelType::kLinear, "x")}, 5, 1).size(),
      5u);
}

TEST(KernelLandmarksTest, Cancelled) {
  const auto data = BlockOf(RandomRows(300, 4, 9));
  RunContext cancelled = CancelledContext();
  EXPECT_TRUE(absl::IsCancelled(PickPivots(*data, GaussiansOfX({1.0}), 5, 1, cancelled).status()));
  EXPECT_TRUE(
      absl::IsCancelled(DrawByLeverage(*data, GaussiansOfX({1.0}), 5, 1, cancelled).status()));
}

}  // namespace
}  // namespace mercer
