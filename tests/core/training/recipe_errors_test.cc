// Recipes and data that cannot be trained on: the error names the field, row or column.
#include <cmath>

#include "absl/strings/str_cat.h"
#include <gtest/gtest.h>

#include "core/base/status/errors.h"
#include "core/training/recipe/recipe_checks.h"
#include "tests/core/training/trained_models.h"
#include "tests/support/field_violation.h"

namespace mercer {
namespace {

void ExpectViolation(const absl::Status& status, const std::string& field) {
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
  EXPECT_NE(Violation(status, field), "") << field << " is not named by: " << status;
}

TEST(ValidateRecipeTest, NamesEveryBadFieldAtOnce) {
  TrainingRecipe recipe = ExampleRecipe();
  recipe.options = {{"C", -1.0}, {"D", 1.0}};
  recipe.kernels.resize(4);
  recipe.kernels[3].prototype.bandwidth = -1;
  recipe.validation = {ValidationKind::kHoldOut, 1.5, 0};
  recipe.limits.relative_gap = 0;
  recipe.limits.max_iterations = 0;
  recipe.limits.max_time = absl::ZeroDuration();
  const absl::Status status = ValidateRecipe(ExampleEntry(), recipe);
  for (const char* field : {"options.C", "options.D", "kernels[3].bandwidth", "validation.fraction",
                            "limits.relative_gap", "limits.max_iterations", "limits.max_time"}) {
    ExpectViolation(status, field);
  }
}

TEST(ValidateRecipeTest, ChecksGeneratedKernels) {
  TrainingRecipe recipe = ExampleRecipe();
  recipe.kernels[0].rule = BandwidthRule::kLogSpaced;
  recipe.kernels[0].min_bandwidth = -1;
  recipe.kernels[0].max_bandwidth = std::nan("");
  recipe.kernels[1].bandwidths = {1.0, 0.0};
  recipe.kernels.resize(4);
  recipe.kernels[2].prototype.type = KernelType::kLinear;
  recipe.kernels[2].bandwidths = {1.0};
  recipe.kernels[3].rule = BandwidthRule::kLogSpaced;
  recipe.kernels[3].min_bandwidth = 2;
  recipe.kernels[3].max_bandwidth = 1;
  const absl::Status status = ValidateRecipe(ExampleEntry(), recipe);
  for (const char* field :
       {"kernels[0].min_bandwidth", "kernels[0].max_bandwidth", "kernels[0].count",
        "kernels[1].bandwidths[1]", "kernels[2].bandwidths", "kernels[3].max_bandwidth"}) {
    ExpectViolation(status, field);
  }
}

TEST(ValidateRecipeTest, ChecksNamesAndGroupsOfKernels) {
  TrainingRecipe recipe = ExampleRecipe();
  recipe.kernels = {OneKernel(1), OneKernel(2), OneKernel(3)};
  recipe.kernels[0].prototype.labels = {"hue", "colour"};
  recipe.kernels[1].prototype.labels = {"shape", "colour"};
  EXPECT_TRUE(ValidateRecipe(ExampleEntry(), recipe).ok());
  recipe.kernels[2].prototype.labels = {"hue", "a\nb"};
  const absl::Status status = ValidateRecipe(ExampleEntry(), recipe);
  ExpectViolation(status, "kernels[2].group");
  EXPECT_EQ(Violation(status, "kernels[2].name"),
            "two kernels would have the name 'hue', one of kernels[0] and one of kernels[2]");
  // Of families of several the data say more.
  recipe.kernels[2].prototype.labels.group.clear();
  recipe.kernels[2].per_column = true;
  EXPECT_TRUE(ValidateRecipe(ExampleEntry(), recipe).ok());
}

TEST(ValidateRecipeTest, RefusesAMillionKernels) {
  TrainingRecipe recipe = ExampleRecipe();
  recipe.kernels[0].rule = BandwidthRule::kLogSpaced;
  recipe.kernels[0].min_bandwidth = 1;
  recipe.kernels[0].max_bandwidth = 2;
  recipe.kernels[0].count = 1'000'000;
  ExpectViolation(ValidateRecipe(ExampleEntry(), recipe), "kernels");
  recipe.kernels.assign(1'000'000, OneKernel(1));
  ExpectViolation(ValidateRecipe(ExampleEntry(), recipe), "kernels");
}

TEST(ValidateRecipeTest, KernelsAreRefusedWhereTheLearnerTakesNone) {
  TrainingRecipe recipe = ExampleRecipe();
  recipe.kernels.clear();
  EXPECT_TRUE(ValidateRecipe(ExampleEntry(), recipe).ok());
  LearnerEntry entry = ExampleEntry();
  entry.uses_kernels = false;
  EXPECT_TRUE(ValidateRecipe(entry, recipe).ok());
  recipe.kernels = {OneKernel(1)};
  ExpectViolation(ValidateRecipe(entry, recipe), "kernels");
}

TEST(ValidateRecipeTest, LearnersSayWhatTheyCanDo) {
  LearnerEntry entry = ExampleEntry();
  entry.regression = false;
  ExpectViolation(ValidateRecipe(entry, ExampleRecipe(TargetKind::kRegression)), "kind");
  TrainingRecipe recipe = ExampleRecipe(TargetKind::kRegression);
  recipe.coding = CodingChoice::kOneVsOne;
  recipe.class_weighting = ClassWeighting::kBalanced;
  ExpectViolation(ValidateRecipe(ExampleEntry(), recipe), "coding");
  ExpectViolation(ValidateRecipe(ExampleEntry(), recipe), "class_weighting");
}

TEST(RecipeErrorsTest, TargetsThatAreNotThere) {
  Dataset data = ClassificationData(20, 2, 2, 1);
  TrainingRecipe recipe = ExampleRecipe();
  recipe.target = "colour";
  const absl::Status wrong = TrainExample(recipe, data).status();
  ExpectViolation(wrong, "target");
  EXPECT_NE(wrong.message().find("'label'"), std::string::npos) << wrong;

  recipe.target = "";
  data.role_columns.push_back(NumericColumn(ColumnRole::kTarget, "second", Vector::Zero(20)));
  ExpectViolation(TrainExample(recipe, data).status(), "target");
  data.role_columns.clear();
  ExpectViolation(TrainExample(recipe, data).status(), "target");
}

TEST(RecipeErrorsTest, TextTargetsAreNoNumbers) {
  Dataset data = ClassificationData(20, 2, 2, 1);
  data.role_columns[0].schema.categorical = true;
  data.role_columns[0].schema.categories = {"no", "yes"};
  ExpectViolation(TrainExample(ExampleRecipe(TargetKind::kRegression), data).status(), "target");
  EXPECT_TRUE(TrainExample(ExampleRecipe(), data).ok());
}

TEST(RecipeErrorsTest, TargetsOfGroupedThousandsAreNamedWithTheRemedy) {
  Dataset data = ClassificationData(20, 2, 2, 1);
  RoleColumn& target = data.role_columns[0];
  target.schema.categorical = true;
  target.schema.categories.clear();
  for (int row = 0; row < 20; ++row) {
    target.schema.categories.push_back(absl::StrCat("1,", 200 + row));
    target.values(row) = row;
  }
  TrainingRecipe recipe = ExampleRecipe();
  recipe.validation.kind = ValidationKind::kHoldOut;
  const std::string why =
      "; it holds numbers with a comma, which are read as texts: write them without the comma if "
      "it groups thousands, with a point if it does not";
  EXPECT_EQ(
      Violation(TrainExample(recipe, data).status(), "validation.fraction"),
      "holding out 0.25 of 20 rows leaves 20 for training and 0 held out: every row of column "
      "'label' is of a class of its own" +
          why);
  EXPECT_EQ(
      Violation(TrainExample(ExampleRecipe(TargetKind::kRegression), data).status(), "target"),
      "column 'label' is categorical; regression needs numbers" + why);
}

TEST(RecipeErrorsTest, MissingTargetsAreNamed) {
  for (const TargetKind kind : {TargetKind::kClassification, TargetKind::kRegression}) {
    for (const ValidationKind validation :
         {ValidationKind::kNone, ValidationKind::kHoldOut, ValidationKind::kFolds}) {
      Dataset data = ClassificationData(20, 2, 2, 1);
      data.role_columns[0].values(12) = std::nan("");
      TrainingRecipe recipe = ExampleRecipe(kind);
      recipe.validation.kind = validation;
      const absl::Status status = TrainExample(recipe, data).status();
      EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
      EXPECT_EQ(GetReason(status), "BAD_LABEL");
      EXPECT_NE(status.message().find("row 13, column 'label'"), std::string::npos) << status;
      EXPECT_NE(status.message().find("upload the data without them"), std::string::npos) << status;
    }
  }
}

TEST(RecipeErrorsTest, OneClassIsRefused) {
  Dataset data = ClassificationData(20, 2, 2, 1);
  data.role_columns[0].values.setOnes();
  EXPECT_EQ(GetReason(TrainExample(ExampleRecipe(), data).status()), "ONE_CLASS");
}

TEST(RecipeErrorsTest, OneRowIsOneClassButARegression) {
  EXPECT_EQ(GetReason(TrainExample(ExampleRecipe(), ClassificationData(1, 2, 1, 1)).status()),
            "ONE_CLASS");
  const absl::StatusOr<TrainedModel> trained =
      TrainExample(ExampleRecipe(TargetKind::kRegression), RegressionData(1, 1, 1));
  ASSERT_TRUE(trained.ok()) << trained.status();
  EXPECT_TRUE(std::isfinite(trained->model.certificate.primal));
}

TEST(RecipeErrorsTest, NoRowsAreRefused) {
  const absl::Status status =
      TrainExample(ExampleRecipe(), ClassificationData(0, 2, 2, 1)).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
}

TEST(RecipeErrorsTest, ConstantColumnsAndDuplicateRowsTrain) {
  Dataset data = ClassificationData(30, 2, 2, 1);
  RowMatrix values = data.blocks[0].values.view();
  values.col(1).setConstant(5);
  values.bottomRows(15) = values.topRows(15);  // with other labels for some
  data.blocks[0].values = SharedMatrix(values);
  const absl::StatusOr<TrainedModel> trained = TrainExample(ExampleRecipe(), data);
  ASSERT_TRUE(trained.ok()) << trained.status();
  EXPECT_EQ(trained->model.stop_reason, StopReason::kConverged);
}

TEST(RecipeErrorsTest, DefaultKernelsNeedRowsThatDiffer) {
  Dataset data = ClassificationData(30, 2, 2, 1);
  data.blocks[0].values = SharedMatrix(RowMatrix::Ones(30, 2));
  TrainingRecipe recipe = ExampleRecipe();
  recipe.kernels.clear();
  ExpectViolation(TrainExample(recipe, data).status(), "kernels");
}

TEST(RecipeErrorsTest, MissingValuesAreRefusedOrImputed) {
  Dataset data = ClassificationData(30, 2, 2, 1);
  RowMatrix values = data.blocks[0].values.view();
  values(4, 1) = std::nan("");
  data.blocks[0].values = SharedMatrix(values);
  TrainingRecipe recipe = ExampleRecipe();
  const absl::Status refused = TrainExample(recipe, data).status();
  EXPECT_EQ(refused.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_NE(refused.message().find("x2"), std::string::npos) << refused;
  EXPECT_NE(refused.message().find("row 5"), std::string::npos) << refused;
  recipe.preprocessing.imputation = Imputation::kMeanOrMostFrequent;
  EXPECT_TRUE(TrainExample(recipe, data).ok());
}

TEST(RecipeErrorsTest, AsymmetricGramsAreRefused) {
  Dataset data = ClassificationData(4, 2, 2, 1);
  RowMatrix gram = RowMatrix::Identity(4, 4);
  gram(0, 1) = 0.5;
  data.squares.push_back({"gram", SquareKind::kKernel, SharedMatrix(gram)});
  TrainingRecipe recipe = ExampleRecipe();
  recipe.kernels = {OneKernel(1), KernelGrid()};
  recipe.kernels[1].prototype.type = KernelType::kPrecomputed;
  const absl::Status status = TrainExample(recipe, data).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
  EXPECT_NE(status.message().find("kernels[1]"), std::string::npos) << status;
}

TEST(RecipeErrorsTest, ClassesWithFewerRowsThanFolds) {
  Dataset data = ClassificationData(20, 2, 2, 1);
  data.role_columns[0].values.setZero();
  data.role_columns[0].values(3) = 1;  // the fold that holds this row out has one class
  TrainingRecipe recipe = ExampleRecipe();
  recipe.validation = {ValidationKind::kFolds, 0, 5};
  RunContext context;
  RecordingObserver observer;
  const absl::Status status = RunRecipe(ExampleRun(recipe, data), {}, context, observer).status();
  ExpectViolation(status, "validation.folds");
  EXPECT_EQ(GetReason(status), "ONE_CLASS");
  EXPECT_TRUE(observer.events.empty()) << "trained before the folds were checked";

  data.role_columns[0].values.tail(8).setConstant(
      2);  // three classes: the fold trains on the other two
  const absl::StatusOr<TrainedModel> trained = TrainExample(recipe, data);
  ASSERT_TRUE(trained.ok()) << trained.status();
  EXPECT_EQ(trained->model.coding.classes().size(), 3u);
}

TEST(RecipeErrorsTest, MoreFoldsThanRows) {
  TrainingRecipe recipe = ExampleRecipe();
  recipe.validation = {ValidationKind::kFolds, 0, 21};
  ExpectViolation(TrainExample(recipe, ClassificationData(20, 2, 2, 1)).status(),
                  "validation.folds");
}

TEST(RecipeErrorsTest, HeldOutCategoriesThatTrainingDoesNotKnow) {
  Dataset data = ClassificationData(20, 2, 2, 1);
  std::vector<std::string> all_different;
  for (int i = 0; i < 20; ++i) {
    all_different.push_back(absl::StrCat("c", i));
  }
  AddColours(data, all_different);
  TrainingRecipe recipe = ExampleRecipe();
  recipe.validation = {ValidationKind::kHoldOut, 0.3, 0};
  const absl::StatusOr<TrainedModel> trained = TrainExample(recipe, data);
  ASSERT_TRUE(trained.ok()) << trained.status();
  EXPECT_EQ(PredictRows(std::make_shared<const Model>(trained->model), data).status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST(RecipeErrorsTest, WeightsMustBeNumbersFromZero) {
  TrainingRecipe recipe = ExampleRecipe();
  for (const double bad : {-1.0, std::nan("")}) {
    Dataset data = ClassificationData(20, 2, 2, 1);
    Vector weights = Vector::Ones(20);
    weights(6) = bad;
    data.role_columns.push_back(NumericColumn(ColumnRole::kWeight, "w", weights));
    const absl::Status status = TrainExample(recipe, data).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_NE(status.message().find("row 7, column 'w'"), std::string::npos) << status;
  }
  recipe.class_weighting = ClassWeighting::kExplicit;
  recipe.class_weights = {{"spam", 2.0}};
  ExpectViolation(TrainExample(recipe, ClassificationData(20, 2, 2, 1)).status(),
                  "class_weights[spam]");
}

// Each suggestion looks at all columns, and a request may name a hundred thousand that there are not.
TEST(CheckNamedColumnsTest, OfManyWrongColumnsTheFirstAreGivenSuggestions) {
  Dataset data = ClassificationData(20, 2, 2, 1);
  data.blocks[0].columns[0].name = "height";
  TrainingRecipe recipe = ExampleRecipe();
  for (int i = 0; i < 50; ++i) {
    recipe.kernels[0].prototype.columns.push_back(absl::StrCat("height", i));
  }
  const std::vector<FieldViolation> violations =
      GetFieldViolations(CheckNamedColumns(recipe, data));
  ASSERT_EQ(violations.size(), 50u);
  for (size_t i = 0; i < violations.size(); ++i) {
    EXPECT_EQ(violations[i].description.find("did you mean 'height'") != std::string::npos, i < 10)
        << violations[i].description;
  }
}

}  // namespace
}  // namespace mercer
