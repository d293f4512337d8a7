// What a recipe that leaves something open means, and what it is refused for before it runs.
#include "core/training/recipe/recipe_defaults.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include <gtest/gtest.h>

#include "core/base/status/errors.h"
#include "core/training/recipe/recipe_checks.h"
#include "tests/core/training/trained_models.h"
#include "tests/support/field_violation.h"
#include "tests/support/toy_data.h"

namespace mercer {
namespace {

Dataset WithTarget(Index rows, const std::function<double(Index)>& value) {
  Dataset data = ClassificationData(rows, 2, 2, 1);
  RoleColumn& target = data.role_columns[0];
  target.schema.categorical = false;
  target.schema.categories.clear();
  for (Index row = 0; row < rows; ++row) {
    target.values(row) = value(row);
  }
  return data;
}

CompletedRecipe Complete(const TrainingRecipe& recipe, const Dataset& data,
                         bool kind_is_open = true, const LearnerEntry& entry = ExampleEntry()) {
  const absl::StatusOr<CompletedRecipe> completed =
      CompleteRecipe(entry, recipe, kind_is_open, data, RunContext());
  EXPECT_TRUE(completed.ok()) << completed.status();
  return completed.ok() ? *completed : CompletedRecipe();
}

TEST(OpenTargetTest, ManyDifferentNumbersAreANumber) {
  const auto classes = [](int count) {
    return [count](Index row) { return static_cast<double>(row % count); };
  };
  EXPECT_EQ(Complete(ExampleRecipe(), WithTarget(80, classes(20))).recipe.kind,
            TargetKind::kClassification);
  const Dataset many = WithTarget(210, classes(21));
  const CompletedRecipe completed = Complete(ExampleRecipe(), many);
  EXPECT_EQ(completed.recipe.kind, TargetKind::kRegression);
  ASSERT_EQ(completed.decisions.size(), 1u);
  EXPECT_EQ(completed.decisions[0].code, WarningCode::kNumericTarget);
  EXPECT_EQ(completed.decisions[0].values.at("different_values"), "21");
  EXPECT_NE(completed.decisions[0].message.find("--classes"), std::string::npos);
  // Whoever says classes is given classes.
  const CompletedRecipe forced = Complete(ExampleRecipe(), many, false);
  EXPECT_EQ(forced.recipe.kind, TargetKind::kClassification);
  EXPECT_TRUE(forced.decisions.empty());
}

TEST(OpenTargetTest, FractionsAreNumbersUnlessThereAreTwo) {
  const auto values = [](Index row) { return 0.5 * static_cast<double>(row % 3); };
  EXPECT_EQ(Complete(ExampleRecipe(), WithTarget(60, values)).recipe.kind, TargetKind::kRegression);
  const auto two = [](Index row) { return 0.5 * static_cast<double>(row % 2); };
  EXPECT_EQ(Complete(ExampleRecipe(), WithTarget(60, two)).recipe.kind,
            TargetKind::kClassification);
}

TEST(OpenTargetTest, MoreNumbersThanClassesAreRefusedWhereClassesAloneAreLearned) {
  LearnerEntry entry = ExampleEntry();
  entry.regression = false;
  const auto numbers = [](Index row) { return static_cast<double>(row); };
  const absl::Status status =
      CompleteRecipe(entry, ExampleRecipe(), true, WithTarget(1001, numbers), RunContext())
          .status();
  EXPECT_EQ(Violation(status, "learner"),
            "'template_learner' learns classes alone, and column 'label' holds 1001 different "
            "numbers: choose a learner that learns numbers");
  EXPECT_TRUE(
      CompleteRecipe(entry, ExampleRecipe(), true, WithTarget(1000, numbers), RunContext()).ok());
}

TEST(OpenTargetTest, WhatTheDataSayBeforeTheTrainingIsAmongTheDecisions) {
  const Dataset data =
      WithTarget(60, [](Index row) { return row < 2 ? 2.0 : static_cast<double>(row % 2); });
  const CompletedRecipe completed = Complete(ExampleRecipe(), data);
  ASSERT_EQ(completed.decisions.size(), 1u);
  EXPECT_EQ(completed.decisions[0].code, WarningCode::kRareClasses);
}

TEST(OpenTargetTest, TextsAndWhatAsksForClassesAreClasses) {
  Dataset texts = WithTarget(60, [](Index row) { return static_cast<double>(row % 30); });
  const Dataset numbers = texts;
  texts.role_columns[0].schema.categorical = true;
  for (int i = 0; i < 30; ++i) {
    texts.role_columns[0].schema.categories.push_back("c" + std::to_string(i));
  }
  EXPECT_EQ(Complete(ExampleRecipe(), texts).recipe.kind, TargetKind::kClassification);
  TrainingRecipe weighted = ExampleRecipe();
  weighted.class_weighting = ClassWeighting::kBalanced;
  EXPECT_EQ(Complete(weighted, numbers).recipe.kind, TargetKind::kClassification);
  TrainingRecipe coded = ExampleRecipe();
  coded.coding = CodingChoice::kOneVsOne;
  EXPECT_EQ(Complete(coded, numbers).recipe.kind, TargetKind::kClassification);
}

// The example learner with a path of its own.
LearnerEntry EntryWithPath() {
  LearnerEntry entry = ExampleEntry();
  entry.default_path = [](const OptionValues& given) -> std::optional<DefaultPath> {
    if (given.count("C") > 0) {
      return std::nullopt;
    }
    return DefaultPath{"C", {0.1, 1.0, 10.0}};
  };
  return entry;
}

TEST(DefaultPathTest, IsChosenFromByFoldsAndTheModelIsOfAllRows) {
  const LearnerEntry entry = EntryWithPath();
  const Dataset data = ClassificationData(60, 2, 2, 1);
  const CompletedRecipe completed = Complete(ExampleRecipe(), data, true, entry);
  ASSERT_TRUE(completed.recipe.path.has_value());
  EXPECT_EQ(completed.recipe.path->option, "C");
  EXPECT_EQ(completed.recipe.validation.kind, ValidationKind::kFolds);
  EXPECT_EQ(completed.recipe.validation.folds, kFoldsOfDefaultPath);
  ASSERT_EQ(completed.decisions.size(), 1u);
  EXPECT_EQ(completed.decisions[0].code, WarningCode::kOptionChosen);
  EXPECT_TRUE(ValidateRecipe(entry, completed.recipe).ok());
  const auto model = ExampleModel(completed.recipe, data);
  EXPECT_EQ(model->num_training_rows, 60);
}

// A path is not left out because its rows could not be divided in time.
TEST(DefaultPathTest, CancelledDecisionSaysSo) {
  RunContext cancelled;
  cancelled.cancellation().Cancel();
  const Dataset data = ClassificationData(60, 2, 2, 1);
  EXPECT_TRUE(absl::IsCancelled(
      CompleteRecipe(EntryWithPath(), ExampleRecipe(), true, data, cancelled).status()));
}

TEST(DefaultPathTest, KeepsWhatTheRecipeSays) {
  const LearnerEntry entry = EntryWithPath();
  const Dataset data = ClassificationData(60, 2, 2, 1);
  TrainingRecipe recipe = ExampleRecipe();
  recipe.validation = {ValidationKind::kHoldOut, 0.3, std::nullopt};
  EXPECT_EQ(Complete(recipe, data, true, entry).recipe.validation.fraction, 0.3);
  EXPECT_TRUE(Complete(recipe, data, true, entry).recipe.path.has_value());
  recipe.options["C"] = 2.0;
  EXPECT_FALSE(Complete(recipe, data, true, entry).recipe.path.has_value());
  recipe.options.clear();
  recipe.path = OptionPath{"C", {5.0}};
  EXPECT_EQ(Complete(recipe, data, true, entry).recipe.path->values, std::vector<double>{5.0});
}

TEST(DefaultPathTest, FoldsGiveWayToTimeLimitsGivenSplitsAndFewRows) {
  const LearnerEntry entry = EntryWithPath();
  TrainingRecipe limited = ExampleRecipe();
  limited.limits.max_time = absl::Seconds(9);
  EXPECT_EQ(Complete(limited, ClassificationData(60, 2, 2, 1), true, entry).recipe.validation.kind,
            ValidationKind::kHoldOut);
  Dataset split = ClassificationData(60, 2, 2, 1);
  RoleColumn parts{ColumnRole::kSplit, {"part", true, {"train", "validation"}}, Vector::Zero(60)};
  parts.values.tail(20).setOnes();
  split.role_columns.push_back(parts);
  const CompletedRecipe by_column = Complete(ExampleRecipe(), split, true, entry);
  EXPECT_EQ(by_column.recipe.validation.kind, ValidationKind::kHoldOut);
  EXPECT_FALSE(by_column.recipe.validation.fraction.has_value());
  const CompletedRecipe few =
      Complete(ExampleRecipe(), ClassificationData(2, 2, 2, 1), true, entry);
  EXPECT_FALSE(few.recipe.path.has_value());
  EXPECT_EQ(few.recipe.validation.kind, ValidationKind::kNone);
  EXPECT_TRUE(few.decisions.empty());
}

TEST(RecipeChecksTest, MissingValuesNameRowAndColumnAndWhatMendsThem) {
  Dataset data = ClassificationData(60, 2, 2, 1);
  RowMatrix values = data.blocks[0].values.view();
  values(41, 1) = std::nan("");
  data.blocks[0].values = SharedMatrix(std::move(values));
  data.blocks[0].columns = {{"a", false, {}}, {"b", false, {}}};
  TrainingRecipe recipe = ExampleRecipe();
  const absl::Status status = CheckMissingValues(recipe, data, RunContext());
  EXPECT_EQ(GetReason(status), "BAD_CELL");
  EXPECT_NE(status.message().find("row 42, column 'b'"), std::string::npos) << status;
  const ErrorMetadata metadata = GetErrorMetadata(status);
  const std::pair<std::string, std::string> remedy("remedy", "preprocessing.imputation");
  EXPECT_NE(std::find(metadata.begin(), metadata.end(), remedy), metadata.end());
  recipe.preprocessing.imputation = Imputation::kMeanOrMostFrequent;
  EXPECT_TRUE(CheckMissingValues(recipe, data, RunContext()).ok());
  recipe = ExampleRecipe();
  recipe.preprocessing.blocks = {"other"};
  EXPECT_TRUE(CheckMissingValues(recipe, data, RunContext()).ok());
}

TEST(RecipeChecksTest, MissingEntriesOfSparseBlocksAreFound) {
  Dataset data = ClassificationData(3, 2, 2, 1);
  FeatureBlock& block = data.blocks.emplace_back();
  block.name = "sparse";
  block.is_sparse = true;
  block.sparse = {5, {0, 1, 1, 3}, {4, 0, 2}, {1.0, 2.0, std::nan("")}};
  const absl::Status status = CheckMissingValues(ExampleRecipe(), data, RunContext());
  EXPECT_NE(status.message().find("row 3, column 'sparse[3]'"), std::string::npos) << status;
}

TEST(RecipeChecksTest, UnknownBlocksAndColumnsAreNamed) {
  Dataset data = ClassificationData(60, 2, 2, 1);
  data.blocks[0].columns = {{"a", false, {}}, {"b", false, {}}};
  TrainingRecipe recipe = ExampleRecipe();
  EXPECT_TRUE(CheckNamedColumns(recipe, data).ok());
  recipe.kernels[1].prototype.columns = {"a", "zz"};
  EXPECT_NE(Violation(CheckNamedColumns(recipe, data), "kernels[1].columns[1]"), "");
  recipe.kernels[1].prototype.columns = {};
  recipe.kernels[1].prototype.block = "nothing";
  EXPECT_NE(Violation(CheckNamedColumns(recipe, data), "kernels[1].block"), "");
  recipe = ExampleRecipe();
  recipe.preprocessing.blocks = {"nothing"};
  EXPECT_NE(Violation(CheckNamedColumns(recipe, data), "preprocessing.blocks[0]"), "");
}

TEST(RecipeChecksTest, TooManyAndTooFewClassesAreFoundWithoutAValidation) {
  const Dataset many = WithTarget(1001, [](Index row) { return static_cast<double>(row); });
  EXPECT_EQ(GetReason(CheckRows(ExampleEntry(), ExampleRecipe(), many, RunContext()).status()),
            "TOO_MANY_CLASSES");
  const Dataset one = WithTarget(60, [](Index) { return 1.0; });
  EXPECT_EQ(GetReason(CheckRows(ExampleEntry(), ExampleRecipe(), one, RunContext()).status()),
            "ONE_CLASS");
}

}  // namespace
}  // namespace mercer
