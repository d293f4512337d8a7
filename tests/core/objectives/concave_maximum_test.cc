#include "core/objectives/concave_maximum.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include <gtest/gtest.h>

#include "core/base/numeric/types.h"

namespace mercer {
namespace {

struct Counted {
  ConcaveMaximum maximum;
  int evaluations = 0;
};

Counted Maximize(double low, double guess, double high,
                 const std::function<double(double)>& value_at) {
  Counted counted;
  counted.maximum = MaximizeConcave(low, guess, high, [&](double point) {
    EXPECT_TRUE(point >= low && point <= high) << point;
    ++counted.evaluations;
    return value_at(point);
  });
  return counted;
}

double Entropy(double a) { return -(a * std::log(a) + (1 - a) * std::log(1 - a)); }

TEST(MaximizeConcaveTest, ParabolasTakeFewEvaluations) {
  for (const double vertex : {0.01, 0.3, 1.0, 1.5, 3.99}) {
    for (const double guess : {0.0, 1.0, 4.0}) {
      const Counted found = Maximize(0, guess, 4, [&](double x) { return x * (2 * vertex - x); });
      EXPECT_NEAR(found.maximum.at, vertex, 1e-7);
      EXPECT_NEAR(found.maximum.value, vertex * vertex, 1e-14);
      EXPECT_LE(found.evaluations, 18) << vertex << " from " << guess;
    }
  }
}

TEST(MaximizeConcaveTest, GrowthToTheEndTakesTwo) {
  const Counted found = Maximize(0, 1, 1.3, [](double x) { return x * (2 - 0.1 * x); });
  EXPECT_EQ(found.maximum.at, 1.3);
  EXPECT_EQ(found.evaluations, 2);
}

TEST(MaximizeConcaveTest, FunctionsThatAreNoParabolas) {
  const Counted entropy =
      Maximize(0, 0.5, 1 - 1e-12, [](double a) { return a > 0 ? Entropy(a) + 0.3 * a : 0.0; });
  EXPECT_NEAR(entropy.maximum.value, std::log1p(std::exp(0.3)), 1e-14);
  EXPECT_LE(entropy.evaluations, 16);
  const Counted root = Maximize(0, 1, 4, [](double x) { return std::sqrt(x) - x; });
  EXPECT_NEAR(root.maximum.value, 0.25, 1e-14);
  EXPECT_LE(root.evaluations, 32);
  const Counted kink = Maximize(0, 1, 4, [](double x) { return -std::abs(x - 1.234); });
  EXPECT_NEAR(kink.maximum.at, 1.234, 1e-6);
  const Counted falling = Maximize(0, 1, 4, [](double x) { return -x; });
  EXPECT_NEAR(falling.maximum.at, 0, 1e-6);
}

TEST(MaximizeConcaveTest, ValuesThatAreNoNumbersAreTheLeast) {
  for (const double outside : {-kInfinity, std::numeric_limits<double>::quiet_NaN()}) {
    for (const double guess : {0.1, 1.9, 2.5, 3.9}) {
      const Counted found =
          Maximize(0, guess, 4, [&](double x) { return x > 2 ? outside : x * (3 - x * x); });
      EXPECT_NEAR(found.maximum.at, 1, 1e-7) << guess;
      EXPECT_NEAR(found.maximum.value, 2, 1e-13) << guess;
    }
  }
  const Counted never = Maximize(0, 1, 4, [](double) { return -kInfinity; });
  EXPECT_EQ(never.maximum.value, -kInfinity);
  EXPECT_LE(never.evaluations, 100);
}

// As the value of a dual point that is small against its box.
TEST(MaximizeConcaveTest, MaximaFarFromTheEndOfALongRange) {
  for (const double range : {10.0, 1e3, 1e6, 1e9}) {
    for (const double best : {0.2, 1.0, 5.0}) {
      const Counted found = Maximize(0, 1, range, [&](double x) {
        return x > 0 ? x * (1 + std::log(best) - std::log(x)) : 0.0;
      });
      EXPECT_NEAR(found.maximum.value, best, 1e-12 * best) << range;
      EXPECT_LE(found.evaluations, 100);
    }
  }
}

TEST(MaximizeConcaveTest, AnEmptyRangeIsItsPoint) {
  const Counted found = Maximize(2, 2, 2, [](double x) { return 5 - x; });
  EXPECT_EQ(found.maximum.at, 2);
  EXPECT_EQ(found.maximum.value, 3);
}

}  // namespace
}  // namespace mercer
