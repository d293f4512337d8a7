#include "core/learners/svm/svm.h"

#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/learners/registry.h"
#include "core/training/contract/kernel_sum.h"
#include "core/training/recipe/recipe.h"
#include "tests/support/json_fixture.h"
#include "tests/support/learner_runs.h"

namespace mercer {
namespace {

absl::StatusOr<TrainingOutcome> Train(const TrainingProblem& problem,
                                      const svm::SvmOptions& options) {
  return RunToGap(svm::Entry(), svm::SvmOptions::Fields().Values(options), problem);
}

// K dual + bias on the training rows, for a precomputed Gram matrix.
Vector Decision(const Matrix& gram, const TrainedPoint& point) {
  return (gram * point.witness.tasks[0].dual.col(0)).array() + point.function.bias(0);
}

TEST(SvmLearnerTest, SolvesEveryReferenceCase) {
  const nlohmann::json fixture = ReadFixtureFile("mixed-norm-mkl/svm-cases.json");
  const double decision_abs = fixture["tolerance"]["decision_abs"];
  for (const nlohmann::json& item : fixture["cases"]) {
    SCOPED_TRACE(item["name"].get<std::string>());
    const Matrix gram = JsonMatrix(item["gram"]);
    TrainingProblem problem =
        PrecomputedProblem(TargetKind::kClassification, {gram}, JsonVector(item["y"]));
    problem.tasks[0].costs = JsonVector(item["C_i"]);  // they carry everything, C = 1
    problem.relative_gap = 1e-12;
    const absl::StatusOr<TrainingOutcome> outcome = Train(problem, {});
    ASSERT_TRUE(outcome.ok()) << outcome.status();
    const double objective = item["objective"];
    EXPECT_NEAR(outcome->certificate.primal / objective, 1, 1e-8);
    EXPECT_NEAR(outcome->certificate.dual / objective, 1, 1e-8);
    // The reference writes f - b and leaves b open in some cases.
    const double b = item["b_unique"] ? item["b"].get<double>() : -outcome->point.function.bias(0);
    const Vector expected =
        JsonVector(item["decision_train"]).array() + item["b"].get<double>() - b;
    EXPECT_LE((Decision(gram, outcome->point) - expected).lpNorm<Eigen::Infinity>(), decision_abs);
  }
}

TEST(SvmLearnerTest, TwoRowsHaveTheClosedForm) {
  Matrix gram(2, 2);
  gram << 2.0, 0.5, 0.5, 1.0;
  TrainingProblem problem =
      PrecomputedProblem(TargetKind::kClassification, {gram}, Vector{{1, -1}});
  problem.relative_gap = 1e-12;
  for (const double c : {0.25, 10.0}) {
    const absl::StatusOr<TrainingOutcome> outcome = Train(problem, {.C = c});
    ASSERT_TRUE(outcome.ok()) << outcome.status();
    // dual = (t, -t), t = min(C, 2 / (K11 + K22 - 2 K12)).
    const double t = std::min(c, 1.0);
    EXPECT_NEAR(outcome->point.witness.tasks[0].dual(0, 0), t, 1e-12);
    EXPECT_NEAR(outcome->point.witness.tasks[0].dual(1, 0), -t, 1e-12);
    EXPECT_NEAR(outcome->certificate.dual, 2 * t - 0.5 * t * t * 2.0, 1e-11);
  }
}

TEST(SvmLearnerTest, RegressionOfTwoRowsHasTheClosedForm) {
  Matrix gram(2, 2);
  gram << 2.0, 0.0, 0.0, 2.0;
  TrainingProblem problem = PrecomputedProblem(TargetKind::kRegression, {gram}, Vector{{3, 1}});
  problem.relative_gap = 1e-12;
  const absl::StatusOr<TrainingOutcome> outcome = Train(problem, {.C = 10.0, .epsilon = 0.25});
  ASSERT_TRUE(outcome.ok()) << outcome.status();
  // max 2t - 2 epsilon t - 2 t^2: t = (1 - epsilon) / 2; both residuals end at epsilon, so the bias
  // is the mean of the targets.
  EXPECT_NEAR(outcome->point.witness.tasks[0].dual(0, 0), 0.375, 1e-12);
  EXPECT_NEAR(outcome->point.function.bias(0), 2.0, 1e-9);
  EXPECT_NEAR(outcome->certificate.primal, 2 * 0.375 * 0.375, 1e-9);
}

TEST(SvmLearnerTest, AWeightOfTwoIsARowGivenTwice) {
  TrainingProblem twice = ToyProblem(TargetKind::kClassification, 41, 2, {1.0});
  twice.relative_gap = 1e-10;
  twice.tasks[0].rows[40] = 7;
  twice.tasks[0].targets(40, 0) = twice.tasks[0].targets(7, 0);
  TrainingProblem weighted = twice;
  weighted.tasks[0].rows.pop_back();
  weighted.tasks[0].targets = Matrix(twice.tasks[0].targets.topRows(40));
  weighted.tasks[0].costs = Vector::Ones(40);
  weighted.tasks[0].costs(7) = 2;
  const absl::StatusOr<TrainingOutcome> expected = Train(twice, {.C = 0.5});
  const absl::StatusOr<TrainingOutcome> actual = Train(weighted, {.C = 0.5});
  ASSERT_TRUE(expected.ok() && actual.ok()) << expected.status() << actual.status();
  EXPECT_NEAR(actual->certificate.primal / expected->certificate.primal, 1, 1e-9);
  Vector merged = expected->point.witness.tasks[0].dual.topRows(40);
  merged(7) += expected->point.witness.tasks[0].dual(40, 0);
  EXPECT_LE((actual->point.witness.tasks[0].dual.col(0) - merged).lpNorm<Eigen::Infinity>(), 1e-3);
}

TEST(SvmLearnerTest, BalancedClassesAreExplicitWeights) {
  const Dataset data = ImbalancedData(60);
  TrainingRecipe recipe;
  recipe.learner = "svm";
  recipe.class_weighting = ClassWeighting::kBalanced;
  TrainingRecipe explicit_recipe = recipe;
  explicit_recipe.class_weighting = ClassWeighting::kExplicit;
  explicit_recipe.class_weights = {{"0", 60.0 / (2 * 45)}, {"1", 60.0 / (2 * 15)}};
  RunContext context;
  QuietObserver observer;
  const LearnerEntry* entry = FindLearner("svm");
  ASSERT_NE(entry, nullptr);
  const auto balanced = RunRecipe({entry, &recipe, &data, "", "test"}, {}, context, observer);
  const auto weighted =
      RunRecipe({entry, &explicit_recipe, &data, "", "test"}, {}, context, observer);
  ASSERT_TRUE(balanced.ok() && weighted.ok()) << balanced.status() << weighted.status();
  EXPECT_EQ(SaveWitness(balanced->witness), SaveWitness(weighted->witness));
  // The rare class costs three times as much a row, up to its own bound.
  EXPECT_LE(balanced->witness.tasks[0].dual.maxCoeff(), 2.0);
  EXPECT_GE(balanced->witness.tasks[0].dual.minCoeff(), -2.0 / 3.0 - 1e-12);
}

TEST(SvmLearnerTest, RegressionFollowsASmoothFunction) {
  const Dataset data = RegressionData(300, 2, 5);
  TrainingRecipe recipe;
  recipe.learner = "svm";
  recipe.kind = TargetKind::kRegression;
  recipe.options = {{"C", 10.0}};
  recipe.validation.kind = ValidationKind::kHoldOut;
  RunContext context;
  QuietObserver observer;
  const auto trained =
      RunRecipe({FindLearner("svm"), &recipe, &data, "", "test"}, {}, context, observer);
  ASSERT_TRUE(trained.ok()) << trained.status();
  EXPECT_LE(trained->model.certificate.accuracy, 1e-3);
  double r2 = -1;
  for (const Metric& metric : trained->model.metrics) {
    r2 = metric.name == "held_out.r2" ? metric.value : r2;
  }
  EXPECT_GE(r2, 0.95);  // the noise of deviation 0.1 leaves about 0.98
}

TEST(SvmLearnerTest, RunsInSlicesGiveTheSameBitsWhereverTheyAreInterrupted) {
  TrainingProblem problem = ToyProblem(TargetKind::kClassification, 120, 3, {0.5, 2.0});
  problem.relative_gap = 1e-9;
  const svm::SvmOptions options{.C = 100.0};
  RunContext context;
  const std::unique_ptr<Learner> learner = svm::MakeLearner(options, 25);
  ASSERT_EQ(learner->Start(problem, nullptr), absl::OkStatus());
  std::vector<std::string> states;
  StepReport report;
  while (report.accuracy > problem.relative_gap && !report.stop.has_value()) {
    const absl::StatusOr<StepReport> step = learner->Step(context, problem.relative_gap);
    ASSERT_TRUE(step.ok()) << step.status();
    EXPECT_GE(step->dual, report.dual);
    EXPECT_LE(step->primal, report.primal);
    report = *step;
    states.push_back(learner->SaveState());
    ASSERT_LT(states.size(), 10'000u);
  }
  ASSERT_GT(states.size(), 5u);
  for (size_t from = 0; from + 1 < states.size(); from += 1 + states.size() / 7) {
    const std::unique_ptr<Learner> restored = svm::MakeLearner(options, 25);
    ASSERT_EQ(restored->RestoreState(problem, states[from], context), absl::OkStatus());
    for (size_t step = from + 1; step < states.size(); ++step) {
      ASSERT_TRUE(restored->Step(context, problem.relative_gap).ok());
      ASSERT_EQ(restored->SaveState(), states[step])
          << "restored after step " << from << ", at step " << step;
    }
  }
}

TEST(SvmLearnerTest, GoesOnWhenMoreIsWanted) {
  TrainingProblem problem = ToyProblem(TargetKind::kClassification, 60, 2, {1.0});
  problem.relative_gap = 1e-2;
  const std::unique_ptr<Learner> learner = svm::MakeLearner({.C = 10.0});
  RunContext context;
  ASSERT_EQ(learner->Start(problem, nullptr), absl::OkStatus());
  double accuracy = 1;
  for (int step = 0; step < 50 && accuracy > 1e-8; ++step) {
    const double target = accuracy > problem.relative_gap ? problem.relative_gap : 1e-8;
    const absl::StatusOr<StepReport> report = learner->Step(context, target);
    ASSERT_TRUE(report.ok()) << report.status();
    accuracy = report->accuracy;
  }
  EXPECT_LE(accuracy, 1e-8);
}

TEST(SvmLearnerTest, ASolutionAsStartNeedsNoIterations) {
  TrainingProblem problem = ToyProblem(TargetKind::kRegression, 80, 2, {1.0});
  problem.relative_gap = 1e-6;
  const absl::StatusOr<TrainingOutcome> first = Train(problem, {});
  ASSERT_TRUE(first.ok()) << first.status();
  const WarmStart warm_start{&first->point, &problem};
  TrainingProblem looser = problem;
  looser.relative_gap = 1e-5;
  const std::unique_ptr<Learner> learner = svm::MakeLearner({});
  RunContext context;
  ASSERT_EQ(learner->Start(looser, &warm_start), absl::OkStatus());
  const absl::StatusOr<StepReport> report = learner->Step(context, looser.relative_gap);
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_EQ(report->inner_iterations, 0);
  EXPECT_LE(report->accuracy, 1e-5);
}

// A value of a path begins with the products of the value before, be they kept or, in a run that is
// taken up again, computed anew.
TEST(SvmLearnerTest, TheNextCostBeginsWithTheSameBitsWhateverIsKept) {
  TrainingProblem kept = ToyProblem(TargetKind::kClassification, 120, 3, {0.5, 2.0});
  kept.relative_gap = 1e-6;
  kept.kernel_sum = std::make_shared<KernelSumCell>();
  TrainingProblem bare = kept;
  bare.kernel_sum = nullptr;
  const absl::StatusOr<TrainingOutcome> first = Train(kept, {.C = 1.0});
  ASSERT_TRUE(first.ok()) << first.status();
  RunContext context;
  std::vector<std::string> states;
  for (const TrainingProblem* problem : {&kept, &bare}) {
    const WarmStart warm_start{&first->point, problem};
    const std::unique_ptr<Learner> learner = svm::MakeLearner({.C = 2.0}, 25);
    ASSERT_EQ(learner->Start(*problem, &warm_start), absl::OkStatus());
    ASSERT_TRUE(learner->Step(context, kept.relative_gap).ok());
    states.push_back(learner->SaveState());
  }
  EXPECT_EQ(states[0], states[1]);
}

TEST(SvmLearnerTest, ATubeAroundAllTargetsIsAnObjectiveOfZero) {
  TrainingProblem problem = ToyProblem(TargetKind::kRegression, 30, 2, {1.0});
  const absl::StatusOr<TrainingOutcome> outcome = Train(problem, {.epsilon = 100.0});
  ASSERT_TRUE(outcome.ok()) << outcome.status();
  EXPECT_EQ(outcome->stop_reason, StopReason::kObjectiveZero);
  EXPECT_TRUE(outcome->point.witness.tasks[0].dual.isZero(0));
}

TEST(SvmLearnerTest, IndefiniteKernelsAreRefusedByName) {
  const absl::Status status = Train(IndefiniteProblem(), {.C = 10.0}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
  EXPECT_NE(status.message().find("kernels[0]"), std::string::npos) << status;
}

TEST(SvmLearnerTest, OneClassAndBadLabelsAreRefused) {
  TrainingProblem problem = ToyProblem(TargetKind::kClassification, 10, 2, {1.0});
  const std::unique_ptr<Learner> learner = svm::MakeLearner({});
  problem.tasks[0].targets.setOnes();
  EXPECT_EQ(GetReason(learner->Start(problem, nullptr)), "ONE_CLASS");
  problem.tasks[0].targets(3, 0) = 2;
  const absl::Status status = learner->Start(problem, nullptr);
  EXPECT_EQ(GetReason(status), "BAD_LABEL");
  EXPECT_NE(status.message().find("row 4"), std::string::npos) << status;
}

}  // namespace
}  // namespace mercer
