// What must hold for every restricted master, whatever solves it: bounds at any point, symmetries, limits.
#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "tests/core/solvers/group_test_problems.h"
#include "tests/support/cancelled_work.h"

namespace mercer {
namespace {

constexpr LossKind kLosses[] = {LossKind::kSquare, LossKind::kSquaredHinge, LossKind::kLogistic};
constexpr double kTightGap = 1e-11;

// The objective by its definition.
double DefinedObjective(const GroupProblem& problem, const GroupPoint& point) {
  double sum = PenaltyValue(problem, point);
  const Matrix weights = point.Weights();
  for (Index t = 0; t < problem.num_tasks(); ++t) {
    const GroupTask& task = problem.task(t);
    const Vector scores = task.columns->Columns(0, problem.num_columns()) * weights.col(t);
    sum += problem.loss->TotalValue(task.targets, task.costs, scores, point.bias(t));
  }
  return sum;
}

double Optimum(const GroupProblem& problem) {
  return SolveGroupProblem(problem, kTightGap)->certificate().primal;
}

GroupProblem OnColumns(GroupProblem problem, const FeatureColumns& columns) {
  for (GroupTask& task : problem.tasks) {
    task.columns = &columns;
  }
  return problem;
}

// At points from 0 to far away.
void ExpectBounds(const GroupProblem& problem, RandomStream& random) {
  RunContext context;
  const double optimum = SolveGroupProblem(problem, 1e-9)->certificate().primal;
  for (const double scale : {0.0, 0.01, 1.0, 100.0}) {
    const GroupPoint point = RandomPoint(problem, random, scale);
    GroupEvaluation evaluation;
    ASSERT_EQ(EvaluateGroupProblem(problem, point, evaluation, context), absl::OkStatus());
    const GroupCertificate certificate = *CertifyGroupProblem(problem, evaluation, 0, RunContext());
    const double slack = 1e-12 * std::max(1.0, certificate.primal);
    EXPECT_NEAR(certificate.primal, DefinedObjective(problem, point), slack);
    EXPECT_GE(certificate.Gap(), -slack);
    EXPECT_GE(certificate.primal, optimum - 1e-8 * std::max(1.0, optimum));
    EXPECT_LE(certificate.dual, optimum + slack);
  }
}

TEST(GroupPropertyTest, BoundsHoldAtAnyPoint) {
  RandomStream random(1, "master-property-test");
  for (const LossKind loss : kLosses) {
    for (const double q : {1.0, 1.5, 2.0, 3.0, kInfinity}) {
      for (const double shared_lambda : {0.4, kInfinity}) {
        for (const bool bias : {true, false}) {
          const OwnedGroupProblem owned =
              RandomGroupProblem({.loss = loss,
                                  .tasks = 2,
                                  .shape = bias ? BlockShape::kNested : BlockShape::kFlat,
                                  .q = q,
                                  .lambda = 0.3,
                                  .shared_lambda = shared_lambda,
                                  .bias = bias,
                                  .varied_costs = true},
                                 2);
          ExpectBounds(owned.problem, random);
        }
      }
    }
  }
}

// The master of the first groups bounds the problem of all groups, once the ratios of the others are known.
TEST(GroupPropertyTest, RatiosOfFurtherGroupsMakeTheBoundThatOfAllGroups) {
  for (const LossKind loss : kLosses) {
    for (const double shared_lambda : {0.3, kInfinity}) {
      const OwnedGroupProblem owned = RandomGroupProblem(
          {.loss = loss, .tasks = 2, .lambda = 0.3, .shared_lambda = shared_lambda}, 16);
      const GroupProblem& all = owned.problem;
      const double optimum = Optimum(all);
      const Matrix values = all.task(0).columns->Columns(0, 12);
      const auto columns = MakeColumns(values.leftCols(6));
      GroupProblem part = OnColumns(all, *columns);
      part.group_begin.resize(4);
      part.group_weights = Vector::Ones(3);
      const auto solver = SolveGroupProblem(part, kTightGap);
      const std::vector<Vector> slopes = BalancedSlopes(part, solver->evaluation());
      Matrix products(12, 2);
      for (Index t = 0; t < 2; ++t) {
        EXPECT_NEAR(slopes[static_cast<size_t>(t)].sum(), 0,
                    1e-13 * slopes[static_cast<size_t>(t)].lpNorm<1>());
        products.col(t) = values.transpose() * slopes[static_cast<size_t>(t)];
      }
      double ratio = 0;
      for (Index g = 3; g < 6; ++g) {
        ratio = std::max(ratio, GroupRatio(all, products.middleRows(2 * g, 2), 1));
      }
      EXPECT_GT(ratio, 1);  // otherwise the test says nothing
      const GroupCertificate certificate =
          *CertifyGroupProblem(part, solver->evaluation(), ratio, RunContext());
      EXPECT_EQ(certificate.largest_ratio, ratio);
      EXPECT_LE(certificate.dual, optimum * (1 + 1e-12));
      EXPECT_GT(solver->certificate().dual, optimum);
    }
  }
}

TEST(GroupPropertyTest, WeightsVanishExactlyFromTheLargestUsefulLambdaOn) {
  for (const LossKind loss : kLosses) {
    for (const Index tasks : {1, 3}) {
      RandomGroupProblemSpec spec{.loss = loss, .tasks = tasks, .varied_costs = true};
      const double largest = LargestUsefulLambda(RandomGroupProblem(spec, 3).problem);
      spec.lambda = 1.0001 * largest;
      EXPECT_TRUE(SolveGroupProblem(RandomGroupProblem(spec, 3).problem, kTightGap)
                      ->point()
                      .specific.isZero(0));
      spec.lambda = 0.999 * largest;
      EXPECT_FALSE(SolveGroupProblem(RandomGroupProblem(spec, 3).problem, kTightGap)
                       ->point()
                       .specific.isZero(0));
    }
  }
}

// With one task and equal norms, only the smaller lambda matters.
TEST(GroupPropertyTest, OneTaskNeedsOnlyTheSmallerLambda) {
  for (const LossKind loss : kLosses) {
    const double alone = Optimum(RandomGroupProblem({.loss = loss, .lambda = 0.3}, 4).problem);
    for (const auto& [lambda, shared] :
         {std::pair<double, double>{0.3, 0.7}, {0.7, 0.3}, {kInfinity, 0.3}}) {
      const double both = Optimum(
          RandomGroupProblem({.loss = loss, .lambda = lambda, .shared_lambda = shared}, 4).problem);
      EXPECT_NEAR(both, alone, 1e-9 * alone);
    }
  }
}

TEST(GroupPropertyTest, IdenticalTasksShareBelowTheThresholdAndNotAbove) {
  constexpr Index kTasks = 3;
  for (const LossKind loss : kLosses) {
    OwnedGroupProblem owned = RandomGroupProblem({.loss = loss, .lambda = 0.3}, 5);
    const GroupTask task = owned.problem.tasks[0];
    owned.problem.tasks.assign(kTasks, task);
    owned.problem.shared.lambda = 0.9 * std::sqrt(3.0) * 0.3;
    const auto below = SolveGroupProblem(owned.problem, kTightGap);
    EXPECT_TRUE(below->point().specific.isZero(0));
    EXPECT_FALSE(below->point().shared.isZero(0));
    owned.problem.shared.lambda = 1.1 * std::sqrt(3.0) * 0.3;
    const auto above = SolveGroupProblem(owned.problem, kTightGap);
    EXPECT_TRUE(above->point().shared.isZero(0));
    EXPECT_FALSE(above->point().specific.isZero(0));
    for (Index t = 1; t < kTasks; ++t) {
      EXPECT_LE((above->point().specific.col(t) - above->point().specific.col(0)).norm(), 1e-5);
    }
  }
}

// Labels of one-against-all add up to a constant, so that the sum of the tasks' functions is one.
TEST(GroupPropertyTest, OneAgainstAllWithSquareLossHasNoSharedPart) {
  OwnedGroupProblem owned = RandomGroupProblem(
      {.loss = LossKind::kSquare, .rows = 90, .tasks = 3, .lambda = 0.4, .shared_lambda = 1e-3}, 6);
  for (Index i = 0; i < 90; ++i) {
    const Index label = (7 * i + i * i / 11) % 3;
    for (Index t = 0; t < 3; ++t) {
      owned.problem.tasks[static_cast<size_t>(t)].targets(i) = label == t ? 1 : -1;
    }
  }
  const auto solver = SolveGroupProblem(owned.problem, kTightGap);
  EXPECT_LE(solver->point().shared.cwiseAbs().maxCoeff(), 1e-5);
  EXPECT_LE(solver->point().Weights().rowwise().sum().cwiseAbs().maxCoeff(), 1e-5);
}

TEST(GroupPropertyTest, SeparateTasksAreSolvedAsIfAlone) {
  for (const LossKind loss : kLosses) {
    const OwnedGroupProblem owned = RandomGroupProblem(
        {.loss = loss, .tasks = 3, .shared_rows = false, .q = 1, .lambda = 0.3}, 7);
    const auto together = SolveGroupProblem(owned.problem, 1e-12);
    double sum = 0;
    for (Index t = 0; t < 3; ++t) {
      GroupProblem alone = owned.problem;
      alone.tasks = {owned.problem.task(t)};
      const auto solver = SolveGroupProblem(alone, kTightGap);
      sum += solver->certificate().primal;
      EXPECT_LE(
          (solver->evaluation().scores[0] - together->evaluation().scores[static_cast<size_t>(t)])
              .cwiseAbs()
              .maxCoeff(),
          1e-4);
    }
    EXPECT_NEAR(together->certificate().primal, sum, 1e-9 * sum);
  }
}

TEST(GroupPropertyTest, DuplicateConstantAndZeroColumnsChangeNothing) {
  for (const LossKind loss : kLosses) {
    const OwnedGroupProblem owned = RandomGroupProblem({.loss = loss, .lambda = 0.2}, 8);
    const double optimum = Optimum(owned.problem);
    const Matrix values = owned.problem.task(0).columns->Columns(0, 12);
    Matrix more(values.rows(), 18);
    more << values, values.leftCols(2), Matrix::Constant(values.rows(), 2, 0.3),
        Matrix::Zero(values.rows(), 2);
    const auto columns = MakeColumns(more);
    GroupProblem problem = OnColumns(owned.problem, *columns);
    problem.group_begin.insert(problem.group_begin.end(), {14, 16, 18});
    problem.group_weights = Vector::Ones(9);
    const auto solver = SolveGroupProblem(problem, kTightGap);
    EXPECT_NEAR(solver->certificate().primal, optimum, 1e-9 * std::max(1.0, optimum));
    EXPECT_TRUE(solver->point().specific.bottomRows(4).isZero(1e-9));
  }
}

TEST(GroupPropertyTest, OrderAndSignsOfColumnsChangeNothing) {
  for (const LossKind loss : kLosses) {
    const OwnedGroupProblem owned =
        RandomGroupProblem({.loss = loss, .tasks = 2, .lambda = 0.2}, 9);
    const auto solver = SolveGroupProblem(owned.problem, kTightGap);
    const Matrix values = owned.problem.task(0).columns->Columns(0, 12);
    // Groups backwards, one column with the other sign; rows backwards; tasks exchanged.
    Matrix permuted(values.rows(), 12);
    for (Index g = 0; g < 6; ++g) {
      permuted.middleCols(2 * g, 2) = values.middleCols(2 * (5 - g), 2);
    }
    permuted.col(3) *= -1;
    permuted = permuted.colwise().reverse().eval();
    const auto columns = MakeColumns(permuted);
    GroupProblem problem = OnColumns(owned.problem, *columns);
    std::swap(problem.tasks[0], problem.tasks[1]);
    for (GroupTask& task : problem.tasks) {
      task.targets.reverseInPlace();
      task.costs.reverseInPlace();
    }
    const auto other = SolveGroupProblem(problem, kTightGap);
    EXPECT_NEAR(other->certificate().primal, solver->certificate().primal,
                1e-10 * solver->certificate().primal);
    EXPECT_LE((other->evaluation().scores[0] - solver->evaluation().scores[1].reverse())
                  .cwiseAbs()
                  .maxCoeff(),
              1e-4);
  }
}

TEST(GroupPropertyTest, OppositeTargetsNegateTheScores) {
  for (const LossKind loss : kLosses) {
    OwnedGroupProblem owned =
        RandomGroupProblem({.loss = loss, .lambda = 0.2, .varied_costs = true}, 10);
    const auto solver = SolveGroupProblem(owned.problem, kTightGap);
    owned.problem.tasks[0].targets *= -1;
    const auto opposite = SolveGroupProblem(owned.problem, kTightGap);
    EXPECT_NEAR(solver->certificate().primal, opposite->certificate().primal,
                1e-10 * solver->certificate().primal);
    EXPECT_LE(
        (solver->evaluation().scores[0] + opposite->evaluation().scores[0]).cwiseAbs().maxCoeff(),
        1e-4);
  }
}

TEST(GroupPropertyTest, RotatingAPairChangesNothing) {
  const OwnedGroupProblem owned = RandomGroupProblem({.lambda = 0.2}, 11);
  const double optimum = Optimum(owned.problem);
  Matrix values = owned.problem.task(0).columns->Columns(0, 12);
  const double angle = 0.7;
  const Matrix rotation{{std::cos(angle), -std::sin(angle)}, {std::sin(angle), std::cos(angle)}};
  values.leftCols(2) = (values.leftCols(2) * rotation).eval();
  const auto columns = MakeColumns(values);
  EXPECT_NEAR(Optimum(OnColumns(owned.problem, *columns)), optimum, 1e-10 * optimum);
}

TEST(GroupPropertyTest, ARowOfCostTwoIsTwoRows) {
  for (const LossKind loss : kLosses) {
    OwnedGroupProblem owned = RandomGroupProblem({.loss = loss, .lambda = 0.2}, 12);
    const Matrix values = owned.problem.task(0).columns->Columns(0, 12);
    GroupTask& task = owned.problem.tasks[0];
    std::vector<Index> rows;
    for (Index i = 0; i < 60; ++i) {
      rows.insert(rows.end(), static_cast<size_t>(i % 3), i);  // 0, 1 or 2 times
      task.costs(i) = static_cast<double>(i % 3);
    }
    const double weighted = Optimum(owned.problem);
    const auto columns = MakeColumns(values(rows, Eigen::all));
    GroupProblem repeated = owned.problem;
    repeated.tasks = {
        {columns.get(), task.targets(rows), Vector::Ones(static_cast<Index>(rows.size()))}};
    EXPECT_NEAR(Optimum(repeated), weighted, 1e-10 * weighted);
  }
}

TEST(GroupPropertyTest, AllRowsAndLambdaTwiceGiveTheSameWeights) {
  const OwnedGroupProblem owned =
      RandomGroupProblem({.loss = LossKind::kSquare, .lambda = 0.2}, 13);
  const auto once = SolveGroupProblem(owned.problem, 1e-13);
  GroupProblem twice = owned.problem;
  const Matrix values = twice.task(0).columns->Columns(0, 12);
  Matrix stacked(2 * values.rows(), 12);
  stacked << values, values;
  const auto columns = MakeColumns(stacked);
  Vector targets(2 * values.rows());
  targets << twice.task(0).targets, twice.task(0).targets;
  twice.tasks = {{columns.get(), targets, Vector::Ones(targets.size())}};
  twice.specific.lambda *= 2;
  const auto doubled = SolveGroupProblem(twice, 1e-13);
  EXPECT_LE((once->point().specific - doubled->point().specific).cwiseAbs().maxCoeff(), 1e-6);
}

// With l1 on single columns and the square loss the master is the Lasso, whose optimality conditions are checked directly.
TEST(GroupPropertyTest, LassoSatisfiesItsOptimalityConditions) {
  const OwnedGroupProblem owned = RandomGroupProblem(
      {.loss = LossKind::kSquare, .rows = 80, .groups = 15, .group_size = 1, .q = 1, .lambda = 0.5},
      14);
  const auto solver = SolveGroupProblem(owned.problem, 1e-13);
  const Matrix values = owned.problem.task(0).columns->Columns(0, 15);
  const Vector weights = solver->point().specific.col(0);
  const Vector residual =
      (values * weights).array() + solver->point().bias(0) - owned.problem.task(0).targets.array();
  EXPECT_NEAR(residual.sum(), 0, 1e-7);
  const Vector gradient = 2 * values.transpose() * residual;
  for (Index j = 0; j < 15; ++j) {
    if (weights(j) == 0) {
      EXPECT_LE(std::abs(gradient(j)), 0.5 * (1 + 1e-7));
    } else {
      EXPECT_NEAR(gradient(j), weights(j) > 0 ? -0.5 : 0.5, 1e-6);
    }
  }
  EXPECT_GT((weights.array() == 0).count(), 0);
}

TEST(GroupPropertyTest, OneRowIsEnough) {
  RunContext context;
  for (const LossKind loss : {LossKind::kSquare, LossKind::kSquaredHinge}) {
    const auto columns = MakeColumns(Matrix{{0.6, 0.8}});
    OwnedGroupProblem owned = RandomGroupProblem({.loss = loss, .groups = 1}, 15);
    owned.problem.tasks = {{columns.get(), Vector::Ones(1), Vector::Ones(1)}};
    const auto solver = SolveGroupProblem(owned.problem, 1e-12);
    EXPECT_EQ(solver->certificate().primal, 0);
    EXPECT_TRUE(solver->point().specific.isZero(0));
  }
}

// The certificate of many rows of many tasks, which took 0.4 s in one piece.
TEST(GroupPropertyTest, TheCertificateOfManyRowsEndsWithCancellation) {
  constexpr Index kRows = 400'000;
  constexpr Index kTasks = 20;
  GroupProblem problem;
  problem.loss = *MakeLoss(LossKind::kLogistic);
  problem.tasks.assign(kTasks, {nullptr, Vector::Ones(kRows), Vector::Ones(kRows)});
  problem.bias = false;
  GroupEvaluation evaluation;
  evaluation.slopes.assign(kTasks, Vector::Constant(kRows, -0.3));
  evaluation.positive = evaluation.negative = Matrix::Zero(0, kTasks);
  const auto certify = [&](RunContext& context) {
    return CertifyGroupProblem(problem, evaluation, 0, context).status();
  };
  const double whole = WholeWork(certify);
  for (const double part : {0.0, 0.3}) {
    EXPECT_LE(WorkAfterCancel(part * whole, certify), 0.2 * whole + 0.01) << part;
  }
}

}  // namespace
}  // namespace mercer
