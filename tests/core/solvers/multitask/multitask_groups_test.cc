// Blocks in groups: the mixed norm over tasks, by the joint interior point.
#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include <gtest/gtest.h>

#include "core/objectives/mixed_norm.h"
#include "core/objectives/task_norm.h"
#include "core/solvers/multitask/working_set_solver.h"
#include "tests/core/solvers/multitask/multitask_test_problems.h"

namespace mercer {
namespace {

// Blocks of `groups` groups in turn.
TaskNorm NormOfGroups(Index blocks, Index groups, double floor = 1e-7) {
  SimplexGroups made{std::vector<Index>(static_cast<size_t>(blocks)), groups};
  for (Index k = 0; k < blocks; ++k) {
    made.group_of[static_cast<size_t>(k)] = k % groups;
  }
  return TaskNorm::OfGroups(std::make_shared<const MixedNorm>(std::move(made), floor));
}

// The gap, which is checked, is that of the problem: certificates know no solver. In each group
// blocks with a weight are at its level, and all groups have the same sum of norms.
TEST(MultitaskGroupsTest, GroupsOfBlocksAreSolvedToTheirGap) {
  for (const Index tasks : {1, 3}) {
    const ToyData data = MakeToyData(40, {.tasks = tasks, .columns = 300});
    for (const Index groups : {1, 2, 7, 40}) {
      SCOPED_TRACE(groups);
      const MultitaskProblem problem =
          ColumnProblem(data.inputs, OwnBlocks(300), data.targets, 0.1, NormOfGroups(300, groups));
      const MultitaskBest best = SolveJointly(problem, 1e-7);
      const MixedNorm& norm = *problem.norm.groups();
      const Vector sums = norm.SumsOf(NormsOf(problem, best));
      const Vector levels = norm.LargestOf(PointOf(problem, best).energies.colwise().sum());
      EXPECT_NEAR(sums.maxCoeff(), levels.cwiseSqrt().sum(), 1e-4 * sums.maxCoeff());
      EXPECT_GT(sums.minCoeff(), (1 - 1e-3) * sums.maxCoeff());
    }
  }
}

TEST(MultitaskGroupsTest, OneGroupIsTheJointNorm) {
  const ToyData data = MakeToyData(41, {});
  const MultitaskProblem plain =
      ColumnProblem(data.inputs, OwnBlocks(20), data.targets, 0.3, TaskNorm());
  const MultitaskProblem grouped =
      ColumnProblem(data.inputs, OwnBlocks(20), data.targets, 0.3, NormOfGroups(20, 1));
  EXPECT_EQ(SolveJointly(plain).dual, SolveJointly(grouped).dual);
}

// Groups of few columns whose energies the dual can make 0, and copies across groups.
TEST(MultitaskGroupsTest, GroupsOfLowRankAndCopies) {
  ToyData data = MakeToyData(42, {.columns = 12});
  for (Matrix& input : data.inputs) {
    input.col(1) = input.col(0);
    input.col(2).setConstant(0.5);
    input.col(5) = input.col(2);
    input.col(4) = input.col(0);
  }
  for (const double cost : {1e-3, 0.1, 10.0, 1000.0}) {
    SCOPED_TRACE(cost);
    for (const double gap : {1e-3, cost > 100 ? 1e-4 : 1e-6}) {
      SolveJointly(ColumnProblem(data.inputs, OwnBlocks(12), data.targets, cost,
                                 NormOfGroups(12, 3, GroupFloor(gap, 3))),
                   gap);
    }
  }
}

TEST(MultitaskGroupsTest, GroupsOfDifferentScalesAreSolvedToTheirGap) {
  ToyData data = MakeToyData(43, {.columns = 300});
  for (Matrix& input : data.inputs) {
    for (Index c = 0; c < input.cols(); c += 2) {
      input.col(c) *= 1e-2;
    }
  }
  SolveJointly(ColumnProblem(data.inputs, OwnBlocks(300), data.targets, 10, NormOfGroups(300, 2)),
               1e-5);
}

// All copies come close to the level at once; few of them are needed.
TEST(MultitaskGroupsTest, CopiesDoNotAllWork) {
  const ToyData data = MakeToyData(44, {.tasks = 1});
  const Matrix inputs = data.inputs[0].replicate(1, 200);
  const MultitaskProblem problem =
      ColumnProblem({inputs}, OwnBlocks(inputs.cols()), data.targets, 1, TaskNorm());
  RunContext context;
  WorkingSetSolver solver(problem, 1e-6);
  ASSERT_TRUE(solver.Start(context).ok());
  Index most = 0;
  while (!solver.done()) {
    ASSERT_TRUE(solver.Step(context).ok());
    most = std::max(most, solver.working_blocks());
  }
  EXPECT_LE(solver.best().RelativeGap(), 1e-6);
  EXPECT_LT(most, 1000) << "of " << inputs.cols();
}

// Energies that are out of range leave the functions that are constant.
TEST(MultitaskGroupsTest, EnergiesOutOfRangeGiveBounds) {
  ToyData data = MakeToyData(45, {.columns = 5});
  for (Matrix& input : data.inputs) {
    input *= 1e160;
  }
  const MultitaskProblem problem =
      ColumnProblem(data.inputs, OwnBlocks(5), data.targets, 1, NormOfGroups(5, 2));
  RunContext context;
  WorkingSetSolver solver(problem, 1e-6);
  ASSERT_TRUE(solver.Start(context).ok());
  ASSERT_TRUE(solver.Run(context).ok());
  ASSERT_EQ(solver.best().dual.size(), 3u);
  EXPECT_TRUE(std::isfinite(solver.best().primal));
  EXPECT_LE(solver.best().lower, solver.best().primal);
}

}  // namespace
}  // namespace mercer
