#include "core/objectives/lp_weights.h"

#include <cmath>
#include <fstream>
#include <string>

#include "nlohmann/json.hpp"
#include <gtest/gtest.h>

#include "core/base/numeric/random.h"
#include "tests/support/source_folder.h"

namespace mercer {
namespace {

double ReadNumber(const nlohmann::json& value) {
  return value.is_string() ? kInfinity : value.get<double>();
}

Vector ReadVector(const nlohmann::json& values) {
  Vector read(static_cast<Index>(values.size()));
  for (size_t i = 0; i < values.size(); ++i) {
    read(static_cast<Index>(i)) = values[i].get<double>();
  }
  return read;
}

Vector RandomVector(RandomStream& random, Index size) {
  Vector values(size);
  for (Index i = 0; i < size; ++i) {
    values(i) = random.Uniform();
  }
  return values;
}

constexpr double kExponents[] = {1.0, 1.001, 1.5, 2.0, 7.0, 1000.0};

TEST(LpWeightsTest, ClosedFormMatchesFixtureFromTinyToHugeNorms) {
  std::ifstream file(SourceFolder() / "tests/fixtures/lowrank-lp-mkl/weight_update.json");
  const nlohmann::json fixture = nlohmann::json::parse(file);
  const double tolerance = fixture["tolerance"]["rel"].get<double>();
  const nlohmann::json& cases = fixture["input"]["cases"];
  const nlohmann::json& expected = fixture["expected"]["cases"];
  ASSERT_EQ(cases.size(), expected.size());
  ASSERT_GT(cases.size(), 0u);
  for (size_t c = 0; c < cases.size(); ++c) {
    const Vector norms = ReadVector(cases[c]["block_norms"]);
    const double p = ReadNumber(cases[c]["p"]);
    const Vector current = Vector::Constant(norms.size(), 0.25);
    const Vector weights = WeightsFromNorms(norms, p, current);
    if (norms.isZero(0)) {
      EXPECT_EQ(weights, current) << "case " << c;
      continue;
    }
    const Vector wanted = ReadVector(expected[c]["weights"]);
    for (Index k = 0; k < wanted.size(); ++k) {
      EXPECT_NEAR(weights(k), wanted(k), tolerance * std::max(1.0, std::abs(wanted(k))))
          << "case " << c << " kernel " << k;
    }
  }
}

TEST(LpWeightsTest, ClosedFormBeatsRandomFeasibleWeights) {
  RandomStream random(7, "competitors");
  for (const double p : kExponents) {
    const Vector norms = RandomVector(random, 6);
    const Vector weights = WeightsFromNorms(norms, p, Vector::Ones(6));
    EXPECT_NEAR(weights.array().pow(p).sum(), 1.0, 1e-12 * p) << "p = " << p;
    const double value = 0.5 * (norms.array().square() / weights.array()).sum();
    EXPECT_NEAR(value, HalfSquaredBlockNorm(norms, p), 1e-10 * value) << "p = " << p;
    for (int trial = 0; trial < 200; ++trial) {
      const Vector other = RandomVector(random, 6);
      const Vector feasible = other / LpNorm(other, p);
      EXPECT_GE(0.5 * (norms.array().square() / feasible.array()).sum(), value * (1 - 1e-12))
          << "p = " << p;
    }
  }
}

TEST(LpWeightsTest, DualNormIsTheLargestWeightedSum) {
  RandomStream random(11, "dual norm");
  for (const double p : kExponents) {
    const Vector energies = RandomVector(random, 5);
    const double bound = LpNorm(energies, DualExponent(p));
    for (int trial = 0; trial < 200; ++trial) {
      const Vector other = RandomVector(random, 5);
      EXPECT_LE(other.dot(energies) / LpNorm(other, p), bound * (1 + 1e-12)) << "p = " << p;
    }
  }
  EXPECT_DOUBLE_EQ(LpNorm(Vector::Constant(3, 2.0), kInfinity), 2.0);
  EXPECT_DOUBLE_EQ(DualExponent(kInfinity), 1.0);
  EXPECT_TRUE(std::isinf(DualExponent(1.0)));
}

TEST(LpWeightsTest, OverRelaxedStepKeepsTheFixedPointOfTheClosedForm) {
  RandomStream random(13, "fixed point");
  for (const double p : {1.2, 2.0, 5.0}) {
    // At a fixed point energies(k) is proportional to weights(k)^(p-1).
    Vector weights = RandomVector(random, 4);
    weights /= LpNorm(weights, p);
    const Vector energies = 3.0 * weights.array().pow(p - 1.0);
    EXPECT_LT((OverRelaxedWeights(weights, energies, p) - weights).cwiseAbs().maxCoeff(), 1e-13)
        << "p = " << p;
  }
}

double ModelValue(const WeightModel& model, const Vector& weights) {
  const Vector moved = weights - model.start;
  return -0.5 * model.energies.dot(moved) + 0.5 * moved.dot(model.hessian * moved);
}

TEST(LpWeightsTest, WeightModelMinimiserBeatsRandomFeasibleWeights) {
  RandomStream random(17, "model");
  for (const double p : {1.0, 1.1, 2.0, 6.0}) {
    for (int problem = 0; problem < 5; ++problem) {
      WeightModel model;
      model.start = UniformWeights(5, p);
      model.energies = RandomVector(random, 5);
      Matrix factor(5, 5);
      for (Index j = 0; j < 5; ++j) {
        factor.col(j) = RandomVector(random, 5);
      }
      model.hessian = 0.1 * factor.transpose() * factor;
      const auto solved = MinimizeWeightModel(model, p, RunContext());
      ASSERT_TRUE(solved.ok() && solved->has_value()) << solved.status();
      const auto& minimiser = *solved;
      EXPECT_GE(minimiser->minCoeff(), 0.0);
      EXPECT_NEAR(LpNorm(*minimiser, p), 1.0, 1e-12);
      const double value = ModelValue(model, *minimiser);
      for (int trial = 0; trial < 500; ++trial) {
        const Vector other = RandomVector(random, 5);
        EXPECT_GE(ModelValue(model, other / LpNorm(other, p)), value - 1e-8)
            << "p = " << p << " problem " << problem;
      }
    }
  }
}

// The linear lower bound of a convex model: by how much its minimum over the ball can be below the
// value at `weights`.
double LinearGap(const WeightModel& model, const Vector& weights, double p) {
  const Vector slope = model.hessian * (weights - model.start) - 0.5 * model.energies;
  return slope.dot(weights) + LpNorm((-slope).cwiseMax(0.0), DualExponent(p));
}

// A few kernels of large energy and many whose energy falls quickly with their weight, as one kernel
// per column beside kernels of all columns.
TEST(LpWeightsTest, WeightModelOfManyNarrowKernelsIsMinimised) {
  constexpr Index kKernels = 120;
  RandomStream random(3, "narrow kernels");
  for (const double p : {1.0, 1.05, 1.2, 2.0, 6.0}) {
    for (int problem = 0; problem < 5; ++problem) {
      WeightModel model;
      model.start = RandomVector(random, kKernels).cwiseAbs();
      model.start.head(3) *= 100.0;
      model.start /= LpNorm(model.start, p);
      model.energies = 30.0 * RandomVector(random, kKernels).cwiseAbs();
      model.energies.head(3).array() += 250.0;
      model.hessian = (80.0 * model.energies).asDiagonal();
      model.hessian.topLeftCorner(3, 3) =
          Matrix::Constant(3, 3, 40.0) + 5.0 * Matrix::Identity(3, 3);
      const auto solved = MinimizeWeightModel(model, p, RunContext());
      ASSERT_TRUE(solved.ok() && solved->has_value()) << solved.status() << " p = " << p;
      EXPECT_NEAR(LpNorm(**solved, p), 1.0, 1e-12);
      EXPECT_LE(LinearGap(model, **solved, p), 1e-7 * LpNorm(model.energies, DualExponent(p)))
          << "p = " << p << " problem " << problem;
    }
  }
}

TEST(LpWeightsTest, WeightModelWithoutSolutionIsRefused) {
  WeightModel model{Vector::Ones(2), Vector::Zero(2), Matrix::Zero(2, 2)};
  EXPECT_FALSE(MinimizeWeightModel(model, 2.0, RunContext())->has_value());
  model.energies.setOnes();
  model.hessian(0, 0) = std::nan("");
  EXPECT_FALSE(MinimizeWeightModel(model, 2.0, RunContext())->has_value());
}

TEST(LpWeightsTest, WeightModelCanBeCancelled) {
  const WeightModel model{UniformWeights(3, 2.0), Vector::Ones(3), Matrix::Identity(3, 3)};
  const CancellationToken token;
  token.Cancel();
  const RunContext cancelled(token, 1, nullptr);
  EXPECT_TRUE(absl::IsCancelled(MinimizeWeightModel(model, 2.0, cancelled).status()));
}

}  // namespace
}  // namespace mercer
