// docs/mathematics/lp_mkl.md, section 10, as far as it concerns exact kernels, and degenerate data.
#include <algorithm>
#include <cmath>
#include <string>

#include <gtest/gtest.h>

#include "core/base/numeric/random.h"
#include "core/objectives/lp_weights.h"
#include "core/solvers/mkl/mkl_bounds.h"
#include "tests/core/learners/lp_mkl/lp_mkl_problems.h"

namespace mercer::lp_mkl {
namespace {

const std::vector<double> kWidths = {0.3, 1.0, 3.0, 10.0};

std::vector<Matrix> Grams(const RowMatrix& x) {
  std::vector<Matrix> grams;
  for (const double width : kWidths) {
    grams.push_back(GaussianGram(x, x, width));
  }
  return grams;
}

TEST(LpMklPropertyTest, BoundsBracketEachOtherAtRandomPoints) {
  const Cloud cloud = OverlappingClouds(30, 2, 1);
  const std::vector<Matrix> grams = Grams(cloud.x);
  RandomStream random(1, "random points");
  for (const LossKind kind : {LossKind::kHinge, LossKind::kEpsilonInsensitive}) {
    const auto loss = *MakeLoss(kind, 0.1);
    const Vector costs = Vector::Constant(30, 2.0);
    for (const double p : {1.0, 1.3, 2.0, 9.0, kInfinity}) {
      double best_dual = -kInfinity;
      double best_primal = kInfinity;
      for (int trial = 0; trial < 50; ++trial) {
        Vector dual(30);
        for (Index i = 0; i < 30; ++i) {
          dual(i) = 4.0 * random.Normal();
        }
        loss->RepairDual(cloud.labels, costs, true, dual);
        Vector weights(4);
        Vector energies(4);
        Vector scores = Vector::Zero(30);
        for (Index k = 0; k < 4; ++k) {
          weights(k) = random.Uniform();
        }
        weights /= std::isinf(p) ? 1.0 : LpNorm(weights, p);
        for (Index k = 0; k < 4; ++k) {
          const Vector product = grams[static_cast<size_t>(k)] * dual;
          energies(k) = dual.dot(product);
          scores += weights(k) * product;
        }
        const PointBounds bounds =
            BoundPoint({*loss, cloud.labels, costs, LpBall(p), weights, dual, energies, scores},
                       RunContext())
                .value();
        best_dual = std::max(best_dual, bounds.dual);
        best_primal = std::min(best_primal, bounds.primal);
      }
      EXPECT_GE(best_primal - best_dual, -1e-10 * std::abs(best_primal)) << "p = " << p;
    }
  }
}

TEST(LpMklPropertyTest, InfinitePAndOneKernelAreThePlainSvmOfTheSum) {
  const Cloud cloud = OverlappingClouds(60, 2, 2);
  Matrix sum = Matrix::Zero(60, 60);
  for (const Matrix& gram : Grams(cloud.x)) {
    sum += gram;
  }
  const Fit plain = MustTrain(GramProblem({sum}, cloud.labels), {{"p", 2.0}, {"C", 3.0}}, 1e-8);
  const Fit all =
      MustTrain(GramProblem(Grams(cloud.x), cloud.labels), {{"p", kInfinity}, {"C", 3.0}}, 1e-8);
  EXPECT_NEAR(all.certificate.primal, plain.certificate.primal, 1e-7 * plain.certificate.primal);
  EXPECT_NEAR(all.bias(), plain.bias(), 1e-3);
  EXPECT_EQ(all.weights(), Vector::Ones(4));
}

TEST(LpMklPropertyTest, OptimumFallsAsPGrowsAndIsContinuousAtOne) {
  const Cloud cloud = OverlappingClouds(60, 2, 3);
  const TrainingProblem problem = GaussianProblem(cloud.x, cloud.labels, kWidths);
  double previous = kInfinity;
  double at_one = 0;
  for (const double p : {1.0, 1.001, 1.1, 2.0, 8.0, 1000.0, kInfinity}) {
    const Fit fit = MustTrain(problem, {{"p", p}, {"C", 5.0}}, 1e-6);
    EXPECT_LE(fit.certificate.dual, previous * (1 + 1e-9)) << "p = " << p;
    EXPECT_LE(fit.certificate.accuracy, 1e-6) << "p = " << p;
    previous = fit.certificate.primal;
    at_one = p == 1.0 ? previous : at_one;
    if (p == 1.001) {
      EXPECT_NEAR(previous, at_one, 0.01 * at_one);
    }
    if (p == 1000.0) {
      EXPECT_GT(fit.weights().minCoeff(), 0.98);
    }
  }
}

// smo_mkl, which refuses them, apart. Optima differ from that of p = 1 by a factor of m^(2 - 2 / p) at the most.
TEST(LpMklPropertyTest, NormsNextToOneHaveTheOptimumOfOne) {
  const Cloud cloud = OverlappingClouds(60, 2, 3);
  const TrainingProblem problem = GaussianProblem(cloud.x, cloud.labels, kWidths);
  constexpr double kGap = 1e-4;
  const Fit at_one = MustTrain(problem, {{"p", 1.0}, {"C", 5.0}}, 1e-7);
  for (const char* loop : {"newton", "over_relaxed"}) {
    for (const double above_one : {0x1p-52, 1e-14, 1e-12, 1e-9, 1e-6}) {
      const Fit fit = MustTrain(
          problem, {{"p", 1.0 + above_one}, {"C", 5.0}, {"outer_loop", std::string(loop)}}, kGap);
      const std::string what = std::string(loop) + ", p - 1 = " + std::to_string(above_one);
      EXPECT_EQ(fit.stop_reason, StopReason::kConverged) << what;
      EXPECT_LE(fit.certificate.accuracy, kGap) << what;
      EXPECT_LE(fit.certificate.dual, at_one.certificate.primal * (1 + 1e-9)) << what;
      EXPECT_GE(fit.certificate.primal, at_one.certificate.dual * (1 - 1e-9 - 4 * above_one))
          << what;
    }
  }
}

TEST(LpMklPropertyTest, SparseWeightsSitWhereTheEnergyIsLargest) {
  const Cloud cloud = OverlappingClouds(80, 2, 4);
  const Fit fit =
      MustTrain(GaussianProblem(cloud.x, cloud.labels, kWidths), {{"p", 1.0}, {"C", 2.0}}, 1e-7);
  EXPECT_NEAR(fit.weights().sum(), 1.0, 1e-9);
  Vector energies(4);
  for (Index k = 0; k < 4; ++k) {
    energies(k) = fit.dual().dot(GaussianGram(cloud.x, cloud.x, kWidths[static_cast<size_t>(k)]) *
                                 fit.dual());
  }
  for (Index k = 0; k < 4; ++k) {
    if (fit.weights()(k) > 1e-3) {
      EXPECT_NEAR(energies(k), energies.maxCoeff(), 1e-2 * energies.maxCoeff()) << "kernel " << k;
    }
  }
}

TEST(LpMklPropertyTest, ScalingKernelsAgainstCostChangesNothingElse) {
  const Cloud cloud = OverlappingClouds(50, 2, 5);
  std::vector<Matrix> scaled = Grams(cloud.x);
  for (Matrix& gram : scaled) {
    gram *= 8.0;
  }
  const Fit one = MustTrain(GramProblem(Grams(cloud.x), cloud.labels), {{"C", 4.0}}, 1e-9);
  const Fit eight = MustTrain(GramProblem(scaled, cloud.labels), {{"C", 0.5}}, 1e-9);
  EXPECT_NEAR(eight.certificate.primal * 8.0, one.certificate.primal,
              1e-7 * one.certificate.primal);
  EXPECT_LT((one.weights() - eight.weights()).cwiseAbs().maxCoeff(), 1e-3);
  EXPECT_NEAR(one.bias(), eight.bias(), 1e-3);
}

TEST(LpMklPropertyTest, PermutedKernelsAndFlippedLabelsPermuteAndFlipTheAnswer) {
  const Cloud cloud = OverlappingClouds(50, 2, 6);
  std::vector<Matrix> reversed = Grams(cloud.x);
  std::reverse(reversed.begin(), reversed.end());
  const Fit one = MustTrain(GramProblem(Grams(cloud.x), cloud.labels), {{"C", 2.0}}, 1e-9);
  const Fit other = MustTrain(GramProblem(reversed, -cloud.labels), {{"C", 2.0}}, 1e-9);
  EXPECT_LT((one.weights() - other.weights().reverse()).cwiseAbs().maxCoeff(), 1e-3);
  EXPECT_NEAR(one.bias(), -other.bias(), 1e-3);
  EXPECT_NEAR(one.certificate.primal, other.certificate.primal, 1e-7 * one.certificate.primal);
}

TEST(LpMklPropertyTest, RepeatedKernelGetsEqualWeights) {
  const Cloud cloud = OverlappingClouds(50, 2, 7);
  const Matrix gram = GaussianGram(cloud.x, cloud.x, 1.0);
  const double p = 1.5;
  const Fit fit =
      MustTrain(GramProblem({gram, gram, gram}, cloud.labels), {{"p", p}, {"C", 2.0}}, 1e-8);
  EXPECT_LT((fit.weights().array() - std::pow(3.0, -1.0 / p)).abs().maxCoeff(), 1e-6)
      << fit.weights().transpose();
  const Matrix same = gram * std::pow(3.0, 1.0 - 1.0 / p);
  const Fit plain = MustTrain(GramProblem({same}, cloud.labels), {{"C", 2.0}}, 1e-8);
  EXPECT_NEAR(fit.certificate.primal, plain.certificate.primal, 1e-7 * plain.certificate.primal);
}

TEST(LpMklPropertyTest, OptimumIsIncreasingAndConcaveInTheCost) {
  const Cloud cloud = OverlappingClouds(40, 2, 8);
  const TrainingProblem problem = GaussianProblem(cloud.x, cloud.labels, kWidths);
  std::vector<double> values;
  for (const double cost : {1.0, 2.0, 3.0, 4.0}) {
    values.push_back(MustTrain(problem, {{"C", cost}}, 1e-8).certificate.primal);
  }
  for (size_t i = 1; i < values.size(); ++i) {
    EXPECT_GE(values[i], values[i - 1]);
  }
  for (size_t i = 2; i < values.size(); ++i) {
    EXPECT_LE(values[i] - values[i - 1], values[i - 1] - values[i - 2] + 1e-6 * values[i]);
  }
}

TEST(LpMklPropertyTest, ExtremeCostsAndExponentsReachTheirGap) {
  const Cloud cloud = OverlappingClouds(60, 2, 9);
  const TrainingProblem problem = GaussianProblem(cloud.x, cloud.labels, kWidths);
  for (const double cost : {1e-6, 1e-2, 1e5}) {
    for (const double p : {1.0, 1.001, 2.0, 1000.0}) {
      const Fit fit = MustTrain(problem, {{"p", p}, {"C", cost}}, 1e-4);
      EXPECT_LE(fit.certificate.accuracy, 1e-4) << "p = " << p << " C = " << cost;
      EXPECT_GE(fit.certificate.accuracy, -1e-10) << "p = " << p << " C = " << cost;
    }
  }
}

TEST(LpMklPropertyTest, DegenerateKernelsAndRowsTrain) {
  const Cloud cloud = OverlappingClouds(40, 2, 10);
  const Matrix gram = GaussianGram(cloud.x, cloud.x, 1.0);
  const std::vector<Matrix> odd = {gram, Matrix::Zero(40, 40), Matrix::Ones(40, 40), gram};
  for (const double p : {1.0, 2.0, kInfinity}) {
    const Fit fit = MustTrain(GramProblem(odd, cloud.labels), {{"p", p}, {"C", 10.0}}, 1e-5);
    EXPECT_LE(fit.certificate.accuracy, 1e-5) << "p = " << p;
    if (!std::isinf(p)) {
      EXPECT_LT(fit.weights()(1), 1e-6) << "the zero kernel, p = " << p;
    }
  }
  Vector imbalanced = -Vector::Ones(40);
  imbalanced(3) = 1.0;
  EXPECT_LE(MustTrain(GramProblem({gram}, imbalanced), {{"C", 10.0}}, 1e-5).certificate.accuracy,
            1e-5);
}

TEST(LpMklPropertyTest, EveryRowTwiceWithBothLabelsGivesTheZeroFunction) {
  const Cloud cloud = OverlappingClouds(20, 2, 11);
  RowMatrix twice(40, 2);
  twice << cloud.x, cloud.x;
  Vector labels(40);
  labels << Vector::Ones(20), -Vector::Ones(20);
  const Fit fit = MustTrain(GaussianProblem(twice, labels, kWidths), {{"C", 3.0}}, 1e-6);
  EXPECT_NEAR(fit.certificate.primal, 120.0, 1e-3);
  EXPECT_NEAR(fit.certificate.dual, 120.0, 1e-3);
}

TEST(LpMklPropertyTest, RegressionSolversAgreeAndCertify) {
  const Cloud cloud = OverlappingClouds(60, 2, 12);
  Vector target(60);
  for (Index i = 0; i < 60; ++i) {
    target(i) = 10.0 * std::sin(cloud.x(i, 0)) + 3.0 * cloud.x(i, 1);
  }
  TrainingProblem problem = GaussianProblem(cloud.x, target, kWidths);
  problem.kind = TargetKind::kRegression;
  for (const double p : {1.0, 2.0}) {
    const Fit newton = MustTrain(
        problem, {{"p", p}, {"C", 2.0}, {"epsilon", 0.5}, {"inner_solver", std::string("newton")}},
        1e-7);
    const Fit smo = MustTrain(
        problem, {{"p", p}, {"C", 2.0}, {"epsilon", 0.5}, {"inner_solver", std::string("smo")}},
        1e-7);
    EXPECT_LE(newton.certificate.accuracy, 1e-7);
    EXPECT_NEAR(newton.certificate.primal, smo.certificate.primal, 3e-7 * smo.certificate.primal)
        << "p = " << p;
  }
}

// No support vector is needed when all targets lie in the tube.
TEST(LpMklPropertyTest, RegressionInsideTheTubeIsZero) {
  const Cloud cloud = OverlappingClouds(10, 2, 13);
  TrainingProblem problem = GaussianProblem(cloud.x, Vector::Constant(10, 5.0), kWidths);
  problem.kind = TargetKind::kRegression;
  const Fit fit = MustTrain(problem, {{"epsilon", 0.5}}, 1e-6);
  EXPECT_EQ(fit.stop_reason, StopReason::kObjectiveZero);
  EXPECT_EQ(fit.certificate.primal, 0.0);
  EXPECT_EQ(fit.dual(), Vector::Zero(10));
}

}  // namespace
}  // namespace mercer::lp_mkl
