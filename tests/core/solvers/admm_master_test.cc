#include "core/solvers/group/admm_master.h"

#include <cmath>
#include <memory>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "tests/core/solvers/master_test_problems.h"

namespace mercer {
namespace {

// The hinge loss has no slope at its kink; the certificate is made of the multipliers.
TEST(AdmmMasterTest, SolvesTheHingeLoss) {
  for (const Index tasks : {1, 2}) {
    for (const double q : {1.0, 2.0}) {
      SCOPED_TRACE(testing::Message() << tasks << " tasks, q " << q);
      const OwnedMaster master = RandomMaster(
          {.loss = LossKind::kHinge, .tasks = tasks, .q = q, .lambda = 0.5, .varied_costs = true},
          1);
      const auto solver = SolveMaster(master.problem, 1e-8, MasterMethod::kAdmm);
      EXPECT_FALSE(solver->point().specific.isZero(0));
      const MasterCertificate& certificate = solver->certificate();
      EXPECT_GE(certificate.Gap(), -1e-12 * certificate.primal);
      // No point near by is better than the bound allows.
      RandomStream random(2, "admm-master-test");
      RunContext context;
      for (int trial = 0; trial < 20; ++trial) {
        MasterPoint other = RandomPoint(master.problem, random, 0.1);
        other.specific += solver->point().specific;
        other.bias = solver->point().bias + 0.1 * other.bias;
        MasterEvaluation evaluation;
        ASSERT_EQ(EvaluateMaster(master.problem, other, evaluation, context), absl::OkStatus());
        EXPECT_GE(evaluation.objective(), certificate.dual);
      }
    }
  }
}

TEST(AdmmMasterTest, RestoredRunWithTheHingeLossHasTheSameBits) {
  const OwnedMaster master = RandomMaster({.loss = LossKind::kHinge, .lambda = 0.3}, 3);
  RunContext context;
  const auto straight = MakeMasterSolver(MasterMethod::kAdmm);
  auto interrupted = MakeMasterSolver(MasterMethod::kAdmm);
  for (MasterSolver* solver : {straight.get(), interrupted.get()}) {
    solver->SetAccuracy({.relative_gap = 1e-12, .relative_decrease = 0});
    ASSERT_EQ(solver->Start(master.problem, MasterPoint::Zero(12, 1), context), absl::OkStatus());
  }
  for (int step = 0; step < 8; ++step) {
    ASSERT_EQ(straight->Step(context), absl::OkStatus());
    ASSERT_EQ(interrupted->Step(context), absl::OkStatus());
    auto restored = MakeMasterSolver(MasterMethod::kAdmm);
    restored->SetAccuracy({.relative_gap = 1e-12, .relative_decrease = 0});
    ASSERT_EQ(restored->RestoreState(master.problem, interrupted->SaveState(), context),
              absl::OkStatus());
    EXPECT_EQ(restored->certificate().dual, interrupted->certificate().dual);
    interrupted = std::move(restored);
  }
  EXPECT_EQ(interrupted->SaveState(), straight->SaveState());
}

// Columns whose norms are far from 1: the penalties of the method follow their scale.
TEST(AdmmMasterTest, ScaleOfTheColumnsIsNoObstacle) {
  const OwnedMaster master = RandomMaster({.rows = 200, .lambda = 0.5}, 4);
  const Matrix values = 100 * master.problem.task(0).columns->Columns(0, 12);
  const auto columns = MakeColumns(values);
  MasterProblem problem = master.problem;
  problem.tasks[0].columns = columns.get();
  problem.specific.lambda *= 100;
  const auto unit = SolveMaster(master.problem, 1e-8, MasterMethod::kAdmm);
  const auto scaled = SolveMaster(problem, 1e-8, MasterMethod::kAdmm);
  EXPECT_NEAR(scaled->certificate().primal, unit->certificate().primal,
              2e-8 * unit->certificate().primal);
  EXPECT_LE(scaled->iterations(), unit->iterations() + 2);
}

// Pairs of waves on points inside and outside of a ring, lambda a thousandth of the largest useful one: weights of some hundreds.
OwnedMaster RingMaster(LossKind loss, Index rows, Index groups, double noise) {
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
  OwnedMaster master = RandomMaster({.loss = loss, .groups = groups}, 1);
  master.columns.clear();
  master.columns.push_back(MakeColumns(values));
  master.problem.tasks = {{master.columns.back().get(), targets, Vector::Ones(rows)}};
  master.problem.specific.lambda = 1e-3 * LargestUsefulLambda(master.problem);
  return master;
}

double GapAfter(const MasterProblem& problem, int steps) {
  RunContext context;
  const auto solver = MakeMasterSolver(MasterMethod::kAdmm);
  solver->SetAccuracy({.relative_gap = 1e-6, .relative_decrease = 0});
  EXPECT_EQ(solver->Start(problem, MasterPoint::Zero(problem.num_columns(), 1), context),
            absl::OkStatus());
  for (int step = 0; step < steps && solver->stop() == MasterStop::kRunning; ++step) {
    EXPECT_EQ(solver->Step(context), absl::OkStatus());
  }
  return solver->certificate().RelativeGap();
}

TEST(AdmmMasterTest, SmallLambdasAreNoObstacle) {
  EXPECT_LE(GapAfter(RingMaster(LossKind::kSquaredHinge, 400, 30, 0.0).problem, 200), 1e-5);
  EXPECT_LE(GapAfter(RingMaster(LossKind::kLogistic, 400, 30, 0.0).problem, 300), 1e-5);
  EXPECT_LE(GapAfter(RingMaster(LossKind::kHinge, 500, 60, 0.05).problem, 600), 1e-4);
}

}  // namespace
}  // namespace mercer
