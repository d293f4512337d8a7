#include "core/solvers/group/admm_group_solver.h"

#include <cmath>
#include <memory>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "tests/core/solvers/group_test_problems.h"

namespace mercer {
namespace {

// The hinge loss has no slope at its kink; the certificate is made of the multipliers.
TEST(AdmmGroupSolverTest, SolvesTheHingeLoss) {
  for (const Index tasks : {1, 2}) {
    for (const double q : {1.0, 2.0}) {
      SCOPED_TRACE(testing::Message() << tasks << " tasks, q " << q);
      const OwnedGroupProblem owned = RandomGroupProblem(
          {.loss = LossKind::kHinge, .tasks = tasks, .q = q, .lambda = 0.5, .varied_costs = true},
          1);
      const auto solver = SolveGroupProblem(owned.problem, 1e-8, GroupMethod::kAdmm);
      EXPECT_FALSE(solver->point().specific.isZero(0));
      const GroupCertificate& certificate = solver->certificate();
      EXPECT_GE(certificate.Gap(), -1e-12 * certificate.primal);
      // No point near by is better than the bound allows.
      RandomStream random(2, "admm-master-test");
      RunContext context;
      for (int trial = 0; trial < 20; ++trial) {
        GroupPoint other = RandomPoint(owned.problem, random, 0.1);
        other.specific += solver->point().specific;
        other.bias = solver->point().bias + 0.1 * other.bias;
        GroupEvaluation evaluation;
        ASSERT_EQ(EvaluateGroupProblem(owned.problem, other, evaluation, context),
                  absl::OkStatus());
        EXPECT_GE(evaluation.objective(), certificate.dual);
      }
    }
  }
}

TEST(AdmmGroupSolverTest, RestoredRunWithTheHingeLossHasTheSameBits) {
  const OwnedGroupProblem owned = RandomGroupProblem({.loss = LossKind::kHinge, .lambda = 0.3}, 3);
  RunContext context;
  const auto straight = MakeGroupSolver(GroupMethod::kAdmm);
  auto interrupted = MakeGroupSolver(GroupMethod::kAdmm);
  for (GroupSolver* solver : {straight.get(), interrupted.get()}) {
    solver->SetAccuracy({.relative_gap = 1e-12, .relative_decrease = 0});
    ASSERT_EQ(solver->Start(owned.problem, GroupPoint::Zero(12, 1), context), absl::OkStatus());
  }
  for (int step = 0; step < 8; ++step) {
    ASSERT_EQ(straight->Step(context), absl::OkStatus());
    ASSERT_EQ(interrupted->Step(context), absl::OkStatus());
    auto restored = MakeGroupSolver(GroupMethod::kAdmm);
    restored->SetAccuracy({.relative_gap = 1e-12, .relative_decrease = 0});
    ASSERT_EQ(restored->RestoreState(owned.problem, interrupted->SaveState(), context),
              absl::OkStatus());
    EXPECT_EQ(restored->certificate().dual, interrupted->certificate().dual);
    interrupted = std::move(restored);
  }
  EXPECT_EQ(interrupted->SaveState(), straight->SaveState());
}

// Columns whose norms are far from 1: the penalties of the method follow their scale.
TEST(AdmmGroupSolverTest, ScaleOfTheColumnsIsNoObstacle) {
  const OwnedGroupProblem owned = RandomGroupProblem({.rows = 200, .lambda = 0.5}, 4);
  const Matrix values = 100 * owned.problem.task(0).columns->Columns(0, 12);
  const auto columns = MakeColumns(values);
  GroupProblem problem = owned.problem;
  problem.tasks[0].columns = columns.get();
  problem.specific.lambda *= 100;
  const auto unit = SolveGroupProblem(owned.problem, 1e-8, GroupMethod::kAdmm);
  const auto scaled = SolveGroupProblem(problem, 1e-8, GroupMethod::kAdmm);
  EXPECT_NEAR(scaled->certificate().primal, unit->certificate().primal,
              2e-8 * unit->certificate().primal);
  EXPECT_LE(scaled->iterations(), unit->iterations() + 2);
}

// Pairs of waves on points inside and outside of a ring, lambda a thousandth of the largest useful one: weights of some hundreds.
OwnedGroupProblem RingGroupProblem(LossKind loss, Index rows, Index groups, double noise) {
  RandomStream random(3, "admm-master-test");
  Matrix points(rows, 2);
  Vector targets(rows);
  for (Index i = 0; i < rows; ++i) {
    points.row(i) << random.Normal(), random.Normal();
    targets(i) = points.row(i).norm() + noise * random.Normal() > 1.2 ? 1 : -1;
  }
  Matrix values(rows, 2 * groups);
  for (Index g = 0; g < groups; ++g) {
    const Vector arguments = points * Vector{{random.Normal(), random.Normal()}};
    values.col(2 * g) = arguments.array().cos();
    values.col(2 * g + 1) = arguments.array().sin();
  }
  values.rowwise() -= values.colwise().mean().eval();
  values.colwise().normalize();
  OwnedGroupProblem owned = RandomGroupProblem({.loss = loss, .groups = groups}, 1);
  owned.columns.clear();
  owned.columns.push_back(MakeColumns(values));
  owned.problem.tasks = {{owned.columns.back().get(), targets, Vector::Ones(rows)}};
  owned.problem.specific.lambda = 1e-3 * LargestUsefulLambda(owned.problem);
  return owned;
}

double GapAfter(const GroupProblem& problem, int steps) {
  RunContext context;
  const auto solver = MakeGroupSolver(GroupMethod::kAdmm);
  solver->SetAccuracy({.relative_gap = 1e-6, .relative_decrease = 0});
  EXPECT_EQ(solver->Start(problem, GroupPoint::Zero(problem.num_columns(), 1), context),
            absl::OkStatus());
  for (int step = 0; step < steps && solver->stop() == GroupStop::kRunning; ++step) {
    EXPECT_EQ(solver->Step(context), absl::OkStatus());
  }
  return solver->certificate().RelativeGap();
}

TEST(AdmmGroupSolverTest, SmallLambdasAreNoObstacle) {
  EXPECT_LE(GapAfter(RingGroupProblem(LossKind::kSquaredHinge, 400, 30, 0.0).problem, 200), 1e-5);
  EXPECT_LE(GapAfter(RingGroupProblem(LossKind::kLogistic, 400, 30, 0.0).problem, 300), 1e-5);
  EXPECT_LE(GapAfter(RingGroupProblem(LossKind::kHinge, 500, 60, 0.05).problem, 600), 1e-4);
}

}  // namespace
}  // namespace mercer
