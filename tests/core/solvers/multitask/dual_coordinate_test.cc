// Dual coordinate descent against optima of an independent cone solver, and against the joint
// interior point.
#include <memory>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "core/objectives/mixed_norm.h"
#include "core/solvers/multitask/dual_coordinate_solver.h"
#include "tests/core/solvers/multitask/multitask_test_problems.h"
#include "tests/core/solvers/smo_mkl_problems.h"
#include "tests/support/json_fixture.h"

namespace mercer {
namespace {

using nlohmann::json;

// To the gap, which it must reach; the bounds enclose the optimum after every step.
void ExpectEnclosed(const MultitaskProblem& problem, double objective, double gap) {
  RunContext context;
  DualCoordinateSolver solver(problem, {.relative_gap = gap});
  ASSERT_EQ(solver.Start(context), absl::OkStatus());
  while (!solver.done()) {
    EXPECT_LE(solver.best().lower, objective * (1 + 1e-9));
    EXPECT_GE(solver.best().primal, objective * (1 - 1e-9));
    ASSERT_EQ(solver.Step(context), absl::OkStatus());
  }
  EXPECT_EQ(solver.stop(), MultitaskStop::kRelativeGap)
      << solver.best().RelativeGap() << " after " << solver.iterations() << " weights and "
      << solver.epochs() << " epochs";
  EXPECT_LE(solver.best().lower, objective * (1 + 1e-9));
  EXPECT_GE(solver.best().primal, objective * (1 - 1e-9));
  EXPECT_LE(solver.best().primal, objective * (1 + 2 * gap));
  testing::Test::RecordProperty("epochs", static_cast<int>(solver.epochs()));
}

struct FixtureGap {
  const char* name;
  double gap;
};
void PrintTo(const FixtureGap& fixture, std::ostream* out) { *out << fixture.name; }

class DualCoordinateFixtureTest : public testing::TestWithParam<FixtureGap> {};

TEST_P(DualCoordinateFixtureTest, BoundsEncloseTheOptimum) {
  const json fixture =
      ReadFixtureFile(std::string("sparse-multitask-svm/") + GetParam().name + ".json");
  const MultitaskCase given = ReadMultitaskCase(fixture);
  ExpectEnclosed(given.problem, fixture["expected"]["objective"], GetParam().gap);
}

INSTANTIATE_TEST_SUITE_P(
    Fixtures, DualCoordinateFixtureTest,
    testing::Values(FixtureGap{"squared_linear", 1e-3}, FixtureGap{"squared_kernel", 1e-3},
                    FixtureGap{"grouped", 1e-3}, FixtureGap{"degenerate_columns", 1e-3},
                    FixtureGap{"squared_small_C", 1e-3}, FixtureGap{"squared_large_C", 1e-2},
                    FixtureGap{"one_class_task", 1e-3}, FixtureGap{"plain_weighted", 1e-3},
                    FixtureGap{"plain_dead_zone", 1e-3}, FixtureGap{"lplq_below2", 1e-5},
                    FixtureGap{"lplq_above2", 1e-5}, FixtureGap{"lplq_mixed", 1e-5},
                    FixtureGap{"lplq_p2q2_separable", 1e-5}),
    [](const auto& fixture) { return std::string(fixture.param.name); });

// Its bounds and those of the interior point are bounds of one optimum.
TEST(DualCoordinateTest, AgreesWithTheInteriorPointOnRandomProblems) {
  for (uint64_t seed = 0; seed < 6; ++seed) {
    for (const double cost : {0.05, 2.0}) {
      SCOPED_TRACE(seed);
      const ToyData data = MakeToyData(40 + seed, {.rows = 30, .columns = 24});
      std::vector<Index> blocks;
      for (Index c = 0; c < 24; ++c) {
        blocks.push_back(seed % 2 == 0 ? c : c % 6);
      }
      const Vector beta = seed % 3 == 0 ? Vector::LinSpaced(seed % 2 == 0 ? 24 : 6, 0.7, 1.4)
                                        : Vector(Vector::Ones(seed % 2 == 0 ? 24 : 6));
      const MultitaskProblem problem =
          ColumnProblem(data.inputs, blocks, data.targets, cost,
                        TaskNorm::Make(TaskNormForm::kSquared, 1, 2, beta).value());
      ExpectEnclosed(problem, SolveJointly(problem).primal, 1e-2);
    }
  }
}

// A task without a row of one class, rows without cost, and rows that are the same.
TEST(DualCoordinateTest, OddRowsChangeNothing) {
  ToyData data = MakeToyData(51, {.rows = 30});
  data.targets[1].setOnes();
  data.inputs[0].row(1) = data.inputs[0].row(0);
  MultitaskProblem problem =
      ColumnProblem(data.inputs, OwnBlocks(20), data.targets, 0.5, TaskNorm());
  problem.tasks[2].costs.head(5).setZero();
  ExpectEnclosed(problem, SolveJointly(problem).primal, 1e-3);
}

TEST(DualCoordinateTest, ATaskOfOneClassAloneIsDoneAtOnce) {
  ToyData data = MakeToyData(52, {.tasks = 1});
  data.targets[0].setConstant(-1);
  const MultitaskProblem problem =
      ColumnProblem(data.inputs, OwnBlocks(20), data.targets, 0.5, TaskNorm());
  RunContext context;
  DualCoordinateSolver solver(problem, {});
  ASSERT_TRUE(solver.Start(context).ok());
  EXPECT_TRUE(solver.done());
  EXPECT_EQ(solver.best().primal, 0);
}

// Columns, and the same as kernels, of which the image is another one.
TEST(DualCoordinateTest, ThreadsChangeNoBits) {
  const ToyData data = MakeToyData(53, {.tasks = 2, .rows = 40, .columns = 30});
  MultitaskProblem columns = ColumnProblem(data.inputs, OwnBlocks(30), data.targets, 1, TaskNorm());
  MultitaskProblem kernels = columns;
  for (size_t t = 0; t < 2; ++t) {
    std::vector<Matrix> grams;
    for (Index c = 0; c < 30; ++c) {
      grams.emplace_back(data.inputs[t].col(c) * data.inputs[t].col(c).transpose());
    }
    kernels.tasks[t].blocks = std::make_shared<const GramFamily>(std::move(grams));
  }
  for (const MultitaskProblem& problem : {columns, kernels}) {
    std::vector<MultitaskBest> found;
    for (const int threads : {1, 3}) {
      RunContext context(CancellationToken(), threads, nullptr);
      DualCoordinateSolver solver(problem, {.relative_gap = 1e-2});
      ASSERT_TRUE(solver.Start(context).ok());
      ASSERT_TRUE(solver.Run(context).ok());
      EXPECT_EQ(solver.stop(), MultitaskStop::kRelativeGap);
      found.push_back(solver.best());
    }
    EXPECT_EQ(found[0].weights, found[1].weights);
    EXPECT_EQ(found[0].dual, found[1].dual);
    EXPECT_EQ(found[0].lower, found[1].lower);
  }
}

TEST(DualCoordinateTest, EndsAfterSoManyWeightsAndGoesOnForASmallerGap) {
  const ToyData data = MakeToyData(54, {});
  const MultitaskProblem problem =
      ColumnProblem(data.inputs, OwnBlocks(20), data.targets, 1, TaskNorm());
  RunContext context;
  DualCoordinateSolver few(problem, {.relative_gap = 1e-9, .max_steps = 3});
  ASSERT_TRUE(few.Start(context).ok());
  ASSERT_TRUE(few.Run(context).ok());
  EXPECT_EQ(few.stop(), MultitaskStop::kIterationLimit);
  EXPECT_EQ(few.iterations(), 3);
  DualCoordinateSolver solver(problem, {.relative_gap = 0.5});
  ASSERT_TRUE(solver.Start(context).ok());
  ASSERT_TRUE(solver.Run(context).ok());
  solver.SetRelativeGap(1e-2);
  EXPECT_FALSE(solver.done());
  ASSERT_TRUE(solver.Run(context).ok());
  EXPECT_LE(solver.best().RelativeGap(), 1e-2);
}

TEST(DualCoordinateTest, BlocksInGroupsAreRefused) {
  const ToyData data = MakeToyData(56, {.columns = 4});
  const auto groups = std::make_shared<const MixedNorm>(SimplexGroups{{0, 1, 0, 1}, 2}, 1e-7);
  const MultitaskProblem problem =
      ColumnProblem(data.inputs, OwnBlocks(4), data.targets, 1, TaskNorm::OfGroups(groups));
  RunContext context;
  EXPECT_TRUE(absl::IsInvalidArgument(DualCoordinateSolver(problem, {}).Start(context)));
}

TEST(DualCoordinateTest, CancelledRunsSaySo) {
  const ToyData data = MakeToyData(55, {});
  const MultitaskProblem problem =
      ColumnProblem(data.inputs, OwnBlocks(20), data.targets, 1, TaskNorm());
  const CancellationToken token;
  RunContext context(token, 1, nullptr);
  DualCoordinateSolver solver(problem, {.relative_gap = 1e-9});
  ASSERT_TRUE(solver.Start(context).ok());
  ASSERT_TRUE(solver.Step(context).ok());
  token.Cancel();
  EXPECT_TRUE(absl::IsCancelled(solver.Step(context)));
}

}  // namespace
}  // namespace mercer
