#include "core/solvers/newton_master.h"

#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/core/solvers/master_test_problems.h"

namespace mercer {
namespace {

std::unique_ptr<MasterSolver> MakeNewton(double relative_gap) {
  std::unique_ptr<MasterSolver> solver = MakeMasterSolver(MasterMethod::kNewton);
  solver->SetAccuracy({.relative_gap = relative_gap, .relative_decrease = 0});
  return solver;
}

MasterPoint ZeroPoint(const MasterProblem& problem) {
  return MasterPoint::Zero(problem.num_columns(), problem.num_tasks());
}

constexpr LossKind kLosses[] = {LossKind::kSquare, LossKind::kSquaredHinge, LossKind::kLogistic};

TEST(NewtonMasterTest, SolvesEveryLossNormAndNumberOfTasks) {
  for (const LossKind loss : kLosses) {
    for (const BlockShape shape : {BlockShape::kNested, BlockShape::kFlat}) {
      for (const double q : {1.0, 1.3, 2.0, 4.0, kInfinity}) {
        for (const Index tasks : {1, 3}) {
          SCOPED_TRACE(testing::Message()
                       << static_cast<int>(loss) << (shape == BlockShape::kFlat ? " flat " : " ")
                       << q << " tasks " << tasks);
          RandomMasterSpec spec{.loss = loss, .tasks = tasks, .shape = shape, .q = q};
          spec.lambda = 0.1 * LargestUsefulLambda(RandomMaster(spec, 3).problem);
          SolveMaster(RandomMaster(spec, 3).problem, 1e-8);
        }
      }
    }
  }
}

TEST(NewtonMasterTest, SolvesTasksWithRowsOfTheirOwnAndASharedPart) {
  for (const LossKind loss : kLosses) {
    for (const double share : {0.6, 1.2, kInfinity}) {
      RandomMasterSpec spec{.loss = loss, .tasks = 3, .shared_rows = false};
      spec.lambda = 0.05 * LargestUsefulLambda(RandomMaster(spec, 4).problem);
      spec.shared_lambda = share * spec.lambda;
      spec.varied_costs = true;
      SolveMaster(RandomMaster(spec, 4).problem, 1e-8);
      spec.lambda = kInfinity;
      spec.shared_lambda = 0.5;
      SolveMaster(RandomMaster(spec, 4).problem, 1e-8);
    }
  }
}

TEST(NewtonMasterTest, SolvesWithoutBias) {
  for (const LossKind loss : kLosses) {
    SolveMaster(RandomMaster({.loss = loss, .lambda = 0.2, .bias = false}, 5).problem, 1e-9);
  }
}

TEST(NewtonMasterTest, FewPassesReachTheGapOnCorrelatedColumns) {
  for (const double lambda : {1.0, 0.1}) {
    const OwnedMaster master =
        RandomMaster({.rows = 600, .groups = 25, .group_size = 2, .lambda = lambda}, 6);
    const auto solver = SolveMaster(master.problem, 1e-9);
    EXPECT_LE(solver->iterations(), 12) << lambda;
  }
}

TEST(NewtonMasterTest, ObjectiveNeverIncreases) {
  const OwnedMaster master = RandomMaster({.rows = 200, .groups = 20, .lambda = 0.05}, 7);
  RunContext context;
  const auto solver = MakeNewton(1e-10);
  RandomStream random(1, "newton-master-test");
  ASSERT_EQ(solver->Start(master.problem, RandomPoint(master.problem, random, 3), context),
            absl::OkStatus());
  double before = solver->evaluation().objective();
  while (solver->stop() == MasterStop::kRunning) {
    ASSERT_EQ(solver->Step(context), absl::OkStatus());
    EXPECT_LE(solver->evaluation().objective(), before * (1 + 1e-13));
    before = solver->evaluation().objective();
  }
  EXPECT_EQ(solver->stop(), MasterStop::kGap);
}

// Groups are appended one by one; the last master is that of all columns.
TEST(NewtonMasterTest, GrowsByGroups) {
  for (const LossKind loss : kLosses) {
    const OwnedMaster whole =
        RandomMaster({.loss = loss, .rows = 150, .groups = 8, .lambda = 0.3}, 8);
    const MasterProblem& all = whole.problem;
    const double optimum = SolveMaster(all, 1e-11)->certificate().primal;
    RunContext context;
    const Matrix values = all.task(0).columns->Columns(0, all.num_columns());
    FeatureColumns columns(150, ColumnPrecision::kDouble);
    MasterProblem part = all;
    part.tasks[0].columns = &columns;
    part.group_begin = {0};
    part.group_weights.resize(0);
    const auto solver = MakeNewton(1e-9);
    ASSERT_EQ(solver->Start(part, MasterPoint::Zero(0, 1), context), absl::OkStatus());
    double before = kInfinity;
    for (Index g = 0; g < all.num_groups(); ++g) {
      ASSERT_EQ(columns.Append(values.middleCols(all.first_column(g), all.group_size(g)),
                               Vector::Zero(2), Vector::Ones(2), context),
                absl::OkStatus());
      ASSERT_EQ(solver->Extend({all.group_begin.begin(), all.group_begin.begin() + g + 2},
                               all.group_weights.head(g + 1), context),
                absl::OkStatus());
      ASSERT_EQ(solver->Run(context), absl::OkStatus());
      EXPECT_LE(solver->certificate().RelativeGap(), 1e-9);
      EXPECT_LE(solver->certificate().primal, before * (1 + 1e-12));
      before = solver->certificate().primal;
    }
    EXPECT_NEAR(before, optimum, 1e-8 * optimum);
  }
}

TEST(NewtonMasterTest, RestoredRunHasTheSameBits) {
  for (const LossKind loss : kLosses) {
    const OwnedMaster master =
        RandomMaster({.loss = loss, .rows = 300, .groups = 20, .tasks = 2, .lambda = 0.02}, 9);
    RunContext context;
    const auto straight = MakeNewton(1e-11);
    ASSERT_EQ(straight->Start(master.problem, ZeroPoint(master.problem), context),
              absl::OkStatus());
    auto interrupted = MakeNewton(1e-11);
    ASSERT_EQ(interrupted->Start(master.problem, ZeroPoint(master.problem), context),
              absl::OkStatus());
    ASSERT_EQ(straight->Run(context), absl::OkStatus());
    EXPECT_GE(straight->iterations(), loss == LossKind::kSquare ? 1 : 2);
    while (interrupted->stop() == MasterStop::kRunning) {
      ASSERT_EQ(interrupted->Step(context), absl::OkStatus());
      auto restored = MakeNewton(1e-11);
      ASSERT_EQ(restored->RestoreState(master.problem, interrupted->SaveState(), context),
                absl::OkStatus());
      EXPECT_EQ(restored->SaveState(), interrupted->SaveState());
      interrupted = std::move(restored);
    }
    EXPECT_EQ(interrupted->SaveState(), straight->SaveState());
    EXPECT_EQ(interrupted->point().specific, straight->point().specific);
    EXPECT_EQ(interrupted->certificate().dual, straight->certificate().dual);
    EXPECT_EQ(interrupted->evaluation().slopes, straight->evaluation().slopes);
  }
}

TEST(NewtonMasterTest, DamagedStatesAreRefused) {
  const OwnedMaster master = RandomMaster({}, 10);
  RunContext context;
  const auto solver = MakeNewton(1e-3);
  ASSERT_EQ(solver->Start(master.problem, ZeroPoint(master.problem), context), absl::OkStatus());
  ASSERT_EQ(solver->Step(context), absl::OkStatus());
  const std::string state = solver->SaveState();
  for (size_t length = 0; length < state.size(); length += 7) {
    EXPECT_EQ(MakeNewton(1e-3)
                  ->RestoreState(master.problem, std::string_view(state).substr(0, length), context)
                  .code(),
              absl::StatusCode::kInvalidArgument)
        << length;
  }
  EXPECT_EQ(MakeNewton(1e-3)
                ->RestoreState(RandomMaster({.groups = 5}, 10).problem, state, context)
                .code(),
            absl::StatusCode::kInvalidArgument);
}

TEST(NewtonMasterTest, ThreadsDoNotChangeBits) {
  const OwnedMaster master = RandomMaster(
      {.rows = 5000, .groups = 40, .lambda = 1.0, .precision = ColumnPrecision::kSingle}, 11);
  RunContext one;
  RunContext three(CancellationToken(), 3, nullptr);
  const auto first = MakeNewton(1e-7);
  const auto second = MakeNewton(1e-7);
  ASSERT_EQ(first->Start(master.problem, ZeroPoint(master.problem), one), absl::OkStatus());
  ASSERT_EQ(second->Start(master.problem, ZeroPoint(master.problem), three), absl::OkStatus());
  ASSERT_EQ(first->Run(one), absl::OkStatus());
  ASSERT_EQ(second->Run(three), absl::OkStatus());
  EXPECT_EQ(first->SaveState(), second->SaveState());
}

TEST(NewtonMasterTest, CancelledRunGoesOnWithTheSameBits) {
  const OwnedMaster master = RandomMaster({.rows = 300, .groups = 10, .lambda = 0.1}, 12);
  RunContext context;
  CancellationToken token;
  token.Cancel();
  RunContext cancelled(token, 1, nullptr);
  const auto straight = MakeNewton(1e-10);
  const auto stopped = MakeNewton(1e-10);
  ASSERT_EQ(straight->Start(master.problem, ZeroPoint(master.problem), context), absl::OkStatus());
  ASSERT_EQ(stopped->Start(master.problem, ZeroPoint(master.problem), context), absl::OkStatus());
  while (stopped->stop() == MasterStop::kRunning) {
    EXPECT_TRUE(absl::IsCancelled(stopped->Step(cancelled)));
    ASSERT_EQ(stopped->Step(context), absl::OkStatus());
  }
  ASSERT_EQ(straight->Run(context), absl::OkStatus());
  EXPECT_EQ(straight->SaveState(), stopped->SaveState());
}

TEST(NewtonMasterTest, ExtremePenaltiesEndWithACertificate) {
  for (const LossKind loss : kLosses) {
    const OwnedMaster huge = RandomMaster({.loss = loss, .lambda = 1e12}, 13);
    const auto zero = SolveMaster(huge.problem, 1e-12);
    EXPECT_TRUE(zero->point().specific.isZero(0));
    EXPECT_EQ(zero->iterations(), 0);
    // Nearly separable: the gap may stay, the bounds must hold and the run must end.
    const OwnedMaster tiny = RandomMaster({.loss = loss, .lambda = 1e-9}, 13);
    RunContext context;
    const auto solver = MakeNewton(1e-6);
    ASSERT_EQ(solver->Start(tiny.problem, ZeroPoint(tiny.problem), context), absl::OkStatus());
    for (int step = 0; step < 200 && solver->stop() == MasterStop::kRunning; ++step) {
      ASSERT_EQ(solver->Step(context), absl::OkStatus());
    }
    EXPECT_NE(solver->stop(), MasterStop::kRunning) << static_cast<int>(loss);
    EXPECT_TRUE(std::isfinite(solver->certificate().primal));
    EXPECT_GE(solver->certificate().Gap(),
              -1e-12 * std::max(1.0, std::abs(solver->certificate().primal)));
  }
}

TEST(NewtonMasterTest, NearlyConstantColumnsInSinglePrecisionNeedCentring) {
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
  OwnedMaster master = RandomMaster({.groups = 6, .group_size = 2, .lambda = 1e-3}, 15);
  master.problem.tasks = {{&columns, targets, Vector::Ones(kRows)}};
  SolveMaster(master.problem, 1e-6);
}

TEST(NewtonMasterTest, RefusesWhatItCannotSolve) {
  RunContext context;
  OwnedMaster master = RandomMaster({}, 16);
  const auto start = [&](const MasterProblem& problem) {
    return MakeNewton(1e-6)->Start(problem, ZeroPoint(problem), context).code();
  };
  EXPECT_EQ(start(master.problem), absl::StatusCode::kOk);
  MasterProblem bad = master.problem;
  bad.loss = *MakeLoss(LossKind::kHinge);
  EXPECT_EQ(start(bad), absl::StatusCode::kInvalidArgument);
  bad = master.problem;
  bad.specific.lambda = kInfinity;
  EXPECT_EQ(start(bad), absl::StatusCode::kInvalidArgument);
  bad.specific.lambda = 0;
  EXPECT_EQ(start(bad), absl::StatusCode::kInvalidArgument);
  bad = master.problem;
  bad.tasks[0].targets(3) = 0.5;
  EXPECT_EQ(start(bad), absl::StatusCode::kInvalidArgument);
  bad = master.problem;
  bad.tasks[0].costs(3) = -1;
  EXPECT_EQ(start(bad), absl::StatusCode::kInvalidArgument);
  bad = master.problem;
  bad.group_weights(0) = 0;
  EXPECT_EQ(start(bad), absl::StatusCode::kInvalidArgument);
  bad = master.problem;
  bad.group_begin[1] = 0;
  EXPECT_EQ(start(bad), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace mercer
