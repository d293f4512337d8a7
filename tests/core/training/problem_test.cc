#include "core/training/contract/problem.h"

#include <gtest/gtest.h>

#include "core/training/contract/kernel_sum.h"
#include "tests/support/toy_data.h"

namespace mercer {
namespace {

// Three outputs on five rows of a table of six, no field at its default.
TrainingProblem Whole() {
  TrainingProblem problem =
      MakeProblem(TargetKind::kRegression, RowMatrix::Random(6, 2), Matrix(), {0.5, 2.0});
  TaskData& task = problem.tasks[0];
  task.name = "of one clinic";
  task.rows = {0, 2, 3, 4, 5};
  task.targets = Matrix{{1, 2, 3}, {4, 5, 6}, {7, 8, 9}, {10, 11, 12}, {13, 14, 15}};
  task.costs = Vector{{0.1, 0.2, 0.3, 0.4, 0.5}};
  problem.unit = {Vector{{7.0}}, 3.0};
  problem.seed = 41;
  problem.relative_gap = 1e-7;
  problem.kernel_sum = std::make_shared<KernelSumCell>();
  return problem;
}

TEST(NarrowTest, SubProblemOfAnOutputHasItsTargetsAndAllElseOfTheWhole) {
  const TrainingProblem whole = Whole();
  const TrainingProblem part = Narrow(whole, {1, 4}, 2);
  ASSERT_EQ(part.tasks.size(), 1u);
  EXPECT_EQ(part.tasks[0].rows, (std::vector<Index>{2, 5}));
  EXPECT_EQ(part.tasks[0].targets, (Matrix{{6}, {15}}));
  EXPECT_EQ(part.tasks[0].costs, (Vector{{0.2, 0.5}}));
  EXPECT_EQ(part.tasks[0].name, whole.tasks[0].name);
  EXPECT_EQ(part.tasks[0].inputs, whole.tasks[0].inputs);
  EXPECT_EQ(part.kind, TargetKind::kRegression);
  EXPECT_EQ(part.kernels, whole.kernels);
  EXPECT_EQ(part.unit.means, whole.unit.means);
  EXPECT_EQ(part.unit.deviation, 3.0);
  EXPECT_EQ(part.seed, 41u);
  EXPECT_EQ(part.relative_gap, 1e-7);
  EXPECT_EQ(part.kernel_sum, whole.kernel_sum);
}

TEST(NarrowTest, TaskOfSomeRowsKeepsAllItsOutputs) {
  const TaskData whole = Whole().tasks[0];
  const TaskData narrowed = Narrow(whole, {0, 3});
  EXPECT_EQ(narrowed.rows, (std::vector<Index>{0, 4}));
  EXPECT_EQ(narrowed.targets, (Matrix{{1, 2, 3}, {10, 11, 12}}));
  EXPECT_EQ(narrowed.costs, (Vector{{0.1, 0.4}}));
  EXPECT_EQ(narrowed.name, whole.name);
  EXPECT_EQ(narrowed.inputs, whole.inputs);
}

}  // namespace
}  // namespace mercer
