// Kernels of low rank where little is left, or much: one eigenvalue, rows of nothing, numbers at the end of their range.
#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "core/base/status/errors.h"
#include "core/kernels/lowrank/kernel_landmarks.h"
#include "core/kernels/lowrank/low_rank_family.h"
#include "tests/core/kernels/low_rank_test_data.h"

namespace mercer {
namespace {

absl::StatusOr<std::unique_ptr<LowRankKernelFamily>> FamilyOn(
    const PreparedData& data, std::vector<Index> landmarks,
    const std::vector<KernelSpec>& kernels) {
  RunContext context;
  return LowRankKernelFamily::Make(data, LandmarksFromRows(data, std::move(landmarks)), kernels,
                                   LowRankOptions(), context);
}

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
  const auto pivots = PickPivots(*data, kernels, 10, context);
  ASSERT_TRUE(pivots.ok()) << pivots.status();
  EXPECT_EQ(pivots->size(), 3u);  // its rank
  EXPECT_GE(pivots->front(), 400);
  const auto drawn = DrawByLeverage(*data, kernels, 40, 1, context);
  ASSERT_TRUE(drawn.ok()) << drawn.status();
  EXPECT_GE(drawn->front(), 400);
}

// A row 1e60 times as long as others fits no number of single precision; which of the rows are looked at first does not matter.
TEST(LowRankLimitsTest, RowOutOfTheRangeOfStoredNumbersIsRefused) {
  for (const Index row : {0, 1, 5000, 19999}) {
    RowMatrix values = RandomRows(20000, 2, 1);
    values.row(row).setConstant(1e60);
    const auto data = BlockOf(values);
    const std::vector<KernelSpec> kernels = {MakeSpec(KernelType::kGaussian, "x"),
                                             MakeSpec(KernelType::kLinear, "x")};
    const auto family = FamilyOn(*data, {10, 20, 30}, kernels);
    RunContext context;
    if (family.ok()) {
      Matrix diagonals(20000, 2);
      ASSERT_TRUE((*family)->Diagonals({}, diagonals, context).ok());
      EXPECT_TRUE(diagonals.allFinite()) << row;
    } else {
      EXPECT_EQ(GetReason(family.status()), "NOT_PSD") << family.status();
      EXPECT_EQ(GetErrorMetadata(family.status()), (ErrorMetadata{{"kernel", "kernels[1]"}}));
    }
  }
}

// Of many widths the basis is about some kernels, whose places among all are others than among these.
TEST(LowRankLimitsTest, AKernelOutOfRangeIsNamedWhereOthersStandForSome) {
  std::vector<double> widths;
  for (int k = 0; k < 25; ++k) {
    widths.push_back(1.0 + 0.02 * k);
  }
  std::vector<KernelSpec> kernels = GaussiansOfX(widths);
  kernels.push_back(MakeSpec(KernelType::kLinear, "x"));
  kernels.back().labels.name = "far";
  int refused = 0;
  for (const Index row : {1, 5000, 9999}) {
    RowMatrix values = RandomRows(20000, 2, 1);
    values.row(row).setConstant(1e60);
    const auto family = FamilyOn(*BlockOf(values), {10, 20, 30}, kernels);
    if (!family.ok()) {
      ++refused;
      EXPECT_EQ(GetErrorMetadata(family.status()), (ErrorMetadata{{"kernel", "kernels[25]"}}));
      EXPECT_NE(family.status().message().find("far"), std::string_view::npos) << family.status();
    }
  }
  EXPECT_GT(refused, 0);
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
  const auto basis = FindJointBasis(*features, {0, 1, 2}, *data, {1e-8, 3, 10}, context);
  ASSERT_TRUE(basis.ok()) << basis.status();
  EXPECT_EQ(basis->restore.cols(), 10);
  EXPECT_GE(basis->sampled.size(), 3000u);
  EXPECT_LE(basis->sampled.size(), 3040u);
  EXPECT_TRUE(std::includes(basis->sampled.begin(), basis->sampled.end(), landmarks.begin(),
                            landmarks.end()));
}

}  // namespace
}  // namespace mercer
