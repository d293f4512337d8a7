#include "core/features/normalization.h"

#include <cmath>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

namespace mercer {
namespace {

ColumnSums Column(const std::vector<double>& values) {
  ColumnSums sums;
  for (const double value : values) {
    sums.sum += value;
    sums.squares += value * value;
    sums.largest = std::max(sums.largest, std::abs(value));
  }
  return sums;
}

TEST(FeatureNormalizationTest, ScalesOfTwoTasksByEachRule) {
  const std::vector<ColumnSums> first = {Column({3, 4}), Column({0, 1})};         // norms 5, 1
  const std::vector<ColumnSums> second = {Column({1, 0, 0}), Column({2, 2, 1})};  // norms 1, 3
  const std::vector<TaskColumns> tasks = {{first, 2}, {second, 3}};
  Matrix expected(2, 2);
  expected << 5, 1, 1, 3;
  EXPECT_EQ(GroupScales(FeatureNormalization::kColumn, ScaleScope::kPerTask, tasks), expected);
  EXPECT_EQ(GroupScales(FeatureNormalization::kNone, ScaleScope::kPooled, tasks),
            Matrix(Matrix::Ones(2, 2)));
  const auto pooled = GroupScales(FeatureNormalization::kColumn, ScaleScope::kPooled, tasks);
  expected << std::sqrt(13.0), std::sqrt(13.0), std::sqrt(5.0), std::sqrt(5.0);
  ASSERT_TRUE(pooled.has_value());
  EXPECT_TRUE(pooled->isApprox(expected, 1e-15)) << *pooled;
  const auto group = GroupScales(FeatureNormalization::kGroup, ScaleScope::kPerTask, tasks);
  expected << std::sqrt(13.0), std::sqrt(5.0), std::sqrt(13.0), std::sqrt(5.0);
  ASSERT_TRUE(group.has_value());
  EXPECT_TRUE(group->isApprox(expected, 1e-15)) << *group;
  const auto both = GroupScales(FeatureNormalization::kGroup, ScaleScope::kPooled, tasks);
  ASSERT_TRUE(both.has_value());
  EXPECT_TRUE(both->isApprox(Matrix::Constant(2, 2, 3.0), 1e-15)) << *both;
}

TEST(FeatureNormalizationTest, AColumnOfZerosIsRefusedByItselfButNotWithinAGroup) {
  const std::vector<ColumnSums> pair = {Column({1, 1}), Column({0, 0})};
  const std::vector<TaskColumns> tasks = {{pair, 2}};
  EXPECT_FALSE(GroupScales(FeatureNormalization::kColumn, ScaleScope::kPerTask, tasks).has_value());
  EXPECT_EQ(GroupScales(FeatureNormalization::kGroup, ScaleScope::kPerTask, tasks),
            Matrix(Matrix::Ones(2, 1)));
  const std::vector<ColumnSums> zeros = {Column({0, 0}), Column({0, 0})};
  EXPECT_FALSE(
      GroupScales(FeatureNormalization::kGroup, ScaleScope::kPerTask, {{zeros, 2}}).has_value());
  EXPECT_TRUE(
      GroupScales(FeatureNormalization::kNone, ScaleScope::kPerTask, {{zeros, 2}}).has_value());
}

TEST(FeatureNormalizationTest, AColumnThatVanishesInOneTaskIsRefusedUnlessTasksShareItsScale) {
  const std::vector<ColumnSums> some = {Column({2, 0})};
  const std::vector<ColumnSums> none = {Column({0, 0})};
  const std::vector<TaskColumns> tasks = {{some, 2}, {none, 2}};
  EXPECT_FALSE(GroupScales(FeatureNormalization::kColumn, ScaleScope::kPerTask, tasks).has_value());
  const auto pooled = GroupScales(FeatureNormalization::kColumn, ScaleScope::kPooled, tasks);
  ASSERT_TRUE(pooled.has_value());
  EXPECT_DOUBLE_EQ((*pooled)(0, 1), std::sqrt(2.0));
}

TEST(FeatureNormalizationTest, ValuesThatAreNotFiniteAreRefusedByEveryRule) {
  ColumnSums bad = Column({1, 2});
  bad.finite = false;
  ColumnSums overflown = Column({1e200, 1});
  for (const auto rule :
       {FeatureNormalization::kColumn, FeatureNormalization::kGroup, FeatureNormalization::kNone}) {
    for (const ColumnSums& column : {bad, overflown}) {
      const std::vector<ColumnSums> group = {Column({1, 1}), column};
      EXPECT_FALSE(GroupScales(rule, ScaleScope::kPerTask, {{group, 2}}).has_value());
      EXPECT_FALSE(GroupScales(rule, ScaleScope::kPooled, {{group, 2}}).has_value());
    }
  }
}

}  // namespace
}  // namespace mercer
