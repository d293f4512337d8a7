// Costs beyond those of svm_solver_conformance_test.cc, where rounding limits a Newton step.
#include "core/solvers/factor_svm.h"

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
    for (Index j = 20; j < 60; ++j) {
      instance.rows.row(i)[j] = instance.rows.row(i)[j % 20];
    }
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

}  // namespace
}  // namespace mercer
