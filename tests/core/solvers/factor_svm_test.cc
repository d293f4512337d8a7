// Costs beyond those of svm_solver_conformance_test.cc, where rounding limits a Newton step.
#include "core/solvers/factor/factor_svm.h"

#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "tests/core/solvers/factor_test_problems.h"
#include "tests/support/counted_loss.h"

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

// A pass over the samples ends at the next piece, and the step that it belongs to has not happened.
TEST(FactorSvmTest, CancelledSumsOfManySamplesEndSoonAndLeaveTheStateAsItWas) {
  constexpr Index kSamples = 400'000;
  constexpr Index kPiece = 100'000;
  constexpr int kSteps = 3;
  FactorRows rows(kSamples, 1);
  SvmProblem problem{nullptr, Vector(kSamples), Vector::Ones(kSamples)};
  for (Index i = 0; i < kSamples; ++i) {
    problem.targets(i) = i % 3 == 0 ? 1.0 : -1.0;
    rows.SetRow(i, Vector::Constant(1, problem.targets(i) + 0.5 * static_cast<double>(i % 5)));
  }
  const Matrix root = Matrix::Ones(1, 1);
  const FactoredKernel kernel{rows, root};
  RunContext context;
  using Calls = CountedHingeLoss::Calls;
  for (const Calls calls : {Calls::kValues, Calls::kConjugates}) {
    const auto counted = std::make_shared<CountedHingeLoss>(0, CancellationToken(), calls);
    problem.loss = counted;
    FactorSvmSolver whole(kernel, 1e-9);
    ASSERT_EQ(whole.Start(problem, {}, context), absl::OkStatus());
    const Index started = counted->count();
    ASSERT_EQ(whole.Step(kSteps, context), absl::OkStatus());
    const Index ended = counted->count();
    ASSERT_GE(ended, started + kSteps * kSamples);
    for (Index at = started + 1; at <= ended; at += kSamples) {  // where each sum begins
      RunContext cancelled;
      const auto loss = std::make_shared<CountedHingeLoss>(at, cancelled.cancellation(), calls);
      problem.loss = loss;
      FactorSvmSolver solver(kernel, 1e-9);
      ASSERT_EQ(solver.Start(problem, {}, context), absl::OkStatus());
      std::string before;
      absl::Status status;
      int left = kSteps + 1;
      while (status.ok() && left > 0) {
        --left;
        before = solver.SaveState();
        status = solver.Step(1, cancelled);
      }
      ASSERT_TRUE(absl::IsCancelled(status)) << at << ": " << status;
      EXPECT_LE(loss->count(), at + kPiece);
      EXPECT_TRUE(solver.SaveState() == before) << at;
      ASSERT_EQ(solver.Step(left, context), absl::OkStatus());
      EXPECT_TRUE(solver.SaveState() == whole.SaveState()) << at;
    }
  }
}

}  // namespace
}  // namespace mercer
