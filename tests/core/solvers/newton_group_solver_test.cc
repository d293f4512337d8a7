#include "core/solvers/group/newton_group_solver.h"

#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/core/solvers/group_test_problems.h"

namespace mercer {
namespace {

std::unique_ptr<GroupSolver> MakeNewton(double relative_gap) {
  std::unique_ptr<GroupSolver> solver = MakeGroupSolver(GroupMethod::kNewton);
  solver->SetAccuracy({.relative_gap = relative_gap, .relative_decrease = 0});
  return solver;
}

GroupPoint ZeroPoint(const GroupProblem& problem) {
  return GroupPoint::Zero(problem.num_columns(), problem.num_tasks());
}

constexpr LossKind kNewtonLosses[] = {LossKind::kSquare, LossKind::kSquaredHinge,
                                      LossKind::kLogistic};

TEST(NewtonGroupSolverTest, SolvesEveryLossNormAndNumberOfTasks) {
  for (const LossKind loss : kNewtonLosses) {
    for (const BlockShape shape : {BlockShape::kNested, BlockShape::kFlat}) {
      for (const double q : {1.0, 1.3, 2.0, 4.0, kInfinity}) {
        for (const Index tasks : {1, 3}) {
          SCOPED_TRACE(testing::Message()
                       << static_cast<int>(loss) << (shape == BlockShape::kFlat ? " flat " : " ")
                       << q << " tasks " << tasks);
          RandomGroupProblemSpec spec{.loss = loss, .tasks = tasks, .shape = shape, .q = q};
          spec.lambda = 0.1 * LargestUsefulLambda(RandomGroupProblem(spec, 3).problem);
          SolveGroupProblem(RandomGroupProblem(spec, 3).problem, 1e-8);
        }
      }
    }
  }
}

TEST(NewtonGroupSolverTest, SolvesTasksWithRowsOfTheirOwnAndASharedPart) {
  for (const LossKind loss : kNewtonLosses) {
    for (const double share : {0.6, 1.2, kInfinity}) {
      RandomGroupProblemSpec spec{.loss = loss, .tasks = 3, .shared_rows = false};
      spec.lambda = 0.05 * LargestUsefulLambda(RandomGroupProblem(spec, 4).problem);
      spec.shared_lambda = share * spec.lambda;
      spec.varied_costs = true;
      SolveGroupProblem(RandomGroupProblem(spec, 4).problem, 1e-8);
      spec.lambda = kInfinity;
      spec.shared_lambda = 0.5;
      SolveGroupProblem(RandomGroupProblem(spec, 4).problem, 1e-8);
    }
  }
}

// 3600 weights that are not zero and hang together by their penalties: too many for one factorisation.
TEST(NewtonGroupSolverTest, SolvesManyTasksThatHangTogether) {
  const OwnedGroupProblem owned = RandomGroupProblem(
      {.loss = LossKind::kSquare, .rows = 150, .groups = 50, .tasks = 36, .lambda = 0.01}, 21);
  const auto solver = SolveGroupProblem(owned.problem, 1e-6);
  EXPECT_GT((solver->point().specific.array() != 0).count(), 2500);
}

TEST(NewtonGroupSolverTest, SolvesWithoutBias) {
  for (const LossKind loss : kNewtonLosses) {
    SolveGroupProblem(RandomGroupProblem({.loss = loss, .lambda = 0.2, .bias = false}, 5).problem,
                      1e-9);
  }
}

TEST(NewtonGroupSolverTest, FewPassesReachTheGapOnCorrelatedColumns) {
  for (const double lambda : {1.0, 0.1}) {
    const OwnedGroupProblem owned =
        RandomGroupProblem({.rows = 600, .groups = 25, .group_size = 2, .lambda = lambda}, 6);
    const auto solver = SolveGroupProblem(owned.problem, 1e-9);
    EXPECT_LE(solver->iterations(), 12) << lambda;
  }
}

TEST(NewtonGroupSolverTest, ObjectiveNeverIncreases) {
  const OwnedGroupProblem owned =
      RandomGroupProblem({.rows = 200, .groups = 20, .lambda = 0.05}, 7);
  RunContext context;
  const auto solver = MakeNewton(1e-10);
  RandomStream random(1, "newton-master-test");
  ASSERT_EQ(solver->Start(owned.problem, RandomPoint(owned.problem, random, 3), context),
            absl::OkStatus());
  double before = solver->evaluation().objective();
  while (solver->stop() == GroupStop::kRunning) {
    ASSERT_EQ(solver->Step(context), absl::OkStatus());
    EXPECT_LE(solver->evaluation().objective(), before * (1 + 1e-13));
    before = solver->evaluation().objective();
  }
  EXPECT_EQ(solver->stop(), GroupStop::kGap);
}

TEST(NewtonGroupSolverTest, ExtremePenaltiesEndWithACertificate) {
  for (const LossKind loss : kNewtonLosses) {
    const OwnedGroupProblem huge = RandomGroupProblem({.loss = loss, .lambda = 1e12}, 13);
    const auto zero = SolveGroupProblem(huge.problem, 1e-12);
    EXPECT_TRUE(zero->point().specific.isZero(0));
    EXPECT_EQ(zero->iterations(), 0);
    // Nearly separable: the gap may stay, the bounds must hold and the run must end.
    const OwnedGroupProblem tiny = RandomGroupProblem({.loss = loss, .lambda = 1e-9}, 13);
    RunContext context;
    const auto solver = MakeNewton(1e-6);
    ASSERT_EQ(solver->Start(tiny.problem, ZeroPoint(tiny.problem), context), absl::OkStatus());
    for (int step = 0; step < 200 && solver->stop() == GroupStop::kRunning; ++step) {
      ASSERT_EQ(solver->Step(context), absl::OkStatus());
    }
    EXPECT_NE(solver->stop(), GroupStop::kRunning) << static_cast<int>(loss);
    EXPECT_TRUE(std::isfinite(solver->certificate().primal));
    EXPECT_GE(solver->certificate().Gap(),
              -1e-12 * std::max(1.0, std::abs(solver->certificate().primal)));
  }
}

TEST(NewtonGroupSolverTest, NearlyConstantColumnsInSinglePrecisionNeedCentring) {
  RandomStream random(14, "newton-master-test");
  constexpr Index kRows = 2000;
  Matrix raw(kRows, 12);
  Vector targets(kRows);
  for (Index i = 0; i < kRows; ++i) {
    for (Index j = 0; j < 12; ++j) {
      raw(i, j) = 1 + 1e-4 * random.Normal();
    }
    targets(i) = raw(i, 0) + raw(i, 5) + 1e-4 * random.Normal() > 2 ? 1.0 : -1.0;
  }
  RunContext context;
  FeatureColumns columns(kRows, ColumnPrecision::kSingle);
  ASSERT_EQ(columns.Append(raw, raw.colwise().mean().transpose(), Vector::Ones(12), context),
            absl::OkStatus());
  OwnedGroupProblem owned = RandomGroupProblem({.groups = 6, .group_size = 2, .lambda = 1e-3}, 15);
  owned.problem.tasks = {{&columns, targets, Vector::Ones(kRows)}};
  SolveGroupProblem(owned.problem, 1e-6);
}

// Pairs of waves on few points: more columns than rows, some of them nearly the same.
OwnedGroupProblem WavesGroupProblem(LossKind loss, Index groups, uint64_t seed) {
  constexpr Index kRows = 50;
  RandomStream random(seed, "newton-master-test");
  Matrix points(kRows, 2);
  Vector targets(kRows);
  for (Index i = 0; i < kRows; ++i) {
    points.row(i) << random.Normal(), random.Normal();
    targets(i) = i % 2 == 0 ? 1 : -1;
  }
  OwnedGroupProblem owned = RandomGroupProblem({.loss = loss, .groups = groups}, seed);
  Matrix values(kRows, 2 * groups);
  for (Index g = 0; g < groups; ++g) {
    const Vector arguments = points * Vector{{random.Normal(), random.Normal()}};
    values.col(2 * g) = arguments.array().cos();
    values.col(2 * g + 1) = arguments.array().sin();
  }
  values.colwise().normalize();
  owned.columns.clear();
  owned.columns.push_back(MakeColumns(values));
  owned.problem.tasks = {{owned.columns.back().get(), targets, Vector::Ones(kRows)}};
  return owned;
}

// The rows of one class are nearly constraints to those of the other: a block that goes to 0, or a row whose loss begins, must not end a
// step that the others make.
TEST(NewtonGroupSolverTest, ClassesOfVeryDifferentCosts) {
  for (const LossKind loss : kNewtonLosses) {
    for (const Index groups : {40, 70}) {
      SCOPED_TRACE(testing::Message() << static_cast<int>(loss) << " " << groups);
      OwnedGroupProblem owned = WavesGroupProblem(loss, groups, 31);
      GroupTask& task = owned.problem.tasks[0];
      task.costs = (task.targets.array() < 0).select(1e3, Vector::Constant(50, 1e-4));
      owned.problem.specific.lambda = 0.03 * LargestUsefulLambda(owned.problem);
      RunContext context;
      const auto solver = MakeNewton(1e-5);
      ASSERT_EQ(solver->Start(owned.problem, ZeroPoint(owned.problem), context), absl::OkStatus());
      for (int step = 0; step < 60 && solver->stop() == GroupStop::kRunning; ++step) {
        ASSERT_EQ(solver->Step(context), absl::OkStatus());
      }
      EXPECT_EQ(solver->stop(), GroupStop::kGap) << solver->certificate().RelativeGap();
    }
  }
}

// Costs of single rows over 14 orders of magnitude.
TEST(NewtonGroupSolverTest, RowsOfVeryDifferentCosts) {
  for (const LossKind loss : kNewtonLosses) {
    for (const double q : {1.0, 2.0}) {
      RandomGroupProblemSpec spec{.loss = loss, .rows = 120, .groups = 20, .q = q};
      OwnedGroupProblem owned = RandomGroupProblem(spec, 5);
      RandomStream random(9, "newton-master-test");
      for (double& cost : owned.problem.tasks[0].costs) {
        cost = std::pow(10.0, 14 * (random.Uniform() - 0.5));
      }
      owned.problem.specific.lambda = 0.01 * LargestUsefulLambda(owned.problem);
      SolveGroupProblem(owned.problem, 1e-6);
    }
  }
}

// Each column has a row of its own, of value a, target 1 and cost c, and a penalty in proportion to c a: its weight is known.
TEST(NewtonGroupSolverTest, CostsOver14OrdersWithoutInteractionHaveAClosedForm) {
  constexpr Index kRows = 15;
  constexpr double kValue = 0.5;
  constexpr double kLambda = 0.3;
  const auto columns = MakeColumns(kValue * Matrix::Identity(kRows, kRows));
  for (const LossKind loss : kNewtonLosses) {
    OwnedGroupProblem owned =
        RandomGroupProblem({.loss = loss, .groups = kRows, .group_size = 1, .lambda = kLambda}, 1);
    Vector costs(kRows);
    for (Index i = 0; i < kRows; ++i) {
      costs(i) = std::pow(10.0, static_cast<double>(i - 7));
    }
    owned.problem.tasks = {{columns.get(), Vector::Ones(kRows), costs}};
    owned.problem.group_weights = kValue * costs;
    owned.problem.bias = false;
    const auto solver = SolveGroupProblem(owned.problem, 1e-12);
    // The slope -2 (1 - a w), or -1 / (1 + exp(a w)), is -lambda.
    const double expected = loss == LossKind::kLogistic ? std::log(1 / kLambda - 1) / kValue
                                                        : (1 - kLambda / 2) / kValue;
    // What the objective is above its optimum by bounds the distance of every weight, by half the least curvature on the way.
    const double curvature = loss == LossKind::kLogistic ? 0.1 : 2.0;
    for (Index i = 0; i < kRows; ++i) {
      const double bound = std::sqrt(2 * 1e-12 * solver->certificate().primal /
                                     (curvature * costs(i) * kValue * kValue));
      EXPECT_NEAR(solver->point().specific(i, 0), expected, std::min(bound + 1e-12, 1.0))
          << static_cast<int>(loss) << " cost " << costs(i);
    }
  }
}

// Blocks on their way to 0 must get there: Newton's method, which does not see the kink, would creep towards it.
TEST(NewtonGroupSolverTest, SimilarFeaturesThatEnterOneByOneTakeFewIterations) {
  constexpr Index kRows = 30;
  constexpr Index kGroups = 55;
  RandomStream random(3, "newton-master-test");
  Matrix points(kRows, 2);
  Vector targets(kRows);
  for (Index i = 0; i < kRows; ++i) {
    points.row(i) << random.Normal(), random.Normal();
    targets(i) = points.row(i).norm() + 0.3 * random.Normal() > 1.2 ? 1 : -1;
  }
  RunContext context;
  FeatureColumns columns(kRows, ColumnPrecision::kDouble);
  OwnedGroupProblem owned =
      RandomGroupProblem({.loss = LossKind::kSquare, .groups = 1, .lambda = 0.004}, 17);
  owned.problem.tasks = {{&columns, targets, Vector::Ones(kRows)}};
  owned.problem.group_begin = {0};
  owned.problem.group_weights = Vector();
  const std::unique_ptr<GroupSolver> solver = MakeGroupSolver(GroupMethod::kNewton);
  solver->SetAccuracy({1e-6, 1e-4});
  ASSERT_EQ(solver->Start(owned.problem, GroupPoint::Zero(0, 1), context), absl::OkStatus());
  for (Index g = 0; g < kGroups; ++g) {
    const Vector arguments = points * Vector{{random.Normal(), random.Normal()}} / 1.5;
    Matrix pair(kRows, 2);
    pair << arguments.array().cos().matrix(), arguments.array().sin().matrix();
    ASSERT_EQ(columns.Append(pair, pair.colwise().mean().transpose(),
                             pair.colwise().norm().transpose(), context),
              absl::OkStatus());
    owned.problem.group_begin.push_back(columns.cols());
    ASSERT_EQ(solver->Extend(owned.problem.group_begin, Vector::Ones(g + 1), context),
              absl::OkStatus());
    ASSERT_EQ(solver->Run(context), absl::OkStatus());
  }
  solver->SetAccuracy({1e-6, 0});
  ASSERT_EQ(solver->Run(context), absl::OkStatus());
  EXPECT_EQ(solver->stop(), GroupStop::kGap);
  EXPECT_LT(solver->iterations(), 2 * kGroups);
}

}  // namespace
}  // namespace mercer
