// What every solver of the restricted master must do alike: grow, go on after a restore or a cancellation with the same bits, for
// any number of threads, and refuse what it cannot solve.
#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include <gtest/gtest.h>

#include "tests/core/solvers/group_test_problems.h"
#include "tests/support/json_fixture.h"

namespace mercer {
namespace {

class GroupConformanceTest : public testing::TestWithParam<GroupMethod> {
 protected:
  static std::unique_ptr<GroupSolver> MakeSolver(double relative_gap) {
    std::unique_ptr<GroupSolver> solver = MakeGroupSolver(GetParam());
    solver->SetAccuracy({.relative_gap = relative_gap, .relative_decrease = 0});
    return solver;
  }

  // What the method reaches in reasonable time.
  static double ReachableGap() { return GetParam() == GroupMethod::kNewton ? 1e-10 : 1e-8; }

  // At most so many steps.
  static void RunSteps(GroupSolver& solver, int steps, RunContext& context) {
    for (int step = 0; step < steps; ++step) {
      ASSERT_EQ(solver.Step(context), absl::OkStatus());
    }
  }
};

constexpr int kSteps = 15;

GroupPoint OriginOf(const GroupProblem& problem) {
  return GroupPoint::Zero(problem.num_columns(), problem.num_tasks());
}

// The problem of the states in saved_states.json.
OwnedGroupProblem SavedGroupProblem() {
  return RandomGroupProblem(
      {.rows = 12, .groups = 2, .tasks = 2, .lambda = 0.1, .shared_lambda = 0.2}, 12);
}

constexpr LossKind kSmoothLosses[] = {LossKind::kSquare, LossKind::kSquaredHinge,
                                      LossKind::kLogistic};

TEST_P(GroupConformanceTest, AgreesWithNewtonsMethod) {
  for (const LossKind loss : kSmoothLosses) {
    for (const double q : {1.0, 1.5, 2.0, kInfinity}) {
      for (const double shared_lambda : {0.5, kInfinity}) {
        SCOPED_TRACE(testing::Message()
                     << static_cast<int>(loss) << " q " << q << " shared " << shared_lambda);
        const OwnedGroupProblem owned = RandomGroupProblem({.loss = loss,
                                                            .tasks = 3,
                                                            .shared_rows = false,
                                                            .q = q,
                                                            .lambda = 0.4,
                                                            .shared_lambda = shared_lambda,
                                                            .varied_costs = true},
                                                           17);
        const double optimum = SolveGroupProblem(owned.problem, 1e-10)->certificate().primal;
        const auto solver = SolveGroupProblem(owned.problem, 1e-8, GetParam());
        EXPECT_NEAR(solver->certificate().primal, optimum, 1e-8 * std::max(1.0, optimum));
      }
    }
  }
}

TEST_P(GroupConformanceTest, SolvesWithTheSharedPartAloneAndWithoutBias) {
  for (const LossKind loss : kSmoothLosses) {
    const OwnedGroupProblem owned = RandomGroupProblem({.loss = loss,
                                                        .tasks = 2,
                                                        .shared_rows = false,
                                                        .lambda = kInfinity,
                                                        .shared_lambda = 0.5,
                                                        .bias = loss != LossKind::kSquare},
                                                       18);
    const double optimum = SolveGroupProblem(owned.problem, 1e-10)->certificate().primal;
    const auto solver = SolveGroupProblem(owned.problem, 1e-8, GetParam());
    EXPECT_NEAR(solver->certificate().primal, optimum, 1e-8 * std::max(1.0, optimum));
    EXPECT_TRUE(solver->point().specific.isZero(0));
  }
}

// Groups are appended one by one; the last master is that of all columns.
TEST_P(GroupConformanceTest, GrowsByGroups) {
  for (const LossKind loss : kSmoothLosses) {
    const OwnedGroupProblem whole = RandomGroupProblem({.loss = loss,
                                                        .rows = 150,
                                                        .groups = 12,
                                                        .lambda = 0.3,
                                                        .precision = ColumnPrecision::kSingle},
                                                       8);
    const GroupProblem& all = whole.problem;
    const double optimum = SolveGroupProblem(all, 1e-11)->certificate().primal;
    RunContext context;
    const Matrix values = all.task(0).columns->Columns(0, all.num_columns());
    FeatureColumns columns(150, ColumnPrecision::kSingle);
    GroupProblem part = all;
    part.tasks[0].columns = &columns;
    part.group_begin = {0};
    part.group_weights.resize(0);
    const auto solver = MakeSolver(ReachableGap());
    ASSERT_EQ(solver->Start(part, GroupPoint::Zero(0, 1), context), absl::OkStatus());
    double before = kInfinity;
    for (Index g = 0; g < all.num_groups(); ++g) {
      ASSERT_EQ(columns.Append(values.middleCols(all.first_column(g), all.group_size(g)),
                               Vector::Zero(2), Vector::Ones(2), context),
                absl::OkStatus());
      ASSERT_EQ(solver->Extend({all.group_begin.begin(), all.group_begin.begin() + g + 2},
                               all.group_weights.head(g + 1), context),
                absl::OkStatus());
      // What was carried over has the bits of what is computed anew.
      const auto restored = MakeSolver(ReachableGap());
      GroupProblem same = solver->problem();
      ASSERT_EQ(restored->RestoreState(same, solver->SaveState(), context), absl::OkStatus());
      EXPECT_EQ(restored->evaluation().positive, solver->evaluation().positive);
      EXPECT_EQ(restored->evaluation().negative, solver->evaluation().negative);
      EXPECT_EQ(restored->certificate().dual, solver->certificate().dual);
      ASSERT_EQ(solver->Run(context), absl::OkStatus());
      EXPECT_LE(solver->certificate().RelativeGap(), ReachableGap());
      EXPECT_LE(solver->certificate().primal, before * (1 + ReachableGap()));
      before = solver->certificate().primal;
    }
    EXPECT_NEAR(before, optimum, 1e-8 * std::max(1.0, optimum));
  }
}

TEST_P(GroupConformanceTest, RestoredRunHasTheSameBits) {
  for (const LossKind loss : kSmoothLosses) {
    const OwnedGroupProblem owned = RandomGroupProblem(
        {.loss = loss, .rows = 300, .groups = 20, .tasks = 2, .lambda = 0.02}, 9);
    RunContext context;
    const auto straight = MakeSolver(1e-11);
    ASSERT_EQ(straight->Start(owned.problem, OriginOf(owned.problem), context), absl::OkStatus());
    auto interrupted = MakeSolver(1e-11);
    ASSERT_EQ(interrupted->Start(owned.problem, OriginOf(owned.problem), context),
              absl::OkStatus());
    RunSteps(*straight, kSteps, context);
    EXPECT_GE(straight->iterations(), loss == LossKind::kSquare ? 1 : 2);
    for (int step = 0; step < kSteps; ++step) {
      ASSERT_EQ(interrupted->Step(context), absl::OkStatus());
      auto restored = MakeSolver(1e-11);
      ASSERT_EQ(restored->RestoreState(owned.problem, interrupted->SaveState(), context),
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

// Bytes that were written before states named their fields: they are read, written again as they
// are, and lead to the optimum. The lower bound in them is raised by 1e-12 of itself, so that
// rounding on no machine finds a better one.
TEST_P(GroupConformanceTest, StatesOfBeforeAreRead) {
  const OwnedGroupProblem owned = SavedGroupProblem();
  const nlohmann::json fixture = ReadFixtureFile("../core/solvers/saved_states.json");
  const std::string name(GroupMethodName(GetParam()));
  const std::string state = absl::HexStringToBytes(fixture[name].get<std::string>());
  const std::unique_ptr<GroupSolver> solver = MakeSolver(1e-6);
  RunContext context;
  ASSERT_EQ(solver->RestoreState(owned.problem, state, context), absl::OkStatus());
  EXPECT_TRUE(solver->SaveState() == state);
  ASSERT_EQ(solver->Run(context), absl::OkStatus());
  EXPECT_LE(solver->certificate().RelativeGap(), 1e-6);
}

TEST_P(GroupConformanceTest, DamagedStatesAreRefused) {
  const OwnedGroupProblem owned = RandomGroupProblem({}, 10);
  RunContext context;
  const auto solver = MakeSolver(1e-3);
  ASSERT_EQ(solver->Start(owned.problem, OriginOf(owned.problem), context), absl::OkStatus());
  ASSERT_EQ(solver->Step(context), absl::OkStatus());
  const std::string state = solver->SaveState();
  for (size_t length = 0; length < state.size(); length += 7) {
    EXPECT_EQ(MakeSolver(1e-3)
                  ->RestoreState(owned.problem, std::string_view(state).substr(0, length), context)
                  .code(),
              absl::StatusCode::kInvalidArgument)
        << length;
  }
  EXPECT_EQ(MakeSolver(1e-3)
                ->RestoreState(RandomGroupProblem({.groups = 5}, 10).problem, state, context)
                .code(),
            absl::StatusCode::kInvalidArgument);
}

// The bytes of a state with those of `value` at `at`.
template <typename Value>
std::string WithValueAt(std::string state, size_t at, Value value) {
  return state.replace(at, sizeof(value), reinterpret_cast<const char*>(&value), sizeof(value));
}

TEST_P(GroupConformanceTest, StatesWithNumbersOfNoRunAreRefused) {
  const OwnedGroupProblem owned = RandomGroupProblem({}, 10);
  RunContext context;
  const auto solver = MakeSolver(1e-3);
  ASSERT_EQ(solver->Start(owned.problem, OriginOf(owned.problem), context), absl::OkStatus());
  ASSERT_EQ(solver->Step(context), absl::OkStatus());
  const std::string state = solver->SaveState();
  const auto restored = [&](const std::string& bytes) {
    return MakeSolver(1e-3)->RestoreState(owned.problem, bytes, context).code();
  };
  // The name, the specific weights after their shape, the shared ones and the biases after their
  // numbers.
  const size_t word = sizeof(double);
  const auto columns = static_cast<size_t>(owned.problem.num_columns());
  const size_t weights = word + GroupMethodName(GetParam()).size() + 2 * word;
  const size_t bound = weights + columns * word + word + columns * word + word + word;
  ASSERT_EQ(WithValueAt(state, bound, solver->certificate().dual), state);
  EXPECT_EQ(restored(state), absl::StatusCode::kOk);
  EXPECT_EQ(restored(WithValueAt(state, weights, std::nan(""))),
            absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(restored(WithValueAt(state, bound, std::nan(""))), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(restored(WithValueAt(state, bound, kInfinity)), absl::StatusCode::kInvalidArgument);
  if (GetParam() != GroupMethod::kAdmm) {  // whose state ends with its systems
    const size_t stalls = state.size() - sizeof(int64_t);
    EXPECT_EQ(restored(WithValueAt(state, stalls, int64_t{-1})),
              absl::StatusCode::kInvalidArgument);
  }
}

TEST_P(GroupConformanceTest, ThreadsDoNotChangeBits) {
  const OwnedGroupProblem owned = RandomGroupProblem(
      {.rows = 5000, .groups = 40, .lambda = 1.0, .precision = ColumnPrecision::kSingle}, 11);
  RunContext one;
  RunContext three(CancellationToken(), 3, nullptr);
  const auto first = MakeSolver(1e-7);
  const auto second = MakeSolver(1e-7);
  ASSERT_EQ(first->Start(owned.problem, OriginOf(owned.problem), one), absl::OkStatus());
  ASSERT_EQ(second->Start(owned.problem, OriginOf(owned.problem), three), absl::OkStatus());
  RunSteps(*first, kSteps, one);
  RunSteps(*second, kSteps, three);
  EXPECT_EQ(first->SaveState(), second->SaveState());
}

TEST_P(GroupConformanceTest, CancelledRunGoesOnWithTheSameBits) {
  const OwnedGroupProblem owned =
      RandomGroupProblem({.rows = 300, .groups = 10, .lambda = 0.1}, 12);
  RunContext context;
  CancellationToken token;
  token.Cancel();
  RunContext cancelled(token, 1, nullptr);
  const auto straight = MakeSolver(1e-10);
  const auto stopped = MakeSolver(1e-10);
  ASSERT_EQ(straight->Start(owned.problem, OriginOf(owned.problem), context), absl::OkStatus());
  ASSERT_EQ(stopped->Start(owned.problem, OriginOf(owned.problem), context), absl::OkStatus());
  for (int step = 0; step < kSteps; ++step) {
    EXPECT_TRUE(stopped->stop() != GroupStop::kRunning ||
                absl::IsCancelled(stopped->Step(cancelled)));
    ASSERT_EQ(stopped->Step(context), absl::OkStatus());
  }
  RunSteps(*straight, kSteps, context);
  EXPECT_EQ(straight->SaveState(), stopped->SaveState());
}

TEST_P(GroupConformanceTest, RefusesWhatItCannotSolve) {
  RunContext context;
  OwnedGroupProblem owned = RandomGroupProblem({}, 16);
  const auto start = [&](const GroupProblem& problem) {
    return MakeSolver(1e-6)->Start(problem, OriginOf(problem), context).code();
  };
  EXPECT_EQ(start(owned.problem), absl::StatusCode::kOk);
  GroupProblem bad = owned.problem;
  bad.loss = *MakeLoss(LossKind::kHinge);
  EXPECT_EQ(start(bad), GetParam() == GroupMethod::kAdmm ? absl::StatusCode::kOk
                                                         : absl::StatusCode::kInvalidArgument);
  bad.loss = *MakeLoss(LossKind::kEpsilonInsensitive, 0.1);
  EXPECT_EQ(start(bad), absl::StatusCode::kInvalidArgument);
  bad = owned.problem;
  bad.specific.lambda = kInfinity;
  EXPECT_EQ(start(bad), absl::StatusCode::kInvalidArgument);
  bad.specific.lambda = 0;
  EXPECT_EQ(start(bad), absl::StatusCode::kInvalidArgument);
  bad = owned.problem;
  bad.tasks[0].targets(3) = 0.5;
  EXPECT_EQ(start(bad), absl::StatusCode::kInvalidArgument);
  bad = owned.problem;
  bad.tasks[0].costs(3) = -1;
  EXPECT_EQ(start(bad), absl::StatusCode::kInvalidArgument);
  bad = owned.problem;
  bad.group_weights(0) = 0;
  EXPECT_EQ(start(bad), absl::StatusCode::kInvalidArgument);
  bad = owned.problem;
  bad.group_begin[1] = 0;
  EXPECT_EQ(start(bad), absl::StatusCode::kInvalidArgument);
}

INSTANTIATE_TEST_SUITE_P(Methods, GroupConformanceTest,
                         testing::Values(GroupMethod::kNewton, GroupMethod::kAdmm,
                                         GroupMethod::kFista),
                         [](const auto& method) {
                           return std::string(GroupMethodName(method.param));
                         });

}  // namespace
}  // namespace mercer
