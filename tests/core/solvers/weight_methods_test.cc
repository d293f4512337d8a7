// Single steps of the methods for kernel weights, against numbers by hand, and what states may be.
// be.
#include <algorithm>
#include <cmath>
#include <string>

#include <gtest/gtest.h>

#include "core/solvers/mkl/best_point.h"
#include "core/solvers/mkl/mixed_norm_methods.h"
#include "core/solvers/mkl/reduced_gradient.h"

namespace mercer {
namespace {

// What a machine says, with numbers that no machine needs to have.
struct Told {
  Vector weights;
  Vector energies;
  double gap = 1;
  double best_gap = 1;
  double optimum = 0;
  double upper = 0;
  double linear = 0;

  Vector Next(WeightMethod& method, double target = 1e-3) const {
    PointBounds bounds;
    bounds.primal = 10;
    bounds.dual = 10 - gap;
    return method.Next({weights, energies, bounds, best_gap, optimum, upper, linear}, target);
  }
};

// Two groups, of two kernels and of one: inner weights (1/2, 1/2, 1), outer ones (1/2, 1/2).
const MixedNorm& TwoGroups() {
  static const auto& norm = *new MixedNorm({{0, 0, 1}, 2}, 1e-6);
  return norm;
}
Told AtTheBeginning() { return {.weights = Vector{{1, 1, 2}}, .energies = Vector{{1, 4, 9}}}; }

// sqrt of (1 + 4) / 2 and of 9 are what outer weights are in proportion to.
Vector OuterThere() {
  const double first = std::sqrt(2.5);
  return Vector{{first / (first + 3), 3 / (first + 3)}};
}

void ExpectInner(const Vector& weights, double ratio, const Vector& outer) {
  const MixedWeights parts = TwoGroups().Split(weights);
  EXPECT_NEAR(parts.inner(1) / parts.inner(0), ratio, 1e-12 * ratio);
  EXPECT_NEAR((parts.outer - outer).norm(), 0, 1e-12);
}

TEST(ClosedFormMethodTest, MultipliesByPowersOfEnergies) {
  for (const double power : {0.5, 1.0, 2.0}) {
    ClosedFormMethod method(TwoGroups(), power);
    ExpectInner(AtTheBeginning().Next(method), std::pow(4, power), OuterThere());
  }
}

TEST(ClosedFormMethodTest, ThreeMachinesWithoutASmallerGapHalveThePower) {
  ClosedFormMethod method(TwoGroups(), 2);
  Told told = AtTheBeginning();
  for (const double ratio : {16.0, 16.0, 16.0, 4.0, 4.0, 4.0, 2.0, 2.0, 2.0, 2.0}) {
    ExpectInner(told.Next(method), ratio, OuterThere());
  }
  told.gap = 0.5;  // a smaller one does not make it larger again
  ExpectInner(told.Next(method), 2, OuterThere());
}

// Kernels without a weight have no say in what is negligible, and sums are made 1 before.
TEST(ClosedFormMethodTest, CutsAgainstTheKernelsInUse) {
  const MixedNorm norm({{0, 0, 0}, 1}, 1e-6);
  ClosedFormMethod method(norm, 2);
  const Told told{.weights = Vector{{0.5, 0.5, 0}}, .energies = Vector{{1e-9, 2e-9, 1}}};
  const Vector next = told.Next(method);
  EXPECT_NEAR(next(0), 0.2, 1e-14);
  EXPECT_NEAR(next(1), 0.8, 1e-14);
  EXPECT_EQ(next(2), 0);
}

// Slopes 2, 8 and 18 against the largest; the second step is shorter by sqrt(2).
TEST(MirrorDescentMethodTest, StepsAreThoseOfKappaAndShrinkWithTheirRoot) {
  for (const double kappa : {1.0, 5.0}) {
    MirrorDescentMethod method(TwoGroups(), kappa, false);
    Told told = AtTheBeginning();
    const double first = kappa * std::sqrt(std::log(2.0)) * (8 - 2) / 18;
    ExpectInner(told.Next(method), std::exp(first), OuterThere());
    ExpectInner(told.Next(method), std::exp(first * (1 + std::sqrt(0.5))), OuterThere());
  }
}

// With these outer weights the lower bound is 20 - 1/2 (4 + 9) / 0.5 = 7, and the upper one 9.
TEST(MirrorDescentMethodTest, AlternationWaitsForInnerWeights) {
  MirrorDescentMethod method(TwoGroups(), 1, true);
  Told told = AtTheBeginning();
  told.linear = 20;
  told.upper = 9;
  told.best_gap = 7.9;
  const Vector half = Vector::Constant(2, 0.5);
  const double ratio = std::exp(std::sqrt(std::log(2.0)) * (8 - 2) / 18);
  ExpectInner(told.Next(method), ratio, half);
  told.best_gap = 8.1;
  ExpectInner(told.Next(method), ratio, OuterThere());
  // The bounds begin anew with the outer weights, and so do the steps.
  told.upper = 19;
  ExpectInner(told.Next(method), ratio * ratio, half);
}

// J(d) = sum_k d(k)^2 / 2 - c(k) d(k), whose machines are exact.
struct Quadratic {
  Vector c;
  double Value(const Vector& d) const { return 0.5 * d.squaredNorm() - c.dot(d); }
  Told At(const Vector& d) const {
    return {.weights = d, .energies = 2 * (c - d), .optimum = Value(d), .upper = Value(d)};
  }
};

TEST(ReducedGradientMethodTest, StepsGoToTheNextWeightThatBecomesZero) {
  const Quadratic J{Vector{{1, 1, 2}}};
  ReducedGradientMethod method(3);
  // The first weight is the largest one, and all of its change goes to the third.
  Vector d = J.At(Vector::Constant(3, 1.0 / 3)).Next(method);
  EXPECT_NEAR((d - Vector{{0, 1.0 / 3, 2.0 / 3}}).norm(), 0, 1e-14) << d.transpose();
  // It is 0 itself, so a search begins there; its end is the optimum.
  d = J.At(d).Next(method);
  EXPECT_EQ(d, (Vector{{0, 0, 1}})) << d.transpose();
  EXPECT_EQ(J.At(d).Next(method), d);
  EXPECT_EQ(method.inner_gap_share(), 1e-3);
}

TEST(ReducedGradientMethodTest, FindsTheOptimumBetweenExtensionsWithoutMoreExactMachines) {
  const Quadratic J{Vector{{1.1, 1.3, 1.15, 1.25, 2, 1.4, 1.2}}};
  // The point of the simplex next to c: what is above 1.2375.
  const Vector optimum{{0, 0.0625, 0, 0.0125, 0.7625, 0.1625, 0}};
  ReducedGradientMethod method(7);
  Vector d = Vector::Constant(7, 1.0 / 7);
  int machines = 0;
  while (J.Value(d) - J.Value(optimum) > 1e-6 && machines < 500) {
    d = J.At(d).Next(method, 0.1);
    ++machines;
  }
  EXPECT_LT(machines, 300);
  EXPECT_EQ(method.inner_gap_share(), 1e-3);
}

TEST(ReducedGradientMethodTest, AStateOnTheWayNeedsAPoint) {
  ReducedGradientMethod method(3);
  ByteWriter writer;
  method.Save(writer);
  const std::string fresh = std::move(writer).Take();
  for (const char phase : {'\0', '\1', '\2', '\3', '\4'}) {
    std::string changed = fresh;
    changed[0] = phase;
    ByteReader reader(changed);
    EXPECT_EQ(method.Load(reader).ok(), phase == '\0') << static_cast<int>(phase);
  }
}

TEST(BestPairTest, IsWholeAndFinite) {
  const MklSizes sizes{2, 1};
  const BestPair none;
  BestPair read;
  EXPECT_TRUE(LoadFields(SaveFields(none, sizes), read, sizes));
  const BestPair whole{.weights = Vector::Ones(1),
                       .dual = Vector::Ones(2),
                       .biases = Vector::Zero(1),
                       .primal = 2,
                       .upper = 2,
                       .lower_dual = Vector::Ones(2),
                       .lower = 1};
  EXPECT_TRUE(LoadFields(SaveFields(whole, sizes), read, sizes));
  BestPair without = whole;
  without.lower_dual = Vector();
  BestPair unbounded = whole;
  unbounded.lower = -kInfinity;
  BestPair undefined = whole;
  undefined.dual(1) = std::nan("");
  BestPair alone;
  alone.lower_dual = Vector::Ones(2);
  for (const BestPair& damaged : {without, unbounded, undefined, alone}) {
    EXPECT_FALSE(LoadFields(SaveFields(damaged, sizes), read, sizes));
  }
}

}  // namespace
}  // namespace mercer
