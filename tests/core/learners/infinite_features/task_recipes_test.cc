// From a data set with a column of tasks to a model that predicts each row by the output of its task.
#include <cmath>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/base/status/errors.h"
#include "core/training/encoding/encoding.h"
#include "core/training/recipe/recipe_splits.h"
#include "tests/core/learners/infinite_features/feature_problems.h"
#include "tests/core/training/trained_models.h"
#include "tests/support/field_violation.h"

namespace mercer::infinite_features {
namespace {

const std::vector<std::string> kSubjects = {"zoe", "adam", "eve"};

// Rows of three subjects in turn; the class is that of the second column, for adam turned round.
Dataset SubjectData(Index rows, uint64_t seed) {
  Dataset data;
  data.rows = rows;
  RowMatrix values = NormalMatrix(rows, 3, seed);
  Vector labels(rows);
  Vector subjects(rows);
  for (Index i = 0; i < rows; ++i) {
    const Index subject = i % 3;
    const bool positive = (values(i, 1) > 0) != (subject == 1);
    labels(i) = positive ? 1 : 0;
    subjects(i) = static_cast<double>(subject);
  }
  data.blocks.push_back(NumericBlock(std::move(values)));
  data.role_columns.push_back(NumericColumn(ColumnRole::kTarget, "label", labels));
  data.role_columns.push_back({ColumnRole::kTask, {"subject", true, kSubjects}, subjects});
  return data;
}

TrainingRecipe ColumnsRecipe() {
  TrainingRecipe recipe;
  recipe.learner = "infinite_features";
  recipe.options = {{"family", "columns"}, {"lambda", 0.01}};
  recipe.seed = 5;
  return recipe;
}

absl::StatusOr<TrainedModel> Train(const TrainingRecipe& recipe, const Dataset& data) {
  const LearnerEntry entry = Entry();
  RunContext context;
  RecordingObserver observer;
  return RunRecipe({&entry, &recipe, &data, "digest", "test-version"}, {}, context, observer);
}

std::unique_ptr<Predictor> PredictorOf(const Model& model) {
  absl::StatusOr<std::unique_ptr<Predictor>> made =
      Predictor::Make(std::make_shared<const Model>(model));
  EXPECT_TRUE(made.ok()) << made.status();
  return made.ok() ? *std::move(made) : nullptr;
}

double AccuracyOf(const Model& model, const Dataset& rows, const PredictOptions& options = {}) {
  RunContext context;
  const absl::StatusOr<Prediction> prediction = PredictorOf(model)->Predict(rows, options, context);
  EXPECT_TRUE(prediction.ok()) << prediction.status();
  return prediction.ok() ? EvaluatePrediction(model.coding, *prediction,
                                              *rows.FindColumn(ColumnRole::kTarget), RunContext())
                               .value()[0]
                               .value
                         : 0;
}

TEST(TaskRecipesTest, EveryRowIsPredictedByItsTask) {
  const absl::StatusOr<TrainedModel> trained = Train(ColumnsRecipe(), SubjectData(300, 1));
  ASSERT_TRUE(trained.ok()) << trained.status();
  const Model& model = trained->model;
  EXPECT_EQ(model.tasks.names(), (std::vector<std::string>{"adam", "eve", "zoe"}));
  EXPECT_EQ(OutputNames(model), model.tasks.names());
  EXPECT_EQ(model.num_training_rows, 300);
  EXPECT_EQ(model.function.num_outputs(), 3);
  const Dataset rows = SubjectData(90, 2);
  EXPECT_GT(AccuracyOf(model, rows), 0.95);
  // What the others have learned is wrong for adam, and the other way round.
  EXPECT_LT(AccuracyOf(model, rows, {false, "adam"}), 0.5);
  EXPECT_GT(AccuracyOf(model, rows, {false, "zoe"}), 0.5);

  TrainingRecipe pooled = ColumnsRecipe();
  pooled.task = "";
  const absl::StatusOr<TrainedModel> one = Train(pooled, SubjectData(300, 1));
  ASSERT_TRUE(one.ok()) << one.status();
  EXPECT_FALSE(one->model.tasks.has_column());
  EXPECT_LT(AccuracyOf(one->model, rows), 0.8);
}

TEST(TaskRecipesTest, SharesOfAPredictionAddUpForEveryTask) {
  const absl::StatusOr<TrainedModel> trained = Train(ColumnsRecipe(), SubjectData(150, 1));
  ASSERT_TRUE(trained.ok()) << trained.status();
  RunContext context;
  const Dataset rows = SubjectData(30, 2);
  const absl::StatusOr<Prediction> prediction =
      PredictorOf(trained->model)->Predict(rows, {true, ""}, context);
  ASSERT_TRUE(prediction.ok()) << prediction.status();
  EXPECT_EQ(prediction->decision_values.cols(), 1);
  Matrix sum = Matrix::Zero(30, 1);
  for (const Matrix& share : prediction->contributions) {
    sum += share;
  }
  EXPECT_LE((sum - prediction->decision_values).cwiseAbs().maxCoeff(), 1e-12);
}

TEST(TaskRecipesTest, RowsAreAnsweredAlikeAloneAndTogether) {
  const absl::StatusOr<TrainedModel> trained = Train(ColumnsRecipe(), SubjectData(150, 1));
  ASSERT_TRUE(trained.ok()) << trained.status();
  const std::unique_ptr<Predictor> predictor = PredictorOf(trained->model);
  RunContext context;
  const absl::StatusOr<PreparedData> first = predictor->Prepare(SubjectData(7, 2), {}, context);
  const absl::StatusOr<PreparedData> second =
      predictor->Prepare(SubjectData(4, 3), {.task = "eve"}, context);
  ASSERT_TRUE(first.ok() && second.ok());
  const auto together =
      predictor->PredictPrepared(ConcatenateRows({&*first, &*second}), {}, context);
  const auto alone = predictor->PredictPrepared(*second, {}, context);
  ASSERT_TRUE(together.ok() && alone.ok());
  EXPECT_EQ(Matrix(together->decision_values.bottomRows(4)), alone->decision_values);
}

TEST(TaskRecipesTest, TheStoredModelPredictsTheSame) {
  const absl::StatusOr<TrainedModel> trained = Train(ColumnsRecipe(), SubjectData(150, 1));
  ASSERT_TRUE(trained.ok()) << trained.status();
  const absl::StatusOr<Model> read = LoadModel(SaveModel(trained->model));
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->tasks.names(), trained->model.tasks.names());
  EXPECT_EQ(FormatVersion(SaveModel(trained->model)), 3u);
  const Dataset rows = SubjectData(40, 2);
  RunContext context;
  EXPECT_EQ(PredictorOf(*read)->Predict(rows, {}, context)->decision_values,
            PredictorOf(trained->model)->Predict(rows, {}, context)->decision_values);
}

TEST(TaskRecipesTest, TheCertificateIsRecomputedFromTheData) {
  const Dataset data = SubjectData(120, 1);
  const TrainingRecipe recipe = ColumnsRecipe();
  const absl::StatusOr<TrainedModel> trained = Train(recipe, data);
  ASSERT_TRUE(trained.ok()) << trained.status();
  const LearnerEntry entry = Entry();
  const RecipeRun run{&entry, &recipe, &data, "digest", "test-version"};
  RunContext context;
  const absl::StatusOr<Certificate> verified =
      VerifyModel(run, trained->model, trained->witness, context);
  ASSERT_TRUE(verified.ok()) << verified.status();
  EXPECT_EQ(verified->primal, trained->model.certificate.primal);
  EXPECT_LE(verified->accuracy, 1e-3);

  Model other = trained->model;
  other.function.bias(2) += 0.1;
  EXPECT_EQ(GetReason(VerifyModel(run, other, trained->witness, context).status()),
            "WITNESS_MISMATCH");
}

TEST(TaskRecipesTest, RowsHeldOutAreOfEveryTaskInProportion) {
  const Dataset data = SubjectData(120, 1);
  TrainingRecipe recipe = ColumnsRecipe();
  recipe.validation.kind = ValidationKind::kHoldOut;
  const LearnerEntry entry = Entry();
  const auto splits =
      MakeSplits(entry, recipe, data, *data.FindColumn(ColumnRole::kTarget), RunContext());
  ASSERT_TRUE(splits.ok()) << splits.status();
  std::map<Index, int> held_out;
  for (const Index row : (*splits)[0].held_out) {
    ++held_out[row % 3];
  }
  ASSERT_EQ(held_out.size(), 3u);
  for (const auto& [subject, count] : held_out) {
    EXPECT_NEAR(count, 10, 1) << subject;
  }
  const absl::StatusOr<TrainedModel> trained = Train(recipe, data);
  ASSERT_TRUE(trained.ok()) << trained.status();
  const std::map<std::string, double> metrics = MetricsOf(trained->model);
  EXPECT_GT(metrics.at("held_out.accuracy"), 0.9);
  double right = 0;
  for (const auto& [subject, count] : held_out) {
    right += count *
             metrics.at("held_out.task." + kSubjects[static_cast<size_t>(subject)] + ".accuracy");
  }
  EXPECT_NEAR(right / 30, metrics.at("held_out.accuracy"), 1e-12);
  EXPECT_GT(metrics.at("held_out.task." + kSubjects[0] + ".auc"), 0.9);
  recipe.validation = {ValidationKind::kFolds, {}, 3};
  const absl::StatusOr<TrainedModel> folds = Train(recipe, data);
  ASSERT_TRUE(folds.ok()) << folds.status();
  EXPECT_GT(MetricsOf(folds->model).at("folds.accuracy"), 0.9);
}

TEST(TaskRecipesTest, EveryCheckpointLeadsToTheSameBits) {
  const LearnerEntry entry = Entry();
  const Dataset data = SubjectData(60, 1);
  TrainingRecipe recipe = ColumnsRecipe();
  recipe.options = {{"max_groups", int64_t{5}}, {"lambda_shared", 0.01}};
  recipe.validation = {ValidationKind::kFolds, {}, 2};
  ExpectSameBitsFromEveryCheckpoint({&entry, &recipe, &data, "digest", "test-version"});
}

TEST(TaskRecipesTest, WhatCannotBeLearnedIsSaid) {
  Dataset data = SubjectData(60, 1);
  RoleColumn& subjects = data.role_columns[1];
  subjects.values(7) = std::nan("");
  EXPECT_EQ(GetReason(Train(ColumnsRecipe(), data).status()), "BAD_TASK");
  subjects.values(7) = 1;

  TrainingRecipe named = ColumnsRecipe();
  named.task = "day";
  EXPECT_NE(Violation(Train(named, data).status(), "task"), "");
  Dataset without = data;
  without.role_columns.pop_back();
  EXPECT_NE(Violation(Train(named, without).status(), "task"), "");
  EXPECT_TRUE(Train(ColumnsRecipe(), without).ok());

  Dataset three = data;
  three.role_columns[0].values(0) = 2;
  EXPECT_NE(Violation(Train(ColumnsRecipe(), three).status(), "task"), "");

  // One row of one class of eve: some fold holds it out.
  Dataset rare = data;
  for (Index i = 2; i < 60; i += 3) {
    rare.role_columns[0].values(i) = i == 2 ? 1 : 0;
  }
  TrainingRecipe folds = ColumnsRecipe();
  folds.validation = {ValidationKind::kFolds, {}, 3};
  const absl::Status lonely = Train(folds, rare).status();
  EXPECT_EQ(GetReason(lonely), "EMPTY_TASK");
  EXPECT_NE(Violation(lonely, "validation.folds"), "") << lonely;

  // The rows that are kept for training are of two subjects.
  Dataset split = data;
  Vector parts(60);
  for (Index i = 0; i < 60; ++i) {
    parts(i) = i % 3 == 2 ? 1 : 0;
  }
  split.role_columns.push_back(
      {ColumnRole::kSplit, {"part", true, {"train", "validation"}}, parts});
  TrainingRecipe held_out = ColumnsRecipe();
  held_out.validation.kind = ValidationKind::kHoldOut;
  const absl::Status empty = Train(held_out, split).status();
  EXPECT_EQ(GetReason(empty), "EMPTY_TASK");
  EXPECT_NE(empty.message().find("'eve'"), absl::string_view::npos) << empty;
}

TEST(TaskRecipesTest, RowsOfNoTaskAreNotPredicted) {
  const absl::StatusOr<TrainedModel> trained = Train(ColumnsRecipe(), SubjectData(60, 1));
  ASSERT_TRUE(trained.ok()) << trained.status();
  const std::unique_ptr<Predictor> predictor = PredictorOf(trained->model);
  RunContext context;
  Dataset rows = SubjectData(6, 2);
  rows.role_columns[1].schema.categories[0] = "bob";
  const absl::Status unknown = predictor->Predict(rows, {}, context).status();
  EXPECT_EQ(GetReason(unknown), "BAD_TASK");
  EXPECT_NE(unknown.message().find("row 1"), absl::string_view::npos) << unknown;
  EXPECT_NE(Violation(predictor->Predict(rows, {false, "bob"}, context).status(), "task"), "");
  rows.role_columns.pop_back();
  EXPECT_EQ(GetReason(predictor->Predict(rows, {}, context).status()), "BAD_TASK");
  EXPECT_TRUE(predictor->Predict(rows, {false, "eve"}, context).ok());
}

}  // namespace
}  // namespace mercer::infinite_features
