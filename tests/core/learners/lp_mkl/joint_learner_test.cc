// outer_loop = smo_mkl against a cone solver's fixtures and the other outer loops; its refusals, states and ends.
#include <cmath>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/base/errors.h"
#include "core/learners/lp_mkl/lp_mkl.h"
#include "tests/core/learners/lp_mkl/lp_mkl_problems.h"

namespace mercer::lp_mkl {
namespace {

OptionValues Joint(OptionValues options) {
  options["outer_loop"] = std::string("smo_mkl");
  return options;
}

TrainingProblem JointProblem(Index rows, TargetKind kind = TargetKind::kClassification) {
  const Cloud cloud = OverlappingClouds(rows, 3, 71);
  TrainingProblem problem = GaussianProblem(cloud.x, cloud.labels, {0.3, 1.0, 3.0, 10.0});
  if (kind == TargetKind::kRegression) {
    problem.kind = kind;
    problem.tasks[0].targets.col(0) = cloud.x.col(0).array().sin() + 0.5 * cloud.x.col(1).array();
  }
  return problem;
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
        const std::string what = "p " + std::to_string(p) + ", C " + std::to_string(C);
        EXPECT_EQ(joint.stop_reason, StopReason::kConverged) << what;
        EXPECT_LE(joint.certificate.accuracy, 1e-8) << what;
        EXPECT_LE(joint.certificate.dual, reference.certificate.primal * (1 + 1e-12)) << what;
        EXPECT_GE(joint.certificate.primal, reference.certificate.dual * (1 - 1e-12)) << what;
        EXPECT_LE((joint.weights() - reference.weights()).cwiseAbs().maxCoeff(),
                  C < 1 ? 2e-2 : 2e-3)
            << what << ": " << joint.weights().transpose() << " and "
            << reference.weights().transpose();
      }
    }
  }
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
  const TrainingProblem problem = JointProblem(400);
  const OptionValues options = Joint({{"p", 1.2}, {"C", 3000.0}});
  RunContext context;
  const std::unique_ptr<Learner> whole = *Entry().create(options);
  ASSERT_TRUE(whole->Start(problem, nullptr).ok());
  std::string state = whole->SaveState();
  for (int step = 0; step < 6; ++step) {
    const auto report = whole->Step(context);
    ASSERT_TRUE(report.ok()) << report.status();
    RunContext two_threads(CancellationToken(), 2, nullptr);
    const std::unique_ptr<Learner> relay = *Entry().create(options);
    ASSERT_TRUE(relay->RestoreState(problem, state, two_threads).ok());
    ASSERT_TRUE(relay->Step(two_threads).ok());
    state = relay->SaveState();
    ASSERT_TRUE(whole->SaveState() == state) << "step " << step;
  }
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
    const auto report = learner->Step(context);
    EXPECT_TRUE(report.ok()) << report.status();
    EXPECT_LE(report->accuracy, 1e-8);
    return report->inner_iterations;
  };
  EXPECT_LT(steps_from(&warm), steps_from(nullptr));
}

TEST(JointLpMklTest, CancelledStepLeavesTheStateBeforeIt) {
  const TrainingProblem problem = JointProblem(150);
  const std::unique_ptr<Learner> learner = *Entry().create(Joint({}));
  ASSERT_TRUE(learner->Start(problem, nullptr).ok());
  const std::string before = learner->SaveState();
  const CancellationToken token;
  token.Cancel();
  RunContext cancelled(token, 1, nullptr);
  EXPECT_TRUE(absl::IsCancelled(learner->Step(cancelled).status()));
  EXPECT_EQ(learner->SaveState(), before);
  RunContext context;
  EXPECT_TRUE(absl::IsFailedPrecondition(learner->CurrentModel(context).status()));
  ASSERT_TRUE(learner->Step(context).ok());
  EXPECT_TRUE(learner->CurrentModel(context).ok());
}

TEST(JointLpMklTest, OptionsThatItCannotTakeAreRefusedByName) {
  const std::vector<OptionValues> refused = {{{"p", 1.0}},
                                             {{"p", kInfinity}},
                                             {{"approximation", std::string("nystrom")}},
                                             {{"loss", std::string("logistic")}},
                                             {{"loss", std::string("squared_hinge")}},
                                             {{"loss", std::string("square")}},
                                             {{"inner_solver", std::string("smo")}}};
  for (const OptionValues& options : refused) {
    const absl::Status status = Entry().create(Joint(options)).status();
    ASSERT_EQ(GetFieldViolations(status).size(), 1u) << options.begin()->first << ": " << status;
    EXPECT_EQ(GetFieldViolations(status)[0].field, "outer_loop");
  }
  EXPECT_TRUE(Entry().create(Joint({{"p", 1.001}})).ok());
}

TEST(JointLpMklTest, DamagedStatesAreDataLoss) {
  const TrainingProblem problem = JointProblem(50);
  const std::unique_ptr<Learner> learner = *Entry().create(Joint({}));
  ASSERT_TRUE(learner->Start(problem, nullptr).ok());
  RunContext context;
  ASSERT_TRUE(learner->Step(context).ok());
  const std::string state = learner->SaveState();
  const std::unique_ptr<Learner> other_loop = *Entry().create({});
  ASSERT_TRUE(other_loop->Start(problem, nullptr).ok());
  for (const std::string& damaged :
       {std::string(), state.substr(0, state.size() / 2), state + "x", other_loop->SaveState()}) {
    const std::unique_ptr<Learner> restored = *Entry().create(Joint({}));
    EXPECT_TRUE(absl::IsDataLoss(restored->RestoreState(problem, damaged, context)));
  }
}

}  // namespace
}  // namespace mercer::lp_mkl
