// Kernels of low rank where little is left, or much: one eigenvalue, rows of nothing, numbers at the end of their range.
#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "core/base/errors.h"
#include "core/kernels/kernel_landmarks.h"
#include "core/kernels/low_rank_family.h"
#include "tests/core/kernels/low_rank_test_data.h"

namespace mercer {
namespace {

TEST(LowRankLimitsTest, TheLargestEigenvalueIsAlwaysKept) {
  const auto data = BlockOf(RandomRows(200, 3, 1));
  std::vector<Index> rows;
  for (Index i = 0; i < 150; ++i) {
    rows.push_back(i);
  }
  RunContext context;
  const auto features = NystromFeatures::Make(LandmarksFromRows(*data, rows),
                                              GaussiansOfX({1.0, 1e-9}), {0, 1e-2}, context);
  ASSERT_TRUE(features.ok()) << features.status();
  EXPECT_EQ(features->first_feature(1), 1);
  EXPECT_EQ(features->num_features(), 2);
}

// The first rows of a kernel's columns are zero, as those of sorted sparse data: it counts among the kernels all the same.
TEST(LowRankLimitsTest, LandmarksAreFoundBehindManyRowsOfNothing) {
  RowMatrix values = RowMatrix::Zero(500, 3);
  values.bottomRows(100) = RandomRows(100, 3, 1);
  const auto data = BlockOf(values);
  const std::vector<KernelSpec> kernels = {MakeSpec(KernelType::kLinear, "x")};
  RunContext context;
  const auto pivots = PickPivots(*data, kernels, 10, 1, context);
  ASSERT_TRUE(pivots.ok()) << pivots.status();
  EXPECT_EQ(pivots->size(), 3u);  // its rank
  EXPECT_GE(pivots->front(), 400);
  const auto drawn = DrawByLeverage(*data, kernels, 40, 1, context);
  ASSERT_TRUE(drawn.ok()) << drawn.status();
  EXPECT_GE(drawn->front(), 400);
}

// A basis with as many columns as it may have gains nothing from more rows, and keeps no more of them in memory.
TEST(LowRankLimitsTest, FullBasisIsFoundFromOneSample) {
  const auto data = BlockOf(RandomRows(20000, 4, 1));
  std::vector<Index> landmarks;
  for (Index i = 0; i < 40; ++i) {
    landmarks.push_back(400 * i);
  }
  RunContext context;
  const auto features = NystromFeatures::Make(LandmarksFromRows(*data, landmarks),
                                              GaussiansOfX({0.2, 0.4, 0.8}), {}, context);
  ASSERT_TRUE(features.ok()) << features.status();
  const auto basis = FindJointBasis(*features, *data, {1e-8, 3, 10}, context);
  ASSERT_TRUE(basis.ok()) << basis.status();
  EXPECT_EQ(basis->reduce.cols(), 10);
  EXPECT_EQ(basis->sampled.size(), 3000u);
}

}  // namespace
}  // namespace mercer
