// outer_loop = interleaved against the default on the same kernels of low rank; its steps, refusals
// and states.
#include <cmath>
#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "core/learners/lp_mkl/kernels.h"
#include "core/learners/lp_mkl/lp_mkl.h"
#include "core/objectives/lp_weights.h"
#include "core/solvers/factor/factor_svm.h"
#include "tests/core/learners/lp_mkl/outer_loop_checks.h"

namespace mercer::lp_mkl {
namespace {

OptionValues Nystrom(OptionValues options) {
  options["approximation"] = std::string("nystrom");
  options["landmarks"] = int64_t{25};
  return options;
}

OptionValues Interleaved(OptionValues options) {
  options["outer_loop"] = std::string("interleaved");
  return Nystrom(std::move(options));
}

TrainingProblem InterleavedProblem(Index rows, TargetKind kind = TargetKind::kClassification) {
  return CloudsOfKind(rows, kind, {0.3, 1.0, 3.0, 10.0, 30.0}, 81);
}

TEST(InterleavedLpMklTest, AgreesWithTheDefaultToTheCertifiedGaps) {
  for (const TargetKind kind : {TargetKind::kClassification, TargetKind::kRegression}) {
    const TrainingProblem problem = InterleavedProblem(160, kind);
    for (const double p : {1.1, 2.0, 4.0}) {
      for (const double C : {0.1, 10.0, 1000.0}) {
        const OptionValues options = {{"p", p}, {"C", C}};
        const Fit interleaved = MustTrain(problem, Interleaved(options), 1e-6);
        const Fit reference = MustTrain(problem, Nystrom(options), 1e-6);
        EXPECT_EQ(interleaved.certificate.scope, CertificateScope::kLowRankProblem);
        ExpectSameOptimum(interleaved, reference, 1e-6, 1e-9, NormAndCost(p, C));
      }
    }
  }
}

// Neither a Newton step nor the change to the closed form of the weights raises the subproblem.
TEST(InterleavedLpMklTest, SubproblemDecreasesWithEveryChangeOfTheWeights) {
  const TrainingProblem problem = InterleavedProblem(120);
  const LpMklOptions options = *LpMklOptions::Fields().Parse(Nystrom({}));
  RunContext context;
  const LpMklKernels kernels = *MakeLpMklKernels(options, problem, context);
  for (const double p : {1.1, 2.0, 4.0}) {
    Vector weights = UniformWeights(5, p);
    std::unique_ptr<KernelOperator> kernel = *kernels.family->Combine(weights, context);
    auto solver = std::make_unique<FactorSvmSolver>(*kernel->Factored(), 1e-9);
    const SvmProblem svm{*MakeLoss(LossKind::kHinge), problem.tasks[0].targets.col(0),
                         Vector::Constant(120, 10.0)};
    ASSERT_TRUE(solver->Start(svm, {}, context).ok());
    for (int step = 0; step < 8 && !solver->done(); ++step) {
      ASSERT_TRUE(solver->Step(1, context).ok());
      const double before = solver->SubproblemValue();
      const Vector norms =
          weights.cwiseProduct(*kernels.low_rank->PartNorms(solver->FunctionInMetric(), context));
      weights = WeightsFromNorms(norms, p, weights);
      std::unique_ptr<KernelOperator> next = *kernels.family->Combine(weights, context);
      auto moved = solver->OnKernel(*next->Factored(), 1e-9, context);
      ASSERT_TRUE(moved.ok()) << moved.status();
      ASSERT_NE(*moved, nullptr) << p << ", step " << step;
      // Regulariser and losses: the scores have not changed.
      EXPECT_LE((*moved)->SubproblemValue(), before + 1e-9 * std::abs(before)) << p;
      // The regulariser is not above the block norm of the function that was there.
      const double block = HalfSquaredBlockNorm(norms, p);
      const double half =
          0.5 * weights.dot(kernels.low_rank->PartNorms((*moved)->FunctionInMetric(), context)
                                ->array()
                                .square()
                                .matrix());
      EXPECT_LE(half, block * (1 + 1e-6)) << p;
      solver = *std::move(moved);
      kernel = std::move(next);
    }
  }
}

TEST(InterleavedLpMklTest, RestoredRunGivesTheSameBitsAfterEveryStep) {
  TrainingProblem problem = InterleavedProblem(150);
  problem.relative_gap = 1e-7;
  ExpectSameBitsAfterEveryStep(problem, Interleaved({{"p", 1.2}, {"C", 300.0}}), 12);
}

// The closed form changes the weights by little there: many of its steps, none of which is a
// failure of the solver.
TEST(InterleavedLpMklTest, ExponentsNearOneReachTheirGap) {
  const TrainingProblem problem = InterleavedProblem(120);
  for (const double p : {1.02, 1.05}) {
    const Fit fit = MustTrain(problem, Interleaved({{"p", p}, {"C", 10.0}}), 1e-4);
    EXPECT_EQ(fit.stop_reason, StopReason::kConverged) << p;
    EXPECT_LE(fit.certificate.accuracy, 1e-4) << p;
  }
}

// With one kernel the gap may end a rounding below 0.
TEST(InterleavedLpMklTest, StatesOfOneKernelAreReadBackToTheEnd) {
  const Cloud cloud = OverlappingClouds(80, 2, 7);
  for (const double C : {1e-6, 1.0}) {
    TrainingProblem problem = GaussianProblem(cloud.x, cloud.labels, {2.0});
    problem.relative_gap = 1e-3;
    const OptionValues options = Interleaved({{"C", C}});
    const std::unique_ptr<Learner> learner = *Entry().create(options);
    ASSERT_TRUE(learner->Start(problem, nullptr).ok());
    RunContext context;
    for (int step = 0; step < 5; ++step) {
      ASSERT_TRUE(learner->Step(context, problem.relative_gap).ok());
      const std::unique_ptr<Learner> restored = *Entry().create(options);
      const absl::Status status = restored->RestoreState(problem, learner->SaveState(), context);
      EXPECT_TRUE(status.ok()) << "C " << C << ", step " << step << ": " << status;
    }
  }
}

TEST(InterleavedLpMklTest, StartsFromTheDualOfAnotherCost) {
  TrainingProblem problem = InterleavedProblem(100);
  const Fit first = MustTrain(problem, Interleaved({{"C", 5.0}}), 1e-6);
  const WarmStart warm{&first.point, &problem};
  const std::unique_ptr<Learner> learner = *Entry().create(Interleaved({{"C", 6.0}}));
  ASSERT_TRUE(learner->Start(problem, &warm).ok());
  RunContext context;
  const auto report = learner->Step(context, problem.relative_gap);
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_LE(report->accuracy, 1e-3);
}

TEST(InterleavedLpMklTest, CancelledStepLeavesTheStateBeforeIt) {
  ExpectCancelledStepLeavesTheStateBeforeIt(InterleavedProblem(150), Interleaved({}));
}

TEST(InterleavedLpMklTest, OptionsThatItCannotTakeAreRefusedByName) {
  ExpectRefusedByName(Interleaved({}), {{{"p", 1.0}},
                                        {{"p", kInfinity}},
                                        {{"approximation", std::string("none")}},
                                        {{"loss", std::string("logistic")}},
                                        {{"inner_solver", std::string("newton")}}});
}

TEST(InterleavedLpMklTest, DamagedStatesAreDataLoss) {
  ExpectDamagedStatesAreDataLoss(InterleavedProblem(60), Interleaved({}), Nystrom({}));
}

}  // namespace
}  // namespace mercer::lp_mkl
