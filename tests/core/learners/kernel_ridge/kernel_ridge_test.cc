#include "core/learners/kernel_ridge/kernel_ridge.h"

#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include <Eigen/LU>
#include <gtest/gtest.h>

#include "core/base/status/errors.h"
#include "core/learners/registry.h"
#include "core/training/recipe/recipe.h"
#include "tests/support/learner_runs.h"

namespace mercer {
namespace {

absl::StatusOr<TrainingOutcome> Train(const TrainingProblem& problem, double lambda) {
  return RunToGap(kernel_ridge::Entry(), {{"lambda", lambda}}, problem);
}

// Dual variables, then the bias, from one dense system.
Vector DirectSolution(const TrainingProblem& problem, double lambda) {
  const Index n = problem.tasks[0].costs.size();
  Matrix system = Matrix::Zero(n + 1, n + 1);
  system.topLeftCorner(n, n) = SumOfGaussians(problem);
  system.topLeftCorner(n, n).diagonal() += lambda * (2 * problem.tasks[0].costs).cwiseInverse();
  system.col(n).head(n).setOnes();
  system.row(n).head(n).setOnes();
  Vector right = Vector::Zero(n + 1);
  right.head(n) = problem.tasks[0].targets.col(0);
  return system.fullPivLu().solve(right);
}

TEST(KernelRidgeTest, AgreesWithADenseSolutionOfTheWholeSystem) {
  for (const TargetKind kind : {TargetKind::kClassification, TargetKind::kRegression}) {
    for (const double lambda : {0.01, 1.0, 50.0}) {
      TrainingProblem problem = ToyProblem(kind, 70, 3, {1.0, 4.0});
      problem.tasks[0].costs = Vector::LinSpaced(70, 0.5, 2.0);
      problem.relative_gap = 1e-11;
      const absl::StatusOr<TrainingOutcome> outcome = Train(problem, lambda);
      ASSERT_TRUE(outcome.ok()) << outcome.status();
      EXPECT_EQ(outcome->stop_reason, StopReason::kConverged) << outcome->certificate.accuracy;
      const Vector direct = DirectSolution(problem, lambda);
      EXPECT_LE((outcome->point.witness.tasks[0].dual.col(0) - direct.head(70)).norm(),
                1e-9 * direct.norm());
      EXPECT_NEAR(outcome->point.function.bias(0), direct(70), 1e-9);
      // At the optimum the primal value is lambda/2 y'dual.
      const double optimum = 0.5 * lambda * problem.tasks[0].targets.col(0).dot(direct.head(70));
      EXPECT_NEAR(outcome->certificate.primal / optimum, 1, 1e-10);
      EXPECT_NEAR(outcome->certificate.dual / optimum, 1, 1e-10);
    }
  }
}

TEST(KernelRidgeTest, TwoRowsHaveTheClosedForm) {
  // K = I by distant rows: dual = (t, -t) with t (1 + lambda / 2) = 1 for targets 1 and -1.
  RowMatrix values(2, 1);
  values << 0.0, 1e3;
  TrainingProblem problem =
      MakeProblem(TargetKind::kClassification, values, Vector{{1, -1}}, {1.0});
  const absl::StatusOr<TrainingOutcome> outcome = Train(problem, 0.5);
  ASSERT_TRUE(outcome.ok()) << outcome.status();
  EXPECT_NEAR(outcome->point.witness.tasks[0].dual(0, 0), 1 / 1.25, 1e-14);
  EXPECT_NEAR(outcome->point.witness.tasks[0].dual(1, 0), -1 / 1.25, 1e-14);
  EXPECT_NEAR(outcome->point.function.bias(0), 0, 1e-14);
}

TEST(KernelRidgeTest, LargeLambdaLeavesTheWeightedMean) {
  TrainingProblem problem = ToyProblem(TargetKind::kRegression, 30, 2, {1.0});
  problem.tasks[0].costs = Vector::LinSpaced(30, 0.1, 3.0);
  const absl::StatusOr<TrainingOutcome> outcome = Train(problem, 1e12);
  ASSERT_TRUE(outcome.ok()) << outcome.status();
  const Vector& costs = problem.tasks[0].costs;
  EXPECT_NEAR(outcome->point.function.bias(0),
              costs.dot(problem.tasks[0].targets.col(0)) / costs.sum(), 1e-9);
}

// Rows whose weight vanishes against lambda would be left out, and a ridge beyond all numbers is no
// matrix.
TEST(KernelRidgeTest, LambdaBeyondTheNumbersIsRefusedByName) {
  TrainingProblem problem = ToyProblem(TargetKind::kRegression, 30, 2, {1.0});
  const double largest = std::nextafter(kInfinity, 0.0);
  const auto named = [&](double lambda) {
    const std::vector<FieldViolation> violations =
        GetFieldViolations(Train(problem, lambda).status());
    return violations.size() == 1 ? violations[0].field : "";
  };
  EXPECT_EQ(named(largest), "lambda");
  EXPECT_EQ(named(std::nextafter(0.0, 1.0)), "lambda");
  problem.tasks[0].costs(3) = 1e-20;
  EXPECT_EQ(named(1e305), "lambda");
  problem.tasks[0].costs(3) = 0;
  EXPECT_TRUE(Train(problem, 1e305).ok());
}

TEST(KernelRidgeTest, RowsOfCostZeroHaveNoPart) {
  TrainingProblem problem = ToyProblem(TargetKind::kClassification, 40, 2, {1.0});
  problem.tasks[0].costs(7) = 0;
  const absl::StatusOr<TrainingOutcome> outcome = Train(problem, 1.0);
  ASSERT_TRUE(outcome.ok()) << outcome.status();
  EXPECT_EQ(outcome->point.witness.tasks[0].dual(7, 0), 0);
  EXPECT_EQ(outcome->stop_reason, StopReason::kConverged);
}

TEST(KernelRidgeTest, EqualTargetsAreFittedByTheBias) {
  TrainingProblem problem = ToyProblem(TargetKind::kRegression, 12, 2, {1.0});
  problem.tasks[0].targets.setConstant(2.5);
  const absl::StatusOr<TrainingOutcome> outcome = Train(problem, 1.0);
  ASSERT_TRUE(outcome.ok()) << outcome.status();
  EXPECT_NEAR(outcome->point.function.bias(0), 2.5, 1e-12);
  EXPECT_LE(outcome->certificate.primal, 1e-20);
}

TEST(KernelRidgeTest, FollowsASmoothFunctionOnHeldOutRows) {
  const Dataset data = RegressionData(300, 2, 5);
  TrainingRecipe recipe;
  recipe.learner = "kernel_ridge";
  recipe.kind = TargetKind::kRegression;
  recipe.options = {{"lambda", 0.1}};
  recipe.validation.kind = ValidationKind::kHoldOut;
  RunContext context;
  QuietObserver observer;
  const auto trained =
      RunRecipe({FindLearner("kernel_ridge"), &recipe, &data, "", "test"}, {}, context, observer);
  ASSERT_TRUE(trained.ok()) << trained.status();
  double r2 = -1;
  for (const Metric& metric : trained->model.metrics) {
    r2 = metric.name == "held_out.r2" ? metric.value : r2;
  }
  EXPECT_GE(r2, 0.95);  // the noise of deviation 0.1 leaves about 0.98
}

TEST(KernelRidgeTest, BalancedClassesAreExplicitWeights) {
  const Dataset data = ImbalancedData(60);
  TrainingRecipe recipe;
  recipe.learner = "kernel_ridge";
  recipe.class_weighting = ClassWeighting::kBalanced;
  TrainingRecipe explicit_recipe = recipe;
  explicit_recipe.class_weighting = ClassWeighting::kExplicit;
  explicit_recipe.class_weights = {{"0", 60.0 / (2 * 45)}, {"1", 60.0 / (2 * 15)}};
  RunContext context;
  QuietObserver observer;
  const LearnerEntry* entry = FindLearner("kernel_ridge");
  const auto balanced = RunRecipe({entry, &recipe, &data, "", "test"}, {}, context, observer);
  const auto weighted =
      RunRecipe({entry, &explicit_recipe, &data, "", "test"}, {}, context, observer);
  ASSERT_TRUE(balanced.ok() && weighted.ok()) << balanced.status() << weighted.status();
  EXPECT_EQ(SaveWitness(balanced->witness), SaveWitness(weighted->witness));
}

TEST(KernelRidgeTest, RestoredRunsGiveTheSameBits) {
  const TrainingProblem problem = ToyProblem(TargetKind::kRegression, 50, 2, {1.0});
  const LearnerEntry entry = kernel_ridge::Entry();
  RunContext context;
  const std::unique_ptr<Learner> learner = *entry.create({});
  ASSERT_EQ(learner->Start(problem, nullptr), absl::OkStatus());
  const std::string before = learner->SaveState();
  ASSERT_TRUE(learner->Step(context, problem.relative_gap).ok());
  const absl::StatusOr<StepReport> report = learner->Step(context, problem.relative_gap);
  ASSERT_TRUE(report.ok() && report->has_model);
  const std::string solved = learner->SaveState();
  const std::string expected = SaveWitness(learner->CurrentModel(context)->witness);
  for (const std::string& state : {before, solved}) {
    const std::unique_ptr<Learner> restored = *entry.create({});
    ASSERT_EQ(restored->RestoreState(problem, state, context), absl::OkStatus());
    ASSERT_TRUE(restored->Step(context, problem.relative_gap).ok());
    EXPECT_EQ(SaveWitness(restored->CurrentModel(context)->witness), expected);
  }
  const std::unique_ptr<Learner> damaged = *entry.create({});
  EXPECT_EQ(damaged->RestoreState(problem, solved.substr(0, 20), context).code(),
            absl::StatusCode::kDataLoss);
}

TEST(KernelRidgeTest, IndefiniteKernelsAreRefusedByName) {
  // With lambda 20 the kernel and the ridge are positive definite together.
  for (const double lambda : {1.0, 20.0}) {
    const absl::Status status = Train(IndefiniteProblem(), lambda).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
    EXPECT_EQ(GetReason(status), "NOT_PSD") << status;
    EXPECT_NE(status.message().find("kernels[0]"), std::string::npos) << status;
  }
}

TEST(KernelRidgeTest, TheVerifierRefusesIndefiniteKernels) {
  const TrainingProblem problem = IndefiniteProblem();
  Witness witness;
  witness.tasks.push_back({Vector{{1, -1, 1, -1}}, Vector::Zero(1)});
  RunContext context;
  const LearnerEntry entry = kernel_ridge::Entry();
  const absl::Status status = entry.verify({{"lambda", 20.0}}, problem, witness, context).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
  EXPECT_EQ(GetReason(status), "NOT_PSD") << status;
}

}  // namespace
}  // namespace mercer
