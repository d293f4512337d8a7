// What always the same answer scores, beside what a model scores.
#include <cmath>
#include <functional>

#include <gtest/gtest.h>

#include "core/training/recipe/warnings.h"
#include "core/training/run/evaluation.h"
#include "tests/core/training/trained_models.h"
#include "tests/support/toy_data.h"

namespace mercer {
namespace {

RoleColumn Numbers(std::vector<double> values) {
  RoleColumn column;
  column.schema.name = "y";
  column.values = Eigen::Map<const Vector>(values.data(), static_cast<Index>(values.size()));
  return column;
}

double Value(const std::vector<Metric>& metrics, const std::string& name) {
  for (const Metric& metric : metrics) {
    if (metric.name == name) {
      return metric.value;
    }
  }
  return std::nan("");
}

OutputCoding CodingOf(const RoleColumn& labels) {
  std::vector<Index> rows;
  for (Index row = 0; row < labels.values.size(); ++row) {
    rows.push_back(row);
  }
  return *OutputCoding::FromLabels(labels, rows, CodingChoice::kAuto, RunContext());
}

TEST(BaselineTest, AnswersTheMostFrequentClassOfTheTrainingRows) {
  const RoleColumn training = Numbers({1, 1, 1, 2, 2, 3});
  const RoleColumn labels = Numbers({1, 2, 2, 2});
  const std::vector<Metric> metrics =
      EvaluateConstant(CodingOf(training), training, nullptr, labels, RunContext()).value();
  EXPECT_EQ(Value(metrics, "accuracy"), 0.25);
  EXPECT_EQ(Value(metrics, "balanced_accuracy"), 0.5);  // one of two classes is always right
  EXPECT_TRUE(std::isnan(Value(metrics, "auc")));
}

TEST(BaselineTest, RowsCountByTheirWeights) {
  const RoleColumn training = Numbers({1, 1, 1, 2});
  const Vector weights = (Vector(4) << 1, 1, 1, 4).finished();
  const RoleColumn labels = Numbers({1, 2, 2, 2});
  EXPECT_EQ(
      Value(EvaluateConstant(CodingOf(training), training, &weights, labels, RunContext()).value(),
            "accuracy"),
      0.75);
  const std::vector<Metric> numbers =
      EvaluateConstant(OutputCoding::Regression(), training, &weights, labels, RunContext())
          .value();
  const double mean = (1 + 1 + 1 + 4 * 2) / 7.0;
  EXPECT_NEAR(Value(numbers, "rmse"),
              std::sqrt((std::pow(1 - mean, 2) + 3 * std::pow(2 - mean, 2)) / 4), 1e-15);
}

TEST(BaselineTest, TheMeanOfTheRowsItselfHasAnR2OfZero) {
  const RoleColumn target = Numbers({1, 2, 4, 9});
  EXPECT_NEAR(
      Value(EvaluateConstant(OutputCoding::Regression(), target, nullptr, target, RunContext())
                .value(),
            "r2"),
      0, 1e-15);
}

TEST(BaselineTest, StandsBesideTheMetricsOfEveryValidation) {
  for (const TargetKind kind : {TargetKind::kClassification, TargetKind::kRegression}) {
    const Dataset data = kind == TargetKind::kRegression ? RegressionData(80, 2, 1)
                                                         : ClassificationData(80, 2, 2, 1);
    TrainingRecipe recipe = ExampleRecipe(kind);
    const std::string score = kind == TargetKind::kRegression ? "rmse" : "accuracy";
    for (const auto& [validation, prefix] :
         {std::pair(ValidationKind::kHoldOut, std::string("held_out.")),
          std::pair(ValidationKind::kFolds, std::string("folds."))}) {
      recipe.validation.kind = validation;
      const auto model = ExampleModel(recipe, data);
      const std::map<std::string, double> metrics = MetricsOf(*model);
      ASSERT_TRUE(metrics.contains(prefix + "baseline." + score)) << prefix << score;
      EXPECT_NE(metrics.at(prefix + "baseline." + score), metrics.at(prefix + score));
      EXPECT_EQ(model->metrics[0].name.find("baseline"), std::string::npos);
    }
  }
}

TEST(BaselineTest, APathTellsItOnce) {
  TrainingRecipe recipe = ExampleRecipe();
  recipe.validation.kind = ValidationKind::kFolds;
  recipe.path = OptionPath{"C", {0.1, 1.0}};
  const std::map<std::string, double> metrics =
      MetricsOf(*ExampleModel(recipe, ClassificationData(60, 2, 2, 1)));
  EXPECT_TRUE(metrics.contains("folds.baseline.accuracy"));
  EXPECT_TRUE(metrics.contains("path.1.accuracy"));
  EXPECT_FALSE(metrics.contains("path.1.baseline.accuracy"));
}

std::vector<WarningCode> CodesOf(const std::vector<TrainingWarning>& warnings) {
  std::vector<WarningCode> codes;
  for (const TrainingWarning& warning : warnings) {
    codes.push_back(warning.code);
  }
  return codes;
}

TEST(WarningsTest, AModelWithoutFaultsHasNone) {
  EXPECT_TRUE(FindWarnings(ExampleRecipe(), ClassificationData(60, 2, 2, 1), Model()).empty());
}

TEST(WarningsTest, ScoresWorseThanTheBaselineAreTold) {
  const Dataset data = ClassificationData(60, 2, 2, 1);
  Model model;
  model.metrics = {{"held_out.accuracy", 0.636}, {"held_out.baseline.accuracy", 0.7}};
  const std::vector<TrainingWarning> warnings = FindWarnings(ExampleRecipe(), data, model);
  ASSERT_EQ(CodesOf(warnings), std::vector<WarningCode>{WarningCode::kBelowBaseline});
  EXPECT_EQ(
      warnings[0].message,
      "On the rows held out the accuracy is 0.636, worse than the 0.7 of always answering the "
      "most frequent class.");
  EXPECT_EQ(warnings[0].values.at("metric"), "held_out.accuracy");
  model.metrics = {{"folds.rmse", 3.0}, {"folds.baseline.rmse", 2.0}};
  EXPECT_EQ(FindWarnings(ExampleRecipe(), data, model).size(), 1u);
  model.metrics = {{"folds.rmse", 1.0},
                   {"folds.baseline.rmse", 2.0},
                   {"held_out.accuracy", 0.7},
                   {"held_out.baseline.accuracy", 0.7}};
  EXPECT_TRUE(FindWarnings(ExampleRecipe(), data, model).empty());
}

TEST(WarningsTest, LimitsAndGapsAreTold) {
  const Dataset data = ClassificationData(60, 2, 2, 1);
  Model model;
  model.metrics = {{"limit_reached.max_groups", 50}};
  model.stop_reason = StopReason::kTimeLimit;
  model.certificate.kind = CertificateKind::kGap;
  model.certificate.accuracy = 0.05;
  const std::vector<TrainingWarning> warnings = FindWarnings(ExampleRecipe(), data, model);
  ASSERT_EQ(CodesOf(warnings),
            (std::vector<WarningCode>{WarningCode::kLimitReached, WarningCode::kGapNotReached}));
  EXPECT_EQ(warnings[0].values.at("option"), "max_groups");
  EXPECT_EQ(warnings[0].values.at("limit"), "50");
  EXPECT_EQ(warnings[1].values.at("gap"), "0.05");
  EXPECT_EQ(warnings[1].values.at("stop_reason"), "TIME_LIMIT");
}

// 60 rows whose first feature is as given.
Dataset WithColumn(const std::string& name, const std::function<double(Index)>& value) {
  Dataset data = ClassificationData(60, 2, 2, 1);
  RowMatrix values = data.blocks[0].values.view();
  for (Index row = 0; row < values.rows(); ++row) {
    values(row, 0) = value(row);
  }
  data.blocks[0].values = SharedMatrix(std::move(values));
  data.blocks[0].columns.resize(2);
  data.blocks[0].columns[0].name = name;
  return data;
}

std::vector<TrainingWarning> WarningsOf(const Dataset& data) {
  return FindWarnings(ExampleRecipe(), data, Model());
}

TEST(WarningsTest, ColumnsThatNumberTheRowsAreTold) {
  const auto in_order = [](Index row) { return 1000.0 + 3.0 * static_cast<double>(row); };
  const auto shuffled = [](Index row) { return static_cast<double>(row * 7 % 60); };
  const auto scattered = [](Index row) { return static_cast<double>(row * 7919 % 100'003); };
  EXPECT_EQ(CodesOf(WarningsOf(WithColumn("number", in_order))),
            std::vector<WarningCode>{WarningCode::kIdentifierColumn});
  EXPECT_EQ(WarningsOf(WithColumn("number", shuffled)).size(), 1u);
  EXPECT_EQ(WarningsOf(WithColumn("patient_id", scattered)).size(), 1u);
  EXPECT_EQ(WarningsOf(WithColumn("patient_id", scattered))[0].values.at("column"), "patient_id");
  EXPECT_TRUE(WarningsOf(WithColumn("income", scattered)).empty());
  EXPECT_TRUE(WarningsOf(WithColumn("id", [](Index row) {
                return static_cast<double>(row % 30);
              })).empty());
  EXPECT_TRUE(WarningsOf(WithColumn("id", [](Index row) {
                return 0.5 * static_cast<double>(row);
              })).empty());
}

TEST(WarningsTest, TextsOfTheirOwnInEveryRowAreTold) {
  Dataset data = ClassificationData(60, 2, 2, 1);
  std::vector<std::string> names;
  for (int i = 0; i < 60; ++i) {
    names.push_back("name" + std::to_string(i));
  }
  AddColours(data, names);
  ASSERT_EQ(WarningsOf(data).size(), 1u);
  EXPECT_EQ(WarningsOf(data)[0].message,
            "Column 'colour' looks like an identifier of the rows: it was trained on, but nothing "
            "is learned from it for others; upload it as ignored.");
  Dataset few = ClassificationData(60, 2, 2, 1);
  AddColours(few, {"red", "blue"});
  EXPECT_TRUE(WarningsOf(few).empty());
}

std::vector<TrainingWarning> DataWarnings(const TrainingRecipe& recipe, const Dataset& data,
                                          const RoleColumn& target) {
  return *FindDataWarnings(recipe, data, target, RunContext());
}

TEST(DataWarningsTest, NumbersAndDatesThatWereReadAsTextsAreTold) {
  TrainingRecipe recipe = ExampleRecipe();
  for (const auto& [texts, says] :
       {std::pair(std::vector<std::string>{"0,5", "1,5", "2"},
                  "Column 'colour' holds numbers with a comma, which are read as texts: each of 3 "
                  "is a category of its own; write them with a point."),
        std::pair(std::vector<std::string>{"1,250", "12,300", "980"},
                  "Column 'colour' holds numbers with a comma, which are read as texts: each of 3 "
                  "is a category of its own; write them without the comma if it groups thousands, "
                  "with a point if it does not."),
        std::pair(std::vector<std::string>{"2024-01-31", "2024-02-01", "2024-02-02"},
                  "Column 'colour' holds dates, which are read as texts: each of 3 is a category "
                  "of its own; write them as numbers, as days since the first, or upload the "
                  "column as ignored.")}) {
    Dataset data = ClassificationData(60, 2, 2, 1);
    AddColours(data, texts);
    const std::vector<TrainingWarning> warnings = DataWarnings(recipe, data, data.role_columns[0]);
    ASSERT_EQ(CodesOf(warnings), std::vector<WarningCode>{WarningCode::kTextColumn});
    EXPECT_EQ(warnings[0].message, says);
    EXPECT_EQ(warnings[0].values.at("column"), "colour");
    EXPECT_EQ(warnings[0].values.at("different_values"), "3");
    data.role_columns[0].schema = {"label", true, texts};
    EXPECT_NE(DataWarnings(recipe, data, data.role_columns[0])[0].message.find("is a class of its"),
              std::string::npos);
    // Columns that are not trained on say nothing.
    recipe.preprocessing.blocks = {"another"};
    EXPECT_EQ(DataWarnings(recipe, data, data.role_columns[0]).size(), 1u) << "the target";
    recipe.preprocessing.blocks.clear();
  }
}

// The message about a column of 60 rows with these texts, `before`0`after` to `before`59`after`.
std::string MessageAbout(const std::string& before, const std::string& after, bool some_unknown) {
  Dataset data = ClassificationData(60, 2, 2, 1);
  std::vector<std::string> texts;
  for (int i = 0; i < 60; ++i) {
    texts.push_back(some_unknown && i % 20 == 0
                        ? "unknown" + std::string(static_cast<size_t>(i), '?')
                        : before + std::to_string(i) + after);
  }
  AddColours(data, texts);
  const auto warnings = DataWarnings(ExampleRecipe(), data, data.role_columns[0]);
  EXPECT_EQ(CodesOf(warnings), std::vector<WarningCode>{WarningCode::kTextColumn});
  EXPECT_TRUE(WarningsOf(data).empty()) << "told once";
  return warnings.empty() ? "" : warnings[0].message;
}

TEST(DataWarningsTest, TextsWithUnitsBesideNumbersAndOfManyWordsAreTold) {
  EXPECT_EQ(MessageAbout("", " %", false),
            "Column 'colour' holds numbers with a unit, which are read as texts: each of 60 is a "
            "category of its own; write them without the unit.");
  EXPECT_EQ(MessageAbout("", "", true),
            "Column 'colour' holds numbers beside other texts, which are read as texts: each of 60 "
            "is a category of its own; leave the cells of the others empty.");
  EXPECT_EQ(MessageAbout("complaint number ", " of a customer", false),
            "Column 'colour' holds sentences, which are read as texts: each of 60 is a category of "
            "its own; make numbers of them, as counts of words, or upload the column as ignored.");
}

TEST(DataWarningsTest, ClassesOfVeryFewRowsAreTold) {
  const TrainingRecipe recipe = ExampleRecipe();
  Dataset data = ClassificationData(60, 2, 2, 1);
  RoleColumn& target = data.role_columns[0];
  target.schema = {"label", true, {"common", "other", "rare", "once"}};
  target.values.head(4).setConstant(2);
  EXPECT_EQ(DataWarnings(recipe, data, target)[0].message,
            "1 of 3 classes has fewer than 5 rows, among them 'rare': too few to learn them, or "
            "to measure how well.");
  target.values(4) = 3;
  const std::vector<TrainingWarning> both = DataWarnings(recipe, data, target);
  ASSERT_EQ(CodesOf(both), std::vector<WarningCode>{WarningCode::kRareClasses});
  EXPECT_EQ(both[0].values.at("classes"), "4");
  EXPECT_EQ(both[0].values.at("rare_classes"), "2");
  target.values(4) = 2;
  EXPECT_TRUE(DataWarnings(recipe, data, target).empty()) << "five rows";
  // A class that is a number is called as the model calls it.
  target.schema = {"label", false, {}};
  target.values.head(4).setConstant(1234567);
  target.values(4) = 0;
  EXPECT_NE(DataWarnings(recipe, data, target)[0].message.find("among them '1234567'"),
            std::string::npos);
  // Numbers have no classes, and an example of few rows has small ones.
  target.values(0) = 3;
  EXPECT_TRUE(DataWarnings(ExampleRecipe(TargetKind::kRegression), data, target).empty());
  Dataset few = ClassificationData(8, 2, 2, 1);
  EXPECT_TRUE(DataWarnings(recipe, few, few.role_columns[0]).empty());
}

TEST(DataWarningsTest, TwoClassesOfWhichOneHasNearlyAllRowsAreTold) {
  TrainingRecipe recipe = ExampleRecipe();
  Dataset data = ClassificationData(201, 2, 2, 1);
  RoleColumn& target = data.role_columns[0];
  target.schema = {"sick", true, {"no", "yes"}};
  const auto with = [&](Index few) {
    target.values.setZero();
    target.values.head(few).setOnes();
    return DataWarnings(recipe, data, target);
  };
  const std::vector<TrainingWarning> warnings = with(5);
  ASSERT_EQ(CodesOf(warnings), std::vector<WarningCode>{WarningCode::kUnbalancedClasses});
  EXPECT_EQ(warnings[0].message,
            "Class 'yes' has 5 of 201 rows: whoever always answers 'no' is right in all but 5. "
            "Balanced class weights (--class-weights balanced on the command line, "
            "class_weight='balanced' in Python) make both classes count the same.");
  EXPECT_EQ(warnings[0].values, (std::map<std::string, std::string>{
                                    {"class", "yes"}, {"class_rows", "5"}, {"rows", "201"}}));
  EXPECT_EQ(CodesOf(with(1)),
            (std::vector<WarningCode>{WarningCode::kRareClasses, WarningCode::kUnbalancedClasses}));
  EXPECT_EQ(with(10).size(), 1u);
  EXPECT_TRUE(with(11).empty());
  EXPECT_EQ(with(201 - 5)[0].values.at("class"), "no");
  // Who weighs classes or rows has thought of it.
  recipe.class_weighting = ClassWeighting::kBalanced;
  EXPECT_TRUE(with(5).empty());
  recipe.class_weighting = ClassWeighting::kNone;
  data.role_columns.push_back({ColumnRole::kWeight, {"w", false, {}}, Vector::Ones(201)});
  EXPECT_TRUE(DataWarnings(recipe, data, data.role_columns[0]).empty());
}

TEST(DataWarningsTest, CategoriesThatDifferInBlanksOrCapitalsAreTold) {
  Dataset data = ClassificationData(60, 2, 2, 1);
  AddColours(data, {"red", "blue", "Red ", "BLUE"});
  const std::vector<TrainingWarning> warnings =
      DataWarnings(ExampleRecipe(), data, data.role_columns[0]);
  ASSERT_EQ(CodesOf(warnings), std::vector<WarningCode>{WarningCode::kSimilarCategories});
  EXPECT_EQ(warnings[0].message,
            "Column 'colour' has the categories 'red' and 'Red ', which differ only in blanks or "
            "capitals, and are two for the model; write them alike if they are one.");
  EXPECT_EQ(warnings[0].values.at("second"), "Red ");
  RoleColumn target = data.role_columns[0];
  target.schema = {"y", true, {"A", " a"}};
  EXPECT_NE(DataWarnings(ExampleRecipe(), data, target)[0].message.find("the classes 'A' and ' a'"),
            std::string::npos);
}

TEST(WarningsTest, AColumnWithoutAKernelOfItsOwnIsNamed) {
  Dataset data = ClassificationData(60, 3, 2, 1);
  RowMatrix values = data.blocks[0].values.view();
  values.col(1).setConstant(4.0);
  data.blocks[0].values = SharedMatrix(std::move(values));
  TrainingRecipe recipe = ExampleRecipe();
  recipe.kernels[1].per_column = true;
  EXPECT_TRUE(FindWarnings(recipe, data, Model()).empty());
  recipe.kernels[1].rule = BandwidthRule::kMedianMultiples;
  const std::vector<TrainingWarning> warnings = FindWarnings(recipe, data, Model());
  ASSERT_EQ(CodesOf(warnings), std::vector<WarningCode>{WarningCode::kConstantColumn});
  EXPECT_EQ(warnings[0].values.at("column"), data.blocks[0].columns[1].name);
  EXPECT_TRUE(TrainExample(recipe, data).ok());
}

}  // namespace
}  // namespace mercer
