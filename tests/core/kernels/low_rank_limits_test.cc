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

}  // namespace
}  // namespace mercer
