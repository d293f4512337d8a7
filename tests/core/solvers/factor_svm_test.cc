// Costs beyond those of svm_solver_conformance_test.cc, where rounding limits a Newton step.
#include "core/solvers/factor/factor_svm.h"

#include <gtest/gtest.h>

#include "tests/core/solvers/factor_test_problems.h"

namespace mercer {
namespace {

// Products with dual variables of this size have lost what a gap of 1e-8 needs: the run ends by itself, with bounds that hold.
TEST(FactorSvmTest, HugeCostEndsAtTheLimitOfPrecision) {
  const FactorInstance instance = MakeFactorInstance({.cost = 1e8});
  RunContext context;
  FactorSvmSolver solver(instance.kernel(), 1e-12);
  ASSERT_TRUE(solver.Start(instance.problem, {}, context).ok());
  ASSERT_TRUE(solver.Run(context).ok());
  EXPECT_LE(solver.certificate().RelativeGap(), 1e-3);
  EXPECT_GE(solver.certificate().RelativeGap(), -1e-9);
}

// The Gram matrix of features that repeat one another is singular, and rounding times a long step is larger than the identity.
TEST(FactorSvmTest, RepeatedFeaturesAtHugeCostsEndWithBoundsThatHold) {
  FactorInstance instance = MakeFactorInstance({.rows = 2600, .rank = 60, .cost = 1e8});
  for (Index i = 0; i < instance.rows.rows(); ++i) {
    instance.rows.SetRow(i, RowOf(instance.rows, i).head(20).replicate(3, 1));
  }
  instance.root.diagonal().array() += 1e3;
  RunContext context;
  FactorSvmSolver solver(instance.kernel(), 1e-3);
  ASSERT_TRUE(solver.Start(instance.problem, {}, context).ok());
  const absl::Status status = solver.Step(200, context);
  ASSERT_TRUE(status.ok()) << status;
  if (solver.done()) {
    EXPECT_GE(solver.certificate().RelativeGap(), -1e-9);
  }
}

// Costs that leave next to no sample off its bound need no system of all of them on the way there.
TEST(FactorSvmTest, SmallCostsTakeFewSteps) {
  for (const Index rows : {150, 1500}) {
    const FactorInstance instance = MakeFactorInstance({.rows = rows, .cost = 1e-3});
    RunContext context;
    FactorSvmSolver solver(instance.kernel(), 1e-4);
    ASSERT_TRUE(solver.Start(instance.problem, {}, context).ok());
    ASSERT_TRUE(solver.Run(context).ok());
    EXPECT_LE(solver.certificate().RelativeGap(), 1e-4);
    EXPECT_LE(solver.iterations(), 2) << rows;
  }
}

// A kernel four times as large with a quarter of the costs is the same problem, and the powers of two make it so bit for bit.
TEST(FactorSvmTest, TheUnitOfTheKernelIsOfNoMatter) {
  for (const double cost : {1e-2, 1.0, 1e3}) {
    FactorInstance instance = MakeFactorInstance({.cost = cost});
    RunContext context;
    FactorSvmSolver solver(instance.kernel(), 1e-6);
    ASSERT_TRUE(solver.Start(instance.problem, {}, context).ok());
    ASSERT_TRUE(solver.Run(context).ok());
    instance.root *= 2;
    instance.problem.costs /= 4;
    FactorSvmSolver scaled(instance.kernel(), 1e-6);
    ASSERT_TRUE(scaled.Start(instance.problem, {}, context).ok());
    ASSERT_TRUE(scaled.Run(context).ok());
    EXPECT_EQ(scaled.iterations(), solver.iterations()) << cost;
    EXPECT_EQ((4 * scaled.dual() - solver.dual()).cwiseAbs().maxCoeff(), 0.0) << cost;
  }
}

}  // namespace
}  // namespace mercer
