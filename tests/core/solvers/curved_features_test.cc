// Newton's method for losses with a curvature on explicit features in double precision: a ridge, against dense formulas.
#include <algorithm>
#include <cmath>
#include <memory>
#include <string>

#include <Eigen/Cholesky>
#include <Eigen/QR>
#include <gtest/gtest.h>

#include "core/solvers/svm/curved_svm.h"
#include "tests/core/kernels/low_rank_test_data.h"
#include "tests/support/cancelled_work.h"

namespace mercer {
namespace {

struct RidgeRows {
  Matrix features;
  SvmProblem problem;
};

RidgeRows MakeRidgeRows(LossKind kind, Index rows, Index columns, double cost) {
  RidgeRows data{UniformMatrix(rows, columns, 3), {}};
  const Matrix noise = UniformMatrix(rows, 2, 5);
  const Vector score = data.features.col(0) - 0.5 * data.features.col(1) + 0.6 * noise.col(0);
  data.problem.loss = *MakeLoss(kind);
  data.problem.targets = kind == LossKind::kSquare
                             ? Vector(score.array() + 3)
                             : Vector((score.array() > 0.2).select(Vector::Ones(rows), -1.0));
  data.problem.costs = cost * (1.5 + noise.col(1).array());
  return data;
}

std::unique_ptr<CurvedSvmSolver> RidgeSolverOf(const Matrix& features, double gap) {
  return std::make_unique<CurvedSvmSolver>(MakeFeatureSystem(features), gap);
}

std::unique_ptr<CurvedSvmSolver> SolveRidgeRows(const RidgeRows& data, double gap) {
  RunContext context;
  std::unique_ptr<CurvedSvmSolver> solver = RidgeSolverOf(data.features, gap);
  EXPECT_EQ(solver->Start(data.problem, {}, context), absl::OkStatus());
  EXPECT_EQ(solver->Run(context), absl::OkStatus());
  EXPECT_EQ(solver->stop(), SvmStop::kRelativeGap) << solver->certificate().RelativeGap();
  return solver;
}

// (1 / D + K_JJ) lam = (K g)_J + db 1,  1'lam = sum, whether fewer rows are curved than there are features or more.
TEST(FeatureSystemTest, SolvesTheDenseSystem) {
  for (const Index columns : {Index{0}, Index{1}, Index{7}, Index{90}}) {
    const Matrix features = UniformMatrix(60, columns, 8);
    const Matrix gram = features * features.transpose();
    const std::unique_ptr<CurvedSystem> system = MakeFeatureSystem(features);
    EXPECT_EQ(system->size(), 60);
    RunContext context;
    CurvedStep step;
    for (Index i = 1; i < 60; i += 2) {
      step.rows.push_back(i);
    }
    step.curvature = UniformMatrix(30, 1, 9).col(0).array().square() + 0.1;
    step.gradient = UniformMatrix(60, 1, 10).col(0);
    step.sum = 0.7;
    ASSERT_EQ(system->Multiply(step.gradient, step.products, context), absl::OkStatus());
    ExpectMatrixNear(step.products, features.transpose() * step.gradient, 1e-13, "products");
    CurvedDirection direction;
    ASSERT_EQ(system->Solve(step, direction, context), absl::OkStatus());
    ASSERT_EQ(direction.multipliers.size(), 30);
    const Matrix of_rows = gram(step.rows, step.rows);
    const Vector left =
        direction.multipliers.cwiseQuotient(step.curvature) + of_rows * direction.multipliers;
    const Vector of_all = gram * step.gradient;
    const Vector of_products = of_all(step.rows);
    const Vector right = of_products.array() + direction.bias;
    EXPECT_LE((left - right).norm(), 1e-11 * std::max(1.0, right.norm())) << columns;
    EXPECT_NEAR(direction.multipliers.sum(), step.sum, 1e-11) << columns;
    Vector change = step.gradient;
    change(step.rows) -= direction.multipliers;
    ExpectMatrixNear(direction.weights, features.transpose() * change, 1e-11, "weights");
    ExpectMatrixNear(direction.scores, gram * change, 1e-11, "scores");
  }
}

TEST(FeatureSystemTest, NoCurvedRowsLeaveTheGradient) {
  const Matrix features = UniformMatrix(20, 3, 4);
  const std::unique_ptr<CurvedSystem> system = MakeFeatureSystem(features);
  RunContext context;
  CurvedStep step;
  step.gradient = UniformMatrix(20, 1, 5).col(0);
  ASSERT_EQ(system->Multiply(step.gradient, step.products, context), absl::OkStatus());
  CurvedDirection direction;
  ASSERT_EQ(system->Solve(step, direction, context), absl::OkStatus());
  EXPECT_EQ(direction.multipliers.size(), 0);
  EXPECT_EQ(direction.bias, 0);
  ExpectMatrixNear(direction.weights, features.transpose() * step.gradient, 1e-13, "weights");
}

TEST(CurvedFeaturesTest, SquareLossSolvesTheNormalEquations) {
  const RidgeRows data = MakeRidgeRows(LossKind::kSquare, 300, 6, 2.0);
  const std::unique_ptr<CurvedSvmSolver> solver = SolveRidgeRows(data, 1e-12);
  // Of (w, b): (diag(1, 0) + 2 Z'CZ) (w, b) = 2 Z'C y, Z = [X 1].
  Matrix with_ones(300, 7);
  with_ones << data.features, Vector::Ones(300);
  const Vector& costs = data.problem.costs;
  Matrix system = 2 * with_ones.transpose() * costs.asDiagonal() * with_ones;
  system.diagonal().head(6).array() += 1;
  const Vector solution =
      system.ldlt().solve(2 * with_ones.transpose() * costs.cwiseProduct(data.problem.targets));
  EXPECT_LE((solver->weights() - solution.head(6)).norm(), 1e-12 * solution.norm());
  EXPECT_NEAR(solver->certificate().bias.chosen, solution(6), 1e-12);
  const Vector of_dual = data.features.transpose() * solver->dual();
  EXPECT_LE((of_dual - solution.head(6)).norm(), 1e-10 * solution.norm());
  EXPECT_LE(solver->iterations(), 2);
}

// The weights are those of the least squares but for 1 / cost, though each entry of the dual, of
// which they are a sum, is rounded by more than their size.
TEST(CurvedFeaturesTest, HugeCostsLeaveTheWeightsExact) {
  for (const double cost : {1e10, 1e13, 1e16}) {
    const RidgeRows data = MakeRidgeRows(LossKind::kSquare, 300, 6, cost);
    const std::unique_ptr<CurvedSvmSolver> solver = SolveRidgeRows(data, 1e-9);
    Matrix with_ones(300, 7);
    with_ones << data.features, Vector::Ones(300);
    const Vector roots = data.problem.costs.cwiseSqrt() / std::sqrt(cost);
    const Vector solution = (roots.asDiagonal() * with_ones)
                                .eval()
                                .colPivHouseholderQr()
                                .solve(roots.cwiseProduct(data.problem.targets));
    EXPECT_LE((solver->weights() - solution.head(6)).norm(), 1e-9 * solution.norm()) << cost;
    EXPECT_NEAR(solver->certificate().bias.chosen, solution(6), 1e-9) << cost;
  }
}

// The objective is convex and has a derivative: where that vanishes is the minimum.
TEST(CurvedFeaturesTest, SquaredHingeEndsWhereTheGradientVanishes) {
  for (const double cost : {1e-3, 1.0, 1e4}) {
    const RidgeRows data = MakeRidgeRows(LossKind::kSquaredHinge, 500, 8, cost);
    const std::unique_ptr<CurvedSvmSolver> solver = SolveRidgeRows(data, 1e-13);
    const Vector& weights = solver->weights();
    const double bias = solver->certificate().bias.chosen;
    const Vector scores = (data.features * weights).array() + bias;
    const Vector& y = data.problem.targets;
    const Eigen::ArrayXd slack = (1 - y.array() * scores.array()).max(0.0);
    const Vector slopes = -2 * data.problem.costs.array() * y.array() * slack;
    const Vector gradient = weights + data.features.transpose() * slopes;
    const double size = slopes.lpNorm<1>();
    EXPECT_LE(gradient.lpNorm<Eigen::Infinity>(), 1e-9 * size) << cost;
    EXPECT_LE(std::abs(slopes.sum()), 1e-9 * size) << cost;
    const double primal =
        0.5 * weights.squaredNorm() + (data.problem.costs.array() * slack.square()).sum();
    EXPECT_NEAR(solver->certificate().primal, primal, 1e-12 * primal);
    // -conjugate(-u) = v - v^2 / (4 c), v = y u.
    const Eigen::ArrayXd v = solver->dual().array() * y.array();
    const double dual = (v - v.square() / (4 * data.problem.costs.array())).sum() -
                        0.5 * (data.features.transpose() * solver->dual()).squaredNorm();
    EXPECT_TRUE((v >= 0).all());
    EXPECT_NEAR(solver->dual().sum(), 0, 1e-11 * solver->dual().lpNorm<1>());
    EXPECT_NEAR(solver->certificate().dual, dual, 1e-11 * primal);
  }
}

TEST(CurvedFeaturesTest, ThreadsAndRestoringDoNotChangeTheBits) {
  const RidgeRows data = MakeRidgeRows(LossKind::kSquaredHinge, 9000, 7, 1.0);
  RunContext context;
  RunContext two_threads = ContextOfThreads(2);
  const std::unique_ptr<CurvedSvmSolver> whole = RidgeSolverOf(data.features, 1e-11);
  ASSERT_EQ(whole->Start(data.problem, {}, context), absl::OkStatus());
  std::string state = whole->SaveState();
  while (!whole->done()) {
    ASSERT_EQ(whole->Step(1, context), absl::OkStatus());
    const std::unique_ptr<CurvedSvmSolver> relay = RidgeSolverOf(data.features, 1e-11);
    ASSERT_EQ(relay->RestoreState(data.problem, state, context), absl::OkStatus());
    ASSERT_EQ(relay->Step(1, two_threads), absl::OkStatus());
    state = relay->SaveState();
    ASSERT_TRUE(whole->SaveState() == state) << "iteration " << whole->iterations();
  }
}

TEST(CurvedFeaturesTest, WithoutFeaturesThereIsTheBestBias) {
  RidgeRows data = MakeRidgeRows(LossKind::kSquare, 50, 3, 1.0);
  data.features.resize(50, 0);
  const std::unique_ptr<CurvedSvmSolver> solver = SolveRidgeRows(data, 1e-12);
  const Vector& costs = data.problem.costs;
  EXPECT_NEAR(solver->certificate().bias.chosen, costs.dot(data.problem.targets) / costs.sum(),
              1e-13);
}

// Whole blocks of rows, the last ones, lie beyond the margin and bend nothing.
TEST(CurvedFeaturesTest, BlocksOfRowsBeyondTheMarginAreNoObstacle) {
  for (const Index far : {Index{300}, Index{800}}) {
    RidgeRows data = MakeRidgeRows(LossKind::kSquaredHinge, 1200, 70, 1.0);
    data.features.bottomRows(far) +=
        50 * data.problem.targets.tail(far) * Eigen::RowVectorXd::Unit(data.features.cols(), 0);
    const std::unique_ptr<CurvedSvmSolver> solver = SolveRidgeRows(data, 1e-10);
    const Vector scores = solver->scores().array() + solver->certificate().bias.chosen;
    EXPECT_GT(data.problem.targets.cwiseProduct(scores).tail(far).minCoeff(), 1);
  }
}

TEST(CurvedFeaturesTest, StepOfThousandsOfFeaturesEndsSoonAfterCancellation) {
  const RidgeRows data = MakeRidgeRows(LossKind::kSquare, 1500, 5000, 1.0);
  RunContext context;
  const std::unique_ptr<CurvedSvmSolver> solver = RidgeSolverOf(data.features, 0);
  ASSERT_EQ(solver->Start(data.problem, {}, context), absl::OkStatus());
  const std::string before = solver->SaveState();
  const std::unique_ptr<CurvedSvmSolver> other = RidgeSolverOf(data.features, 0);
  ASSERT_EQ(other->Start(data.problem, {}, context), absl::OkStatus());
  const double whole = WholeWork([&](RunContext& step) { return other->Step(1, step); });
  const auto work = [&](RunContext& cancelled) { return solver->Step(1, cancelled); };
  for (const double part : {0.01, 0.1, 0.3, 0.5}) {
    EXPECT_LE(WorkAfterCancel(part * whole, work), kMostWorkAfterCancel) << part << " of the step";
    EXPECT_TRUE(solver->SaveState() == before);
  }
}

}  // namespace
}  // namespace mercer
