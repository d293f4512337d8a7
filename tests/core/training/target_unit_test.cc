#include "core/training/contract/target_unit.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "core/base/numeric/index_range.h"
#include "core/base/numeric/random.h"
#include "core/base/status/errors.h"
#include "tests/core/training/trained_models.h"
#include "tests/support/model_terms.h"

namespace mercer {
namespace {

TrainingProblem ProblemOf(const std::vector<Vector>& targets, const std::vector<Vector>& costs) {
  TrainingProblem problem;
  problem.kind = TargetKind::kRegression;
  for (size_t t = 0; t < targets.size(); ++t) {
    TaskData& task = problem.tasks.emplace_back();
    task.rows = IndexRange(0, targets[t].size());
    task.targets = targets[t];
    task.costs = costs[t];
  }
  return problem;
}

TEST(TargetUnitTest, MeanAndDeviationAreWeighted) {
  // The last row does not count; the second counts as three.
  TrainingProblem problem = ProblemOf({Vector{{1, 5, 1e9}}}, {Vector{{1, 3, 0}}});
  StandardizeTargets(problem);
  EXPECT_DOUBLE_EQ(problem.unit.means(0), 4.0);
  EXPECT_DOUBLE_EQ(problem.unit.deviation, std::sqrt(3.0));  // of 1, 5, 5, 5
  EXPECT_DOUBLE_EQ(problem.tasks[0].targets(0), -std::sqrt(3.0));
  EXPECT_DOUBLE_EQ(problem.tasks[0].targets(1), 1 / std::sqrt(3.0));
}

TEST(TargetUnitTest, TasksHaveAMeanEachAndOneDeviation) {
  TrainingProblem problem =
      ProblemOf({Vector{{1, 3}}, Vector{{100, 104}}}, {Vector::Ones(2), Vector::Ones(2)});
  StandardizeTargets(problem);
  EXPECT_EQ(problem.unit.means, (Vector{{2, 102}}));
  EXPECT_DOUBLE_EQ(problem.unit.deviation, std::sqrt((1 + 1 + 4 + 4) / 4.0));
}

TEST(TargetUnitTest, EqualTargetsBecomeZero) {
  TrainingProblem problem = ProblemOf({Vector::Constant(7, 0.1)}, {Vector::Constant(7, 0.3)});
  StandardizeTargets(problem);
  EXPECT_EQ(problem.unit.means(0), 0.1);
  EXPECT_EQ(problem.unit.deviation, 1.0);
  EXPECT_EQ(problem.tasks[0].targets, Matrix::Zero(7, 1));
}

TEST(TargetUnitTest, WhatHasNoSquareStaysAsItIs) {
  for (const double target : {1e200, -kInfinity, std::numeric_limits<double>::quiet_NaN()}) {
    TrainingProblem problem = ProblemOf({Vector{{1, target}}}, {Vector::Ones(2)});
    StandardizeTargets(problem);
    EXPECT_TRUE(problem.unit.IsIdentity());
    EXPECT_EQ(problem.tasks[0].targets(0, 0), 1.0);
  }
  TrainingProblem large = ProblemOf({Vector{{1e149, -1e149}}}, {Vector::Ones(2)});
  StandardizeTargets(large);
  EXPECT_DOUBLE_EQ(large.unit.deviation, 1e149);
}

// Rings of a shell by its size: a count with a long tail.
Dataset Shells(double unit) {
  Dataset data = RegressionData(160, 3, 5);
  for (double& target : data.role_columns[0].values) {
    target = unit * (10.0 + 3.0 * std::exp(0.5 * target));
  }
  return data;
}

TrainingRecipe ShellRecipe(TargetScaling scaling) {
  TrainingRecipe recipe = ExampleRecipe(TargetKind::kRegression);
  recipe.target_scaling = scaling;
  recipe.validation.kind = ValidationKind::kHoldOut;
  return recipe;
}

TEST(TargetUnitTest, MetricsDoNotDependOnTheUnit) {
  const auto metrics_in = [](double unit) {
    TrainingRecipe recipe = ShellRecipe(TargetScaling::kStandardize);
    recipe.limits.relative_gap = 1e-9;  // what rounding makes of the iterations is less
    const absl::StatusOr<TrainedModel> trained = TrainExample(recipe, Shells(unit));
    EXPECT_TRUE(trained.ok()) << trained.status();
    return trained.ok() ? MetricsOf(trained->model) : std::map<std::string, double>();
  };
  auto plain = metrics_in(1);
  EXPECT_GT(plain["held_out.r2"], 0.4);
  for (const double unit : {1e5, 1e-3}) {
    auto metrics = metrics_in(unit);
    EXPECT_NEAR(metrics["held_out.r2"], plain["held_out.r2"], 1e-6) << unit;
    EXPECT_NEAR(metrics["held_out.rmse"], unit * plain["held_out.rmse"], 1e-6 * unit) << unit;
  }
}

TEST(TargetUnitTest, StoredModelIsProvedInTheUsersUnit) {
  const Dataset data = Shells(1e5);
  const TrainingRecipe recipe = ShellRecipe(TargetScaling::kStandardize);
  const RecipeRun run = ExampleRun(recipe, data);
  RunContext context;
  RecordingObserver observer;
  const absl::StatusOr<TrainedModel> trained = RunRecipe(run, {}, context, observer);
  ASSERT_TRUE(trained.ok()) << trained.status();
  EXPECT_LE(trained->model.certificate.accuracy, 1e-3);
  EXPECT_GT(trained->model.certificate.primal, 1e8) << "squares of the unit";
  EXPECT_NEAR(observer.events.back().report.primal, trained->model.certificate.primal,
              1e-2 * trained->model.certificate.primal);

  const absl::StatusOr<Certificate> verified =
      VerifyModel(run, trained->model, trained->witness, context);
  ASSERT_TRUE(verified.ok()) << verified.status();
  EXPECT_EQ(verified->primal, trained->model.certificate.primal);
  EXPECT_EQ(verified->dual, trained->model.certificate.dual);

  Model other = trained->model;
  other.function.bias(0) += 10;
  EXPECT_EQ(GetReason(VerifyModel(run, other, trained->witness, context).status()),
            "WITNESS_MISMATCH");
  TrainingRecipe raw = recipe;
  raw.target_scaling = TargetScaling::kNone;
  EXPECT_FALSE(VerifyModel(ExampleRun(raw, data), trained->model, trained->witness, context).ok());
}

// The certificate is of the objective in the user's unit, whatever the learner saw: recomputed from the stored model alone.
TEST(TargetUnitTest, PrimalIsTheObjectiveOfTheStoredFunction) {
  const Dataset data = Shells(1e3);
  TrainingRecipe recipe = ExampleRecipe(TargetKind::kRegression);
  recipe.target_scaling = TargetScaling::kStandardize;
  const double cost = 7;
  recipe.options["C"] = cost;
  const std::shared_ptr<const Model> model = ExampleModel(recipe, data);
  const absl::StatusOr<Prediction> prediction = PredictRows(model, data);
  ASSERT_TRUE(prediction.ok()) << prediction.status();
  const Vector values = prediction->decision_values.col(0);
  const Vector targets = data.role_columns[0].values;
  // |f|^2 without the bias, of f = sum_k eta_k K_k a: a'(f - bias).
  const KernelTerm& term = TermAt<KernelTerm>(model->function);
  const Basis& basis = model->function.bases.at(static_cast<size_t>(term.basis));
  Vector coefficients = Vector::Zero(data.rows);
  for (Index j = 0; j < term.coefficients.rows(); ++j) {
    coefficients(basis.training_rows[static_cast<size_t>(j)]) = term.coefficients.coeff(j, 0);
  }
  const double norm = coefficients.dot((values.array() - model->function.bias(0)).matrix());
  const double objective = 0.5 * norm + cost * (targets - values).squaredNorm();
  EXPECT_NEAR(model->certificate.primal, objective, 1e-6 * objective);
}

TEST(TargetUnitTest, ConstantTargetsArePredicted) {
  Dataset data = RegressionData(40, 2, 1);
  data.role_columns[0].values.setConstant(0.1);
  TrainingRecipe recipe = ExampleRecipe(TargetKind::kRegression);
  recipe.target_scaling = TargetScaling::kStandardize;
  const absl::StatusOr<Prediction> prediction = PredictRows(ExampleModel(recipe, data), data);
  ASSERT_TRUE(prediction.ok()) << prediction.status();
  EXPECT_EQ(prediction->decision_values, Matrix::Constant(40, 1, 0.1));
}

TEST(TargetUnitTest, EveryCheckpointLeadsToTheSameBits) {
  TrainingRecipe recipe = ShellRecipe(TargetScaling::kStandardize);
  recipe.validation = {ValidationKind::kFolds, std::nullopt, 3};
  ExpectSameBitsFromEveryCheckpoint(recipe, Shells(1e5));
  recipe.path = OptionPath{"C", {0.1, 1, 10}};
  ExpectSameBitsFromEveryCheckpoint(recipe, Shells(1e-3));
}

}  // namespace
}  // namespace mercer
