// Costs that are large, or larger than those of a solution that is known.
#include <utility>

#include <gtest/gtest.h>

#include "core/solvers/multitask/working_set_solver.h"
#include "tests/core/solvers/multitask/multitask_test_problems.h"

namespace mercer {
namespace {

TaskNorm NormIn(TaskNormForm form) { return TaskNorm::Make(form, 1, 2).value(); }

// Classes that can be told apart, by margins whose dual variables are all below the costs.
TEST(MultitaskCostsTest, LargerCostsNeedNoIterationWhereNoneIsAtItsBound) {
  const ToyData data = MakeToyData(17, {.columns = 300, .separation = 1});
  for (const TaskNormForm form : {TaskNormForm::kSquared, TaskNormForm::kPlain}) {
    MultitaskProblem problem =
        ColumnProblem(data.inputs, OwnBlocks(300), data.targets, 1e3, NormIn(form));
    RunContext context;
    WorkingSetSolver before(problem, 1e-9);
    ASSERT_TRUE(before.Start(context).ok());
    ASSERT_TRUE(before.Run(context).ok());
    const double primal = before.best().primal;
    for (MultitaskTask& task : problem.tasks) {
      task.costs *= 10;
    }
    WorkingSetSolver next(problem, 1e-6);
    ASSERT_TRUE(next.StartFrom(before, context).ok());
    EXPECT_EQ(next.stop(), MultitaskStop::kRelativeGap);
    EXPECT_EQ(next.iterations(), 0);
    EXPECT_NEAR(next.best().primal, primal, 2e-6 * primal);
    // It goes on from there to a smaller gap.
    next.SetRelativeGap(1e-10);
    ASSERT_TRUE(next.Run(context).ok());
    EXPECT_LE(next.best().RelativeGap(), 1e-9);
    EXPECT_NEAR(next.best().primal, primal, 1e-8 * primal);
  }
}

TEST(MultitaskCostsTest, LargeCostsAreSolvedToTheGap) {
  for (const Index columns : {60, 300}) {  // classes that overlap, and others
    const ToyData data = MakeToyData(18, {.tasks = 4, .rows = 100, .columns = columns});
    for (const TaskNormForm form : {TaskNormForm::kSquared, TaskNormForm::kPlain}) {
      for (const double cost : {1e4, 1e6}) {
        SCOPED_TRACE(cost);
        SolveJointly(
            ColumnProblem(data.inputs, OwnBlocks(columns), data.targets, cost, NormIn(form)), 1e-6);
      }
    }
  }
}

// Most dual variables are at their costs, which are far from where the interior point begins.
TEST(MultitaskCostsTest, LargeCostsOfManyRowsThatOverlapTakeFewIterations) {
  const ToyData data = MakeToyData(19, {.tasks = 3, .rows = 400, .columns = 20, .separation = 0.1});
  for (const auto& [cost, gap] : {std::pair(1e4, 1e-5), {1e6, 1e-3}}) {
    const MultitaskProblem problem = ColumnProblem(data.inputs, OwnBlocks(20), data.targets, cost,
                                                   NormIn(TaskNormForm::kSquared));
    RunContext context;
    WorkingSetSolver solver(problem, gap);
    ASSERT_TRUE(solver.Start(context).ok());
    ASSERT_TRUE(solver.Run(context).ok());
    EXPECT_LE(solver.best().RelativeGap(), gap) << cost;
    EXPECT_LE(solver.iterations(), 80) << cost;
  }
}

}  // namespace
}  // namespace mercer
