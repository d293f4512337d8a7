// outer_loop = smo_mkl against a cone solver's fixtures and the other outer loops; its refusals,
// states and ends.
#include <cmath>
#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "core/learners/lp_mkl/lp_mkl.h"
#include "core/training/model/predictor.h"
#include "tests/core/learners/lp_mkl/outer_loop_checks.h"

namespace mercer::lp_mkl {
namespace {

OptionValues Joint(OptionValues options) {
  options["outer_loop"] = std::string("smo_mkl");
  return options;
}

TrainingProblem JointProblem(Index rows, TargetKind kind = TargetKind::kClassification) {
  return CloudsOfKind(rows, kind, {0.3, 1.0, 3.0, 10.0}, 71);
}

// Each run's lower bound is below the other's upper one, and the weights are those of one solution.
TEST(JointLpMklTest, AgreesWithTheOtherOuterLoopsToTheCertifiedGaps) {
  for (const TargetKind kind : {TargetKind::kClassification, TargetKind::kRegression}) {
    const TrainingProblem problem = JointProblem(120, kind);
    for (const double p : {1.05, 1.5, 2.0, 4.0, 8.0}) {
      for (const double C : {0.1, 10.0}) {
        const OptionValues options = {{"p", p}, {"C", C}};
        const Fit joint = MustTrain(problem, Joint(options), 1e-8);
        const Fit reference = MustTrain(problem, options, 1e-8);
        const std::string what = NormAndCost(p, C);
        ExpectSameOptimum(joint, reference, 1e-8, 1e-12, what);
        EXPECT_LE((joint.weights() - reference.weights()).cwiseAbs().maxCoeff(),
                  C < 1 ? 2e-2 : 2e-3)
            << what << ": " << joint.weights().transpose() << " and "
            << reference.weights().transpose();
      }
    }
  }
}

TEST(JointLpMklTest, NormsNearOneHaveTheOptimumOfOne) {
  const TrainingProblem problem = JointProblem(60);
  const Fit at_one = MustTrain(problem, {{"p", 1.0}}, 1e-7);
  for (const double above_one : {1e-3, 1e-4}) {
    const Fit joint = MustTrain(problem, Joint({{"p", 1.0 + above_one}}), 1e-4);
    // Optima differ by a factor of m^(2 - 2 / p) at the most.
    ExpectSameOptimum(joint, at_one, 1e-4, 4 * above_one, NormAndCost(1.0 + above_one, 1.0));
  }
}

// Costs C and weights of norm t, of which half the penalty times t^2 is the price, are costs t C and weights of norm 1: with N = |f|^2
// the first objective is N / (2 t) + penalty t^2 / 2 + C risk, the second one N / 2 + t C risk.
TEST(JointLpMklTest, APenaltyOfTheWeightsIsAnotherCost) {
  for (const TargetKind kind : {TargetKind::kClassification, TargetKind::kRegression}) {
    const TrainingProblem problem = JointProblem(90, kind);
    for (const double p : {1.2, 2.0, 4.0}) {
      for (const double penalty : {0.05, 3.0}) {
        const Fit free =
            MustTrain(problem, Joint({{"p", p}, {"C", 2.0}, {"weight_penalty", penalty}}), 1e-8);
        const double norm = std::pow(free.weights().array().pow(p).sum(), 1 / p);
        const Fit within = MustTrain(problem, {{"p", p}, {"C", 2.0 * norm}}, 1e-8);
        const std::string what = NormAndCost(p, penalty);
        EXPECT_NEAR(norm * (free.certificate.primal - 0.5 * penalty * norm * norm),
                    within.certificate.primal, 1e-6 * within.certificate.primal)
            << what;
        EXPECT_LE((free.weights() / norm - within.weights()).cwiseAbs().maxCoeff(), 2e-3) << what;
        RunContext context;
        const auto values =
            EvaluateFunction(free.point.function, *problem.tasks[0].inputs, context);
        const auto expected =
            EvaluateFunction(within.point.function, *problem.tasks[0].inputs, context);
        ASSERT_TRUE(values.ok() && expected.ok());
        EXPECT_LE((*values - *expected).cwiseAbs().maxCoeff(),
                  2e-3 * expected->cwiseAbs().maxCoeff())
            << what;
      }
    }
  }
}

TEST(JointLpMklTest, APenaltyIsOfNoOtherLoop) {
  const TrainingProblem problem = JointProblem(60);
  const Fit plain = MustTrain(problem, {}, 1e-6);
  const Fit with_penalty = MustTrain(problem, {{"weight_penalty", 3.0}}, 1e-6);
  EXPECT_EQ(with_penalty.weights(), plain.weights());
  EXPECT_EQ(with_penalty.certificate.primal, plain.certificate.primal);
}

TEST(JointLpMklTest, OneKernelHasTheWeightOne) {
  const Cloud cloud = OverlappingClouds(60, 2, 5);
  const TrainingProblem problem = GaussianProblem(cloud.x, cloud.labels, {1.0});
  const Fit joint = MustTrain(problem, Joint({}), 1e-6);
  const Fit plain = MustTrain(problem, {}, 1e-6);
  EXPECT_EQ(joint.weights(), Vector::Ones(1));
  EXPECT_NEAR(joint.certificate.primal, plain.certificate.primal, 2e-6 * plain.certificate.primal);
}

TEST(JointLpMklTest, RestoredRunGivesTheSameBitsAfterEveryStep) {
  ExpectSameBitsAfterEveryStep(JointProblem(400), Joint({{"p", 1.2}, {"C", 3000.0}}), 6);
}

TEST(JointLpMklTest, StartsFromTheDualOfAnotherCost) {
  TrainingProblem problem = JointProblem(100);
  const Fit first = MustTrain(problem, Joint({{"C", 5.0}}), 1e-8);
  problem.relative_gap = 1e-8;
  const WarmStart warm{&first.point, &problem};
  const auto steps_from = [&](const WarmStart* start) {
    const std::unique_ptr<Learner> learner = *Entry().create(Joint({{"C", 5.001}}));
    EXPECT_TRUE(learner->Start(problem, start).ok());
    RunContext context;
    const auto report = learner->Step(context, problem.relative_gap);
    EXPECT_TRUE(report.ok()) << report.status();
    EXPECT_LE(report->accuracy, 1e-8);
    return report->inner_iterations;
  };
  EXPECT_LT(steps_from(&warm), steps_from(nullptr));
}

TEST(JointLpMklTest, CancelledStepLeavesTheStateBeforeIt) {
  ExpectCancelledStepLeavesTheStateBeforeIt(JointProblem(150), Joint({}));
}

TEST(JointLpMklTest, OptionsThatItCannotTakeAreRefusedByName) {
  ExpectRefusedByName(Joint({}), {{{"p", 1.0}},
                                  {{"p", 1.0 + 1e-14}},
                                  {{"p", 1.0000009}},
                                  {{"p", kInfinity}},
                                  {{"approximation", std::string("nystrom")}},
                                  {{"loss", std::string("logistic")}},
                                  {{"loss", std::string("squared_hinge")}},
                                  {{"loss", std::string("square")}},
                                  {{"inner_solver", std::string("smo")}}});
  EXPECT_TRUE(Entry().create(Joint({{"p", 1.000001}})).ok());
}

TEST(JointLpMklTest, DamagedStatesAreDataLoss) {
  ExpectDamagedStatesAreDataLoss(JointProblem(50), Joint({}), {});
}

}  // namespace
}  // namespace mercer::lp_mkl
