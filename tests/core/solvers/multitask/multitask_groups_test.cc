// Blocks in groups: the mixed norm over tasks, by the joint interior point.
#include <memory>
#include <utility>

#include <gtest/gtest.h>

#include "core/objectives/mixed_norm.h"
#include "core/objectives/task_norm.h"
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

}  // namespace
}  // namespace mercer
