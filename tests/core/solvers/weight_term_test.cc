// The closed forms and the step of WeightTerm against formulas written out and a search by values.
#include "core/solvers/mkl/weight_term.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/base/numeric/random.h"

namespace mercer {
namespace {

constexpr double kNorms[] = {1.001, 1.05, 1.5, 2.0, 4.0, 8.0, 1e4};
constexpr double kPenalties[] = {0.0, 0.03, 0.5, 20.0};

// Energies of a dual that moves along a random direction.
EnergyCurve RandomCurve(RandomStream& random, Index kernels) {
  EnergyCurve curve;
  curve.linear = 0.1 + random.Uniform();
  curve.energies.resize(kernels);
  curve.slopes.resize(kernels);
  curve.curvatures.resize(kernels);
  for (Index k = 0; k < kernels; ++k) {
    const Vector u = Vector::NullaryExpr(3, [&] { return random.Normal(); });
    const Vector v = 0.3 * Vector::NullaryExpr(3, [&] { return random.Normal(); });
    curve.energies(k) = u.squaredNorm();
    curve.slopes(k) = u.dot(v);
    curve.curvatures(k) = v.squaredNorm();
  }
  return curve;
}

double NormByDefinition(const Vector& energies, double p) {
  const double q = p / (p - 1);
  const double largest = energies.maxCoeff();
  double sum = 0;
  for (const double energy : energies) {
    sum += std::pow(energy / largest, q);
  }
  return largest * std::pow(sum, 1 / q);
}

double DualValue(const EnergyCurve& curve, double p, double penalty, double t) {
  const Vector energies = curve.energies + 2 * t * curve.slopes + t * t * curve.curvatures;
  const double norm = NormByDefinition(energies, p);
  return t * curve.linear - (penalty == 0 ? 0.5 * norm : norm * norm / (8 * penalty));
}

TEST(WeightTermTest, DualCostAndWeightsAreTheirFormulas) {
  RandomStream random(3, "weight term");
  for (const double p : kNorms) {
    for (const double penalty : kPenalties) {
      const WeightTerm term(p, penalty);
      const Vector energies = RandomCurve(random, 5).energies;
      const double norm = NormByDefinition(energies, p);
      const double cost = penalty == 0 ? 0.5 * norm : norm * norm / (8 * penalty);
      EXPECT_NEAR(term.DualCost(energies), cost, 1e-12 * cost) << p;
      const Vector weights = term.Weights(energies, Vector::Zero(5));
      // The largest of the energies' sum over the ball, or with the penalty taken off.
      const double size =
          std::pow((weights / weights.maxCoeff()).array().pow(p).sum(), 1 / p) * weights.maxCoeff();
      const double reached =
          0.5 * weights.dot(energies) - (penalty == 0 ? 0.0 : 0.5 * penalty * size * size);
      EXPECT_NEAR(reached, cost, 1e-9 * cost) << p << ", " << penalty;
      if (penalty == 0) {
        EXPECT_NEAR(size, 1.0, 1e-12) << p;
      }
    }
  }
}

// The cost of a function is that of no other weights: by weights around the best ones.
TEST(WeightTermTest, PrimalCostIsTheLeastOverTheWeights) {
  RandomStream random(5, "weight term primal");
  for (const double p : {1.1, 2.0, 5.0}) {
    for (const double penalty : kPenalties) {
      const WeightTerm term(p, penalty);
      const Vector energies = RandomCurve(random, 4).energies;
      const Vector weights = Vector::NullaryExpr(4, [&] { return 0.1 + random.Uniform(); });
      const double cost = term.PrimalCost(weights, energies);
      const Vector squares = weights.array().square() * energies.array();
      const auto cost_at = [&](const Vector& d) {
        const double size = std::pow(d.array().pow(p).sum(), 1 / p);
        const double half = 0.5 * (squares.array() / d.array()).sum();
        return penalty == 0 ? half * size : half + 0.5 * penalty * size * size;
      };
      double least = kInfinity;
      Vector best = weights;
      for (int trial = 0; trial < 20'000; ++trial) {
        const double width = std::pow(0.5, trial / 1000);
        const Vector d = best.array() * Vector::NullaryExpr(4, [&] {
                                          return std::exp(width * random.Normal());
                                        }).array();
        if (cost_at(d) < least) {
          least = cost_at(d);
          best = d;
        }
      }
      EXPECT_GE(least, cost * (1 - 1e-12)) << p << ", " << penalty;
      EXPECT_NEAR(least, cost, 1e-4 * cost) << p << ", " << penalty;
    }
  }
}

TEST(WeightTermTest, StepIsTheMaximumOnTheCurve) {
  RandomStream random(7, "weight term curves");
  for (const double p : kNorms) {
    for (const double penalty : kPenalties) {
      for (int trial = 0; trial < 20; ++trial) {
        const EnergyCurve curve = RandomCurve(random, 4);
        const double longest = std::pow(10.0, 4 * random.Uniform() - 3);
        const double step = WeightTerm(p, penalty).MaximizeOnCurve(curve, longest);
        const std::string what = std::to_string(p) + ", " + std::to_string(penalty);
        ASSERT_GE(step, 0) << what;
        ASSERT_LE(step, longest) << what;
        double best = -kInfinity;
        for (int i = 0; i <= 2000; ++i) {
          best = std::max(best, DualValue(curve, p, penalty, longest * i / 2000));
        }
        const double reached = DualValue(curve, p, penalty, step);
        EXPECT_GE(reached, best - 1e-11 * std::abs(best)) << what;
      }
    }
  }
}

// Energies that are the same for all kernels: their norm is m^(1/q) of one, and the step that of one kernel.
TEST(WeightTermTest, TiesOfManyKernelsAreExactNextToOne) {
  constexpr Index kKernels = 20;
  for (const double above_one : {0x1p-52, 1e-14, 1e-12, 1e-9, 1e-6}) {
    const double p = 1.0 + above_one;
    const WeightTerm term(p, 0.0);
    EnergyCurve curve;
    curve.linear = 1.0;
    curve.energies = Vector::Constant(kKernels, 0.7);
    curve.slopes = Vector::Constant(kKernels, 0.2);
    curve.curvatures = Vector::Constant(kKernels, 0.3);
    const double factor = std::pow(static_cast<double>(kKernels), above_one / p);  // m^(1/q)
    EXPECT_NEAR(term.DualCost(curve.energies), 0.35 * factor, 1e-15) << above_one;
    const Vector weights = term.Weights(curve.energies, Vector());
    EXPECT_LE((weights.array() - 1.0 / kKernels).abs().maxCoeff(), 1e-6) << above_one;
    EXPECT_NEAR(term.MaximizeOnCurve(curve, 100), (curve.linear / factor - 0.2) / 0.3, 1e-8)
        << above_one;
  }
}

// The quartic of the penalised form with p = 2: its slope is the cubic of docs/mathematics/lp_mkl.md,
// section 7.
TEST(WeightTermTest, StepOfPenalisedSquaresIsTheRootOfTheCubic) {
  RandomStream random(9, "weight term cubic");
  for (const double penalty : {0.1, 1.0, 10.0}) {
    const EnergyCurve curve = RandomCurve(random, 3);
    const double t = WeightTerm(2.0, penalty).MaximizeOnCurve(curve, 1e6);
    const Vector& s = curve.energies;
    const Vector& b = curve.slopes;
    const Vector& a = curve.curvatures;
    const double constant = 4 * s.dot(b) - 8 * penalty * curve.linear;
    if (constant >= 0) {
      EXPECT_EQ(t, 0);
      continue;
    }
    const double cubic = 4 * a.squaredNorm() * t * t * t + 12 * a.dot(b) * t * t +
                         (4 * s.dot(a) + 8 * b.squaredNorm()) * t + constant;
    EXPECT_NEAR(cubic, 0.0, 1e-7 * std::abs(constant)) << penalty;
  }
}

TEST(WeightTermTest, FirstStepFromNoEnergyIsTheMaximum) {
  for (const double p : kNorms) {
    for (const double penalty : kPenalties) {
      EnergyCurve curve{0.7, Vector::Zero(3), Vector::Zero(3), Vector::LinSpaced(3, 0.0, 2.0)};
      const double step = WeightTerm(p, penalty).MaximizeOnCurve(curve, 1e9);
      for (const double factor : {0.999, 1.001}) {
        EXPECT_GT(DualValue(curve, p, penalty, step), DualValue(curve, p, penalty, factor * step))
            << p << ", " << penalty;
      }
      EXPECT_EQ(WeightTerm(p, penalty).MaximizeOnCurve(curve, 0.5 * step), 0.5 * step);
      curve.curvatures.setZero();
      EXPECT_EQ(WeightTerm(p, penalty).MaximizeOnCurve(curve, 3.0), 3.0);
    }
  }
}

TEST(WeightTermTest, ExtremeEnergiesStayInTheRangeOfNumbers) {
  for (const double p : kNorms) {
    for (const double size : {1e-160, 1e150}) {
      const Vector energies = size * Vector::LinSpaced(4, 0.0, 1.0);
      const WeightTerm term(p, 0);
      EXPECT_NEAR(term.DualCost(energies) / size, 0.5 * NormByDefinition(energies / size, p),
                  1e-12);
      EXPECT_TRUE(term.Weights(energies, Vector::Zero(4)).allFinite());
    }
  }
}

}  // namespace
}  // namespace mercer
