#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/numeric/random.h"
#include "core/data/metrics/weighted_metrics.h"

namespace mercer {
namespace {

double Accuracy(const std::vector<int>& predicted, const std::vector<int>& actual) {
  return WeightedAccuracy(predicted, actual, nullptr);
}

double BalancedAccuracy(const std::vector<int>& predicted, const std::vector<int>& actual) {
  return WeightedBalancedAccuracy(predicted, actual, nullptr);
}

double AreaUnderRoc(const Vector& values, const std::vector<bool>& positive) {
  return *WeightedAreaUnderRoc(values, positive, nullptr, RunContext());
}

double RootMeanSquaredError(const Vector& predicted, const Vector& actual) {
  return WeightedRootMeanSquaredError(predicted, actual, nullptr);
}

double RSquared(const Vector& predicted, const Vector& actual) {
  return WeightedRSquared(predicted, actual, nullptr);
}

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

// A row of weight w counts as w rows.
TEST(MetricsTest, IntegerWeightsEqualRepeatedRows) {
  for (uint64_t seed = 0; seed < 40; ++seed) {
    RandomStream random(seed, "metrics-weights");
    const Index rows = 3 + static_cast<Index>(random.Below(20));
    Vector weights(rows);
    std::vector<double> values[2];
    std::vector<int> classes[2];
    std::vector<double> all_values[2];
    std::vector<int> all_classes[2];
    for (Index i = 0; i < rows; ++i) {
      weights(i) = static_cast<double>(1 + random.Below(4));
      for (int side = 0; side < 2; ++side) {
        values[side].push_back(static_cast<double>(random.Below(6)));
        classes[side].push_back(static_cast<int>(random.Below(2)));
        for (int copy = 0; copy < static_cast<int>(weights(i)); ++copy) {
          all_values[side].push_back(values[side].back());
          all_classes[side].push_back(classes[side].back());
        }
      }
    }
    const auto vector = [](const std::vector<double>& numbers) {
      return Vector(Eigen::Map<const Vector>(numbers.data(), static_cast<Index>(numbers.size())));
    };
    const auto positive = [](const std::vector<int>& codes) {
      return std::vector<bool>(codes.begin(), codes.end());
    };
    EXPECT_DOUBLE_EQ(WeightedAccuracy(classes[0], classes[1], &weights),
                     Accuracy(all_classes[0], all_classes[1]));
    EXPECT_DOUBLE_EQ(WeightedBalancedAccuracy(classes[0], classes[1], &weights),
                     BalancedAccuracy(all_classes[0], all_classes[1]));
    const double auc =
        WeightedAreaUnderRoc(vector(values[0]), positive(classes[1]), &weights, RunContext())
            .value();
    const double expected = AreaUnderRoc(vector(all_values[0]), positive(all_classes[1]));
    EXPECT_TRUE(auc == expected || (std::isnan(auc) && std::isnan(expected))) << "seed " << seed;
    EXPECT_DOUBLE_EQ(WeightedRootMeanSquaredError(vector(values[0]), vector(values[1]), &weights),
                     RootMeanSquaredError(vector(all_values[0]), vector(all_values[1])));
    EXPECT_NEAR(WeightedRSquared(vector(values[0]), vector(values[1]), &weights),
                RSquared(vector(all_values[0]), vector(all_values[1])), 1e-12);
  }
}

}  // namespace
}  // namespace mercer
