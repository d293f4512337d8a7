// Validation on data with groups or with a given split.
#include "core/training/recipe/recipe_splits.h"

#include <cmath>

#include <gtest/gtest.h>

#include "core/base/status/errors.h"
#include "core/training/recipe/recipe_shape.h"
#include "tests/core/training/trained_models.h"
#include "tests/support/cancelled_work.h"
#include "tests/support/field_violation.h"

namespace mercer {
namespace {

RoleColumn TextColumn(ColumnRole role, std::vector<std::string> categories, Vector codes) {
  return {role, {"part", true, std::move(categories)}, std::move(codes)};
}

// 60 rows of two classes, row i in group i / 4.
Dataset GroupedData() {
  Dataset data = ClassificationData(60, 2, 2, 1);
  Vector groups(60);
  for (Index i = 0; i < 60; ++i) {
    groups(i) = static_cast<double>(i / 4);
  }
  data.role_columns.push_back(NumericColumn(ColumnRole::kGroup, "patient", groups));
  return data;
}

// 60 rows, the last `held_out` of them for validation.
Dataset SplitData(Index held_out) {
  Dataset data = ClassificationData(60, 2, 2, 1);
  Vector codes = Vector::Zero(60);
  codes.tail(held_out).setOnes();
  data.role_columns.push_back(TextColumn(ColumnRole::kSplit, {"train", "validation"}, codes));
  return data;
}

TrainingRecipe WithValidation(ValidationKind kind) {
  TrainingRecipe recipe = ExampleRecipe();
  recipe.validation.kind = kind;
  return recipe;
}

double MetricOf(const Model& model, const std::string& name) {
  for (const auto& metric : model.metrics) {
    if (metric.name == name) {
      return metric.value;
    }
  }
  return std::nan("");
}

TEST(RecipeSplitsTest, GroupsStayTogether) {
  const Dataset data = GroupedData();
  for (const ValidationKind kind : {ValidationKind::kHoldOut, ValidationKind::kFolds}) {
    const TrainingRecipe recipe = WithValidation(kind);
    const auto splits =
        MakeSplits(ExampleEntry(), recipe, data, data.role_columns[0], RunContext());
    ASSERT_TRUE(splits.ok()) << splits.status();
    EXPECT_EQ(splits->size(), kind == ValidationKind::kFolds ? 5u : 1u);
    for (const Split& split : *splits) {
      std::vector<bool> held_out(60, false);
      for (const Index row : split.held_out) {
        held_out[static_cast<size_t>(row)] = true;
      }
      for (size_t row = 0; row < 60; ++row) {
        EXPECT_EQ(held_out[row], held_out[row / 4 * 4]) << row;
      }
      EXPECT_NEAR(static_cast<double>(split.held_out.size()),
                  kind == ValidationKind::kFolds ? 12 : 15, 3);
    }
    const auto trained = TrainExample(recipe, data);
    ASSERT_TRUE(trained.ok()) << trained.status();
    EXPECT_FALSE(trained->model.metrics.empty());
  }
}

// Pairs of equal rows with one random label: only a split that divides the pairs can predict them.
TEST(RecipeSplitsTest, MetricsDoNotLookIntoGroups) {
  Dataset data = ClassificationData(80, 2, 2, 3);
  RowMatrix values = data.blocks[0].values.view();
  RandomStream random(1, "labels");
  Vector groups(80);
  for (Index i = 0; i < 80; ++i) {
    groups(i) = static_cast<double>(i / 2);
    data.role_columns[0].values(i) =
        i % 2 == 0 ? static_cast<double>(random.Below(2)) : data.role_columns[0].values(i - 1);
    values.row(i) = values.row(i / 2 * 2);
  }
  data.blocks[0].values = SharedMatrix(values);
  TrainingRecipe recipe = WithValidation(ValidationKind::kFolds);
  recipe.options["C"] = 1e6;
  recipe.kernels = {OneKernel(0.05)};
  const auto divided = TrainExample(recipe, data);
  ASSERT_TRUE(divided.ok()) << divided.status();
  data.role_columns.push_back(NumericColumn(ColumnRole::kGroup, "twins", groups));
  const auto whole = TrainExample(recipe, data);
  ASSERT_TRUE(whole.ok()) << whole.status();
  EXPECT_GT(MetricOf(divided->model, "folds.accuracy"), 0.75);
  EXPECT_LT(MetricOf(whole->model, "folds.accuracy"), 0.65);
}

TEST(RecipeSplitsTest, FewerGroupsThanFolds) {
  Dataset data = GroupedData();
  data.role_columns[1].values = (data.role_columns[1].values / 6).array().floor();
  const absl::Status status = TrainExample(WithValidation(ValidationKind::kFolds), data).status();
  const std::string description = Violation(status, "validation.folds");
  EXPECT_NE(description.find("'patient'"), std::string::npos) << status;
  EXPECT_NE(description.find("[2, 3]"), std::string::npos) << status;
}

TEST(RecipeSplitsTest, MissingGroupsAreNamed) {
  Dataset data = GroupedData();
  data.role_columns[1].values(7) = std::nan("");
  const absl::Status status = TrainExample(WithValidation(ValidationKind::kHoldOut), data).status();
  EXPECT_EQ(GetReason(status), "BAD_CELL");
  EXPECT_NE(status.message().find("row 8, column 'patient'"), std::string::npos) << status;
}

TEST(RecipeSplitsTest, TheGivenSplitIsUsed) {
  const auto trained = TrainExample(WithValidation(ValidationKind::kHoldOut), SplitData(13));
  ASSERT_TRUE(trained.ok()) << trained.status();
  EXPECT_EQ(trained->model.num_training_rows, 47);
  EXPECT_FALSE(std::isnan(MetricOf(trained->model, "held_out.accuracy")));
  const auto all = TrainExample(WithValidation(ValidationKind::kNone), SplitData(13));
  ASSERT_TRUE(all.ok()) << all.status();
  EXPECT_EQ(all->model.num_training_rows, 60);
}

TEST(RecipeSplitsTest, AFractionBesideAGivenSplitIsRefused) {
  TrainingRecipe recipe = WithValidation(ValidationKind::kHoldOut);
  recipe.validation.fraction = 0.25;
  const absl::Status status = TrainExample(recipe, SplitData(15)).status();
  EXPECT_NE(Violation(status, "validation.fraction").find("'part'"), std::string::npos) << status;
}

TEST(RecipeSplitsTest, TheGivenFoldsAreUsed) {
  Dataset data = ClassificationData(60, 2, 2, 1);
  Vector folds(60);
  for (Index i = 0; i < 60; ++i) {
    folds(i) = static_cast<double>(1 + i / 20);
  }
  data.role_columns.push_back(NumericColumn(ColumnRole::kSplit, "fold", folds));
  TrainingRecipe recipe = WithValidation(ValidationKind::kFolds);
  RunContext context;
  RecordingObserver observer;
  const auto trained = RunRecipe(ExampleRun(recipe, data), {}, context, observer);
  ASSERT_TRUE(trained.ok()) << trained.status();
  EXPECT_EQ(observer.events.back().phase, "fold 3 of 3");
  recipe.validation.folds = 3;
  EXPECT_TRUE(TrainExample(recipe, data).ok());
  recipe.validation.folds = 4;
  const absl::Status status = TrainExample(recipe, data).status();
  EXPECT_NE(Violation(status, "validation.folds").find("'fold'"), std::string::npos) << status;
}

TEST(RecipeSplitsTest, UnknownWordsAndEmptyPartsAreNamed) {
  Dataset data = SplitData(10);
  data.role_columns[1].schema.categories.push_back("test");
  data.role_columns[1].values(4) = 2;
  const TrainingRecipe recipe = WithValidation(ValidationKind::kHoldOut);
  const absl::Status word = TrainExample(recipe, data).status();
  EXPECT_EQ(GetReason(word), "BAD_CELL");
  EXPECT_NE(word.message().find("row 5, column 'part'"), std::string::npos) << word;
  const absl::Status empty = TrainExample(recipe, SplitData(0)).status();
  EXPECT_NE(Violation(empty, "validation").find("'validation'"), std::string::npos) << empty;
}

TEST(RecipeSplitsTest, APartWithOneClassIsNamed) {
  Dataset data = SplitData(10);
  data.role_columns[0].values.head(50).setZero();
  data.role_columns[0].values.tail(10).setOnes();
  const absl::Status status = TrainExample(WithValidation(ValidationKind::kHoldOut), data).status();
  EXPECT_EQ(GetReason(status), "ONE_CLASS");
  EXPECT_NE(Violation(status, "validation").find("'part'"), std::string::npos) << status;
}

TEST(RecipeSplitsTest, AGivenSplitMayNotDivideAGroup) {
  Dataset data = SplitData(10);
  Vector groups = Vector::LinSpaced(60, 0, 59);
  groups(55) = 3;
  data.role_columns.push_back(NumericColumn(ColumnRole::kGroup, "patient", groups));
  const absl::Status status = TrainExample(WithValidation(ValidationKind::kHoldOut), data).status();
  EXPECT_EQ(GetReason(status), "BAD_CELL");
  EXPECT_NE(status.message().find("row 56, column 'part'"), std::string::npos) << status;
}

TEST(RecipeSplitsTest, TwoColumnsOfOneRoleAreRefused) {
  Dataset data = GroupedData();
  data.role_columns.push_back(NumericColumn(ColumnRole::kGroup, "ward", Vector::Zero(60)));
  const absl::Status status = TrainExample(WithValidation(ValidationKind::kHoldOut), data).status();
  EXPECT_NE(Violation(status, "validation").find("'patient' and 'ward'"), std::string::npos)
      << status;
}

TEST(RecipeSplitsTest, MemoryIsEstimatedFromTheRowsThatTrain) {
  const TrainingRecipe recipe = WithValidation(ValidationKind::kHoldOut);
  const auto few = EstimateRecipeMemory(ExampleEntry(), recipe, SplitData(50), RunContext());
  const auto many = EstimateRecipeMemory(ExampleEntry(), recipe, SplitData(5), RunContext());
  ASSERT_TRUE(few.ok() && many.ok());
  EXPECT_LT(*few, *many);
  // A fold for each row needs the square of the rows.
  TrainingRecipe folds = WithValidation(ValidationKind::kFolds);
  const Dataset data = ClassificationData(3000, 2, 2, 1);
  const auto five = EstimateRecipeMemory(ExampleEntry(), folds, data, RunContext());
  folds.validation.folds = 3000;
  const auto each = EstimateRecipeMemory(ExampleEntry(), folds, data, RunContext());
  ASSERT_TRUE(five.ok() && each.ok());
  EXPECT_GE(*each - *five, (3000 - 5) * 3000 * sizeof(Index));
}

// Each pass over the labels of few classes is short; between them a cancelled run ends.
TEST(RecipeSplitsTest, CancelledSplitsSaySo) {
  RunContext cancelled;
  cancelled.cancellation().Cancel();
  const Dataset data = ClassificationData(60, 2, 2, 1);
  const TrainingRecipe recipe = WithValidation(ValidationKind::kHoldOut);
  const auto make = [&](const RunContext& context) {
    return MakeSplits(ExampleEntry(), recipe, data, data.role_columns[0], context).status();
  };
  EXPECT_EQ(make(RunContext()), absl::OkStatus());
  EXPECT_TRUE(absl::IsCancelled(make(cancelled)));
}

// What is asked of a recipe before it is a job, for a call that is cancelled.
TEST(RecipeSplitsTest, CancelledEstimatesSaySo) {
  RunContext cancelled;
  cancelled.cancellation().Cancel();
  const TrainingRecipe folds = WithValidation(ValidationKind::kFolds);
  const TrainingRecipe hold_out = WithValidation(ValidationKind::kHoldOut);
  EXPECT_TRUE(absl::IsCancelled(CheckFoldCount(folds, GroupedData(), cancelled)));
  EXPECT_TRUE(absl::IsCancelled(CountFolds(folds, SplitData(5), cancelled).status()));
  for (const TrainingRecipe& recipe : {folds, hold_out}) {
    EXPECT_TRUE(absl::IsCancelled(
        EstimateRecipeMemory(ExampleEntry(), recipe, GroupedData(), cancelled).status()));
    EXPECT_TRUE(absl::IsCancelled(
        EstimateRecipeSeconds(ExampleEntry(), recipe, GroupedData(), {}, cancelled).status()));
  }
}

TEST(RecipeSplitsTest, EstimateOfManyGroupsEndsSoonAfterACancellation) {
  constexpr Index kRows = kSanitized ? 20'000 : 2'000'000;
  Dataset data = ClassificationData(kRows, 1, 2, 1);
  Vector groups(kRows);
  for (Index i = 0; i < kRows; ++i) {
    groups(i) = static_cast<double>(7919 * i % kRows);
  }
  data.role_columns.push_back(NumericColumn(ColumnRole::kGroup, "patient", groups));
  for (const ValidationKind kind : {ValidationKind::kHoldOut, ValidationKind::kFolds}) {
    const TrainingRecipe recipe = WithValidation(kind);
    const auto estimate = [&](RunContext& context) {
      return EstimateRecipeMemory(ExampleEntry(), recipe, data, context).status();
    };
    const double whole = WholeWork(estimate);
    for (const double part : {0.1, 0.5, 0.8}) {
      EXPECT_LE(WorkAfterCancel(part * whole, estimate), kMostWorkAfterCancel)
          << part << " of " << whole;
    }
  }
}

}  // namespace
}  // namespace mercer
