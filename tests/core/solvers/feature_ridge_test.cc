#include "core/solvers/factor/feature_ridge.h"

#include <cmath>

#include <Eigen/Cholesky>
#include <gtest/gtest.h>

#include "tests/core/kernels/low_rank_test_data.h"
#include "tests/support/cancelled_work.h"

namespace mercer {
namespace {

struct Sample {
  Matrix features;
  FeatureRidgeProblem problem;
};

void FillSample(LossKind kind, Index rows, Index columns, double cost, Sample& sample) {
  sample.features = UniformMatrix(rows, columns, 3);
  const Matrix noise = UniformMatrix(rows, 2, 5);
  const Vector score = sample.features.col(0) - 0.5 * sample.features.col(1) + 0.6 * noise.col(0);
  sample.problem.features = &sample.features;
  sample.problem.loss = *MakeLoss(kind);
  sample.problem.targets = kind == LossKind::kSquare
                               ? Vector(score.array() + 3)
                               : Vector((score.array() > 0.2).select(Vector::Ones(rows), -1.0));
  sample.problem.costs = cost * (1.5 + noise.col(1).array());
}

FeatureRidge Solve(const FeatureRidgeProblem& problem, int steps, int threads = 1) {
  FeatureRidge solver;
  RunContext context = ContextOfThreads(threads);
  EXPECT_TRUE(solver.Start(problem, context).ok());
  double before = solver.primal();
  for (int step = 0; step < steps && !solver.stuck(); ++step) {
    EXPECT_TRUE(solver.Step(context).ok());
    EXPECT_LE(solver.primal(), before);
    EXPECT_LE(solver.dual_value(), solver.primal() + 1e-12 * std::abs(solver.primal()));
    before = solver.primal();
  }
  return solver;
}

std::string StateOf(const FeatureRidge& solver) {
  ByteWriter writer;
  solver.Save(writer);
  return std::move(writer).Take();
}

TEST(FeatureRidgeTest, SquareLossSolvesTheNormalEquations) {
  Sample sample;
  FillSample(LossKind::kSquare, 300, 6, 2.0, sample);
  const FeatureRidge solver = Solve(sample.problem, 3);
  // Of (w, b): (diag(1, 0) + 2 Z'CZ) (w, b) = 2 Z'C y, Z = [X 1].
  Matrix with_ones(300, 7);
  with_ones << sample.features, Vector::Ones(300);
  const Vector& costs = sample.problem.costs;
  Matrix system = 2 * with_ones.transpose() * costs.asDiagonal() * with_ones;
  system.diagonal().head(6).array() += 1;
  const Vector solution =
      system.ldlt().solve(2 * with_ones.transpose() * costs.cwiseProduct(sample.problem.targets));
  EXPECT_LE((solver.point().weights - solution.head(6)).norm(), 1e-12 * solution.norm());
  EXPECT_NEAR(solver.point().bias, solution(6), 1e-12);
  EXPECT_LE(solver.primal() - solver.dual_value(), 1e-12 * solver.primal());
}

// The objective is convex and has a derivative: where that vanishes is the minimum.
TEST(FeatureRidgeTest, SquaredHingeEndsWhereTheGradientVanishes) {
  for (const double cost : {1e-3, 1.0, 1e4}) {
    Sample sample;
    FillSample(LossKind::kSquaredHinge, 500, 8, cost, sample);
    const FeatureRidge solver = Solve(sample.problem, 60);
    const Vector scores = (sample.features * solver.point().weights).array() + solver.point().bias;
    const Vector& y = sample.problem.targets;
    const Eigen::ArrayXd slack = (1 - y.array() * scores.array()).max(0.0);
    const Vector slopes = -2 * sample.problem.costs.array() * y.array() * slack;
    const Vector gradient = solver.point().weights + sample.features.transpose() * slopes;
    const double size = slopes.lpNorm<1>();
    EXPECT_LE(gradient.lpNorm<Eigen::Infinity>(), 1e-9 * size) << cost;
    EXPECT_LE(std::abs(slopes.sum()), 1e-9 * size) << cost;
    EXPECT_NEAR(solver.primal(),
                0.5 * solver.point().weights.squaredNorm() +
                    (sample.problem.costs.array() * slack.square()).sum(),
                1e-12 * solver.primal());
    EXPECT_LE(solver.primal() - solver.dual_value(), 1e-10 * solver.primal()) << cost;
  }
}

TEST(FeatureRidgeTest, DualHasTheValueThatItClaims) {
  Sample sample;
  FillSample(LossKind::kSquaredHinge, 200, 5, 1.0, sample);
  for (const int steps : {0, 1, 20}) {
    const FeatureRidge solver = Solve(sample.problem, steps);
    RunContext context;
    Vector dual;
    ASSERT_TRUE(solver.Dual(dual, context).ok());
    EXPECT_NEAR(dual.sum(), 0, 1e-11 * dual.lpNorm<1>());
    EXPECT_TRUE((dual.array() * sample.problem.targets.array() >= 0).all());
    // -conjugate(-u) = v - v^2 / (4 c), v = y u.
    const Eigen::ArrayXd v = dual.array() * sample.problem.targets.array();
    const double value = (v - v.square() / (4 * sample.problem.costs.array())).sum() -
                         0.5 * (sample.features.transpose() * dual).squaredNorm();
    EXPECT_NEAR(solver.dual_value(), value, 1e-10 * std::abs(value));
  }
}

TEST(FeatureRidgeTest, ThreadsAndRestoringDoNotChangeTheBits) {
  Sample sample;
  FillSample(LossKind::kSquaredHinge, 9000, 7, 1.0, sample);
  const std::string straight = StateOf(Solve(sample.problem, 6));
  EXPECT_EQ(StateOf(Solve(sample.problem, 6, 2)), straight);
  const std::string begun = StateOf(Solve(sample.problem, 2));
  FeatureRidge restored;
  ByteReader reader(begun);
  ASSERT_TRUE(restored.Load(sample.problem, reader));
  RunContext context;
  for (int step = 2; step < 6; ++step) {
    ASSERT_TRUE(restored.Step(context).ok());
  }
  EXPECT_EQ(StateOf(restored), straight);
  ByteReader damaged(std::string_view(begun).substr(0, begun.size() - 1));
  EXPECT_FALSE(restored.Load(sample.problem, damaged));
}

TEST(FeatureRidgeTest, WithoutFeaturesThereIsTheBestBias) {
  Sample sample;
  FillSample(LossKind::kSquare, 50, 3, 1.0, sample);
  const Matrix none(50, 0);
  sample.problem.features = &none;
  const FeatureRidge solver = Solve(sample.problem, 3);
  const Vector& costs = sample.problem.costs;
  EXPECT_NEAR(solver.point().bias, costs.dot(sample.problem.targets) / costs.sum(), 1e-13);
  EXPECT_NEAR(solver.dual_value(), solver.primal(), 1e-12 * solver.primal());
}

// Whole blocks of rows, the last ones, lie beyond the margin and bend nothing.
TEST(FeatureRidgeTest, BlocksOfRowsBeyondTheMarginAreNoObstacle) {
  for (const Index far : {Index{300}, Index{800}}) {
    Sample sample;
    FillSample(LossKind::kSquaredHinge, 1200, 70, 1.0, sample);
    sample.features.bottomRows(far) +=
        50 * sample.problem.targets.tail(far) * Eigen::RowVectorXd::Unit(sample.features.cols(), 0);
    const FeatureRidge solver = Solve(sample.problem, 40);
    const Vector scores = (sample.features * solver.point().weights).array() + solver.point().bias;
    EXPECT_GT((sample.problem.targets.cwiseProduct(scores)).tail(far).minCoeff(), 1);
    EXPECT_LE(solver.primal() - solver.dual_value(), 1e-10 * solver.primal());
  }
}

TEST(FeatureRidgeTest, StepOfThousandsOfFeaturesEndsSoonAfterCancellation) {
  Sample sample;
  FillSample(LossKind::kSquare, 1500, 5000, 1.0, sample);
  FeatureRidge solver;
  RunContext context;
  ASSERT_TRUE(solver.Start(sample.problem, context).ok());
  const std::string before = StateOf(solver);
  const auto step = [&](RunContext& cancelled) { return solver.Step(cancelled); };
  FeatureRidge other;
  ASSERT_TRUE(other.Start(sample.problem, context).ok());
  const double whole = WholeWork([&](RunContext& whole_step) { return other.Step(whole_step); });
  for (const double part : {0.01, 0.1, 0.3, 0.5}) {
    EXPECT_LE(WorkAfterCancel(part * whole, step), kMostWorkAfterCancel) << part << " of the step";
    EXPECT_EQ(StateOf(solver), before);
  }
}

}  // namespace
}  // namespace mercer
