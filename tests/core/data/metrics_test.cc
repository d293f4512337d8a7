#include "core/data/metrics.h"

#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/random.h"

namespace mercer {
namespace {

// Counts the pairs one by one.
double BruteForceAuc(const Vector& values, const std::vector<bool>& positive) {
  double right = 0;
  double pairs = 0;
  for (Index i = 0; i < values.size(); ++i) {
    for (Index j = 0; j < values.size(); ++j) {
      if (positive[static_cast<size_t>(i)] && !positive[static_cast<size_t>(j)]) {
        right += values(i) > values(j) ? 1.0 : values(i) == values(j) ? 0.5 : 0.0;
        pairs += 1;
      }
    }
  }
  return right / pairs;
}

TEST(MetricsTest, AucAgreesWithCountingPairs) {
  for (uint64_t seed = 0; seed < 60; ++seed) {
    RandomStream random(seed, "metrics-test");
    const auto rows = static_cast<Index>(2 + random.Below(60));
    Vector values(rows);
    std::vector<bool> positive;
    for (Index i = 0; i < rows; ++i) {
      values(i) = seed % 3 == 0 ? random.Normal() : static_cast<double>(random.Below(1 + seed % 7));
      positive.push_back(i == 0 || (i > 1 && random.Below(3) == 0));
    }
    EXPECT_EQ(AreaUnderRoc(values, positive), BruteForceAuc(values, positive)) << "seed " << seed;
  }
}

TEST(MetricsTest, AucOfKnownCases) {
  EXPECT_EQ(AreaUnderRoc(Eigen::Vector4d(1, 2, 3, 4), {false, false, true, true}), 1);
  EXPECT_EQ(AreaUnderRoc(Eigen::Vector4d(1, 2, 3, 4), {true, true, false, false}), 0);
  EXPECT_EQ(AreaUnderRoc(Eigen::Vector4d(5, 5, 5, 5), {true, false, true, false}), 0.5);
  EXPECT_TRUE(std::isnan(AreaUnderRoc(Eigen::Vector2d(1, 2), {true, true})));
  EXPECT_TRUE(std::isnan(AreaUnderRoc(Eigen::Vector2d(1, std::nan("")), {true, false})));
  const double infinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(AreaUnderRoc(Eigen::Vector2d(-infinity, infinity), {false, true}), 1);
}

TEST(MetricsTest, AccuracyCountsRows) {
  EXPECT_EQ(Accuracy({1, 2, 3, 1}, {1, 2, 1, 1}), 0.75);
  EXPECT_TRUE(std::isnan(Accuracy({}, {})));
}

TEST(MetricsTest, BalancedAccuracyWeighsClassesAlike) {
  EXPECT_EQ(BalancedAccuracy({0, 0, 0, 0}, {0, 0, 0, 1}), 0.5);
  EXPECT_EQ(BalancedAccuracy({0, 0, 1, 1, 5}, {0, 0, 0, 1, 1}), (2.0 / 3 + 0.5) / 2);
}

TEST(MetricsTest, ErrorsOfRegression) {
  const Eigen::Vector3d actual(1, 2, 6);
  const Eigen::Vector3d predicted(2, 2, 4);
  EXPECT_DOUBLE_EQ(RootMeanSquaredError(predicted, actual), std::sqrt(5.0 / 3));
  EXPECT_DOUBLE_EQ(RSquared(predicted, actual), 1 - 5.0 / 14);
  EXPECT_EQ(RSquared(actual, actual), 1);
  EXPECT_EQ(RSquared(Eigen::Vector3d::Constant(3), actual), 0);
  EXPECT_EQ(RSquared(Eigen::Vector2d(1, 2), Eigen::Vector2d(0.1, 0.1)), 0);
  EXPECT_EQ(RSquared(Eigen::Vector2d(0.1, 0.1), Eigen::Vector2d(0.1, 0.1)), 0);
}

}  // namespace
}  // namespace mercer
