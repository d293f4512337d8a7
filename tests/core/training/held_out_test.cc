// What is kept of predictions for rows that were not trained on.
#include "core/training/model/held_out.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

#include "absl/strings/str_cat.h"
#include <gtest/gtest.h>

#include "core/data/metrics/weighted_metrics.h"
#include "core/training/encoding/encoding.h"
#include "core/training/recipe/recipe_progress.h"
#include "tests/core/training/trained_models.h"
#include "tests/support/toy_data.h"

namespace mercer {
namespace {

struct Scored {
  std::vector<double> values;
  std::vector<bool> positive;
};

// Values of positive rows are larger by one on average; with `steps` > 0 many are equal.
Scored MakeScored(size_t rows, double steps, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<double> normal;
  Scored scored;
  for (size_t row = 0; row < rows; ++row) {
    scored.positive.push_back(random() % 3 == 0);
    const double value = normal(random) + (scored.positive.back() ? 1 : 0);
    scored.values.push_back(steps > 0 ? std::round(value * steps) / steps : value);
  }
  return scored;
}

double ShareAbove(const Scored& scored, double threshold, bool positive) {
  double above = 0;
  double all = 0;
  for (size_t row = 0; row < scored.values.size(); ++row) {
    if (scored.positive[row] == positive) {
      ++all;
      above += scored.values[row] >= threshold ? 1 : 0;
    }
  }
  return above / all;
}

TEST(ClassCurveTest, PointsAreTheSharesOfRowsAboveTheirThresholds) {
  for (const double steps : {0.0, 4.0}) {
    const Scored scored = MakeScored(600, steps, 1);
    const ClassCurve curve = MakeClassCurve(scored.values, scored.positive);
    ASSERT_GT(curve.thresholds.size(), 5u);
    for (size_t i = 0; i < curve.thresholds.size(); ++i) {
      const double threshold = curve.thresholds[i];
      EXPECT_TRUE(i == 0 || threshold < curve.thresholds[i - 1]);
      const double recall = ShareAbove(scored, threshold, true);
      const double fall_out = ShareAbove(scored, threshold, false);
      EXPECT_DOUBLE_EQ(curve.true_positive_rates[i], recall);
      EXPECT_DOUBLE_EQ(curve.false_positive_rates[i], fall_out);
      const double hits = recall * static_cast<double>(curve.positives);
      const double misses = fall_out * static_cast<double>(curve.negatives);
      EXPECT_NEAR(curve.precisions[i], hits / (hits + misses), 1e-12);
    }
    EXPECT_EQ(curve.true_positive_rates.back(), 1);
    EXPECT_EQ(curve.false_positive_rates.back(), 1);
  }
}

TEST(ClassCurveTest, AreasAreThoseOfAllThresholds) {
  for (const double steps : {0.0, 4.0}) {
    const Scored scored = MakeScored(500, steps, 2);
    const ClassCurve curve = MakeClassCurve(scored.values, scored.positive);
    const Vector values =
        Eigen::Map<const Vector>(scored.values.data(), static_cast<Index>(scored.values.size()));
    EXPECT_NEAR(curve.area_under_roc,
                WeightedAreaUnderRoc(values, scored.positive, nullptr, RunContext()).value(),
                1e-12);
    // By the definition: for each value as the threshold, from above.
    std::vector<double> thresholds = scored.values;
    std::sort(thresholds.rbegin(), thresholds.rend());
    thresholds.erase(std::unique(thresholds.begin(), thresholds.end()), thresholds.end());
    double expected = 0;
    double recall_before = 0;
    for (const double threshold : thresholds) {
      const double recall = ShareAbove(scored, threshold, true);
      const double hits = recall * static_cast<double>(curve.positives);
      const double misses =
          ShareAbove(scored, threshold, false) * static_cast<double>(curve.negatives);
      expected += (recall - recall_before) * hits / (hits + misses);
      recall_before = recall;
    }
    EXPECT_NEAR(curve.average_precision, expected, 1e-12);
  }
}

TEST(ClassCurveTest, FewPointsKeepTheShapeOfManyRows) {
  const Scored scored = MakeScored(50'000, 0, 3);
  const ClassCurve curve = MakeClassCurve(scored.values, scored.positive);
  EXPECT_LE(curve.thresholds.size(), ClassCurve::kMaxPoints);
  EXPECT_GT(curve.thresholds.size(), 150u);
  double area = 0;
  double x = 0;
  double y = 0;
  for (size_t i = 0; i < curve.thresholds.size(); ++i) {
    area += (curve.false_positive_rates[i] - x) * (curve.true_positive_rates[i] + y) / 2;
    x = curve.false_positive_rates[i];
    y = curve.true_positive_rates[i];
  }
  EXPECT_NEAR(area, curve.area_under_roc, 1e-3);
}

TEST(ResidualsTest, EveryRowIsInItsInterval) {
  std::mt19937 random(4);
  std::normal_distribution<double> normal;
  std::vector<double> predicted;
  std::vector<double> actual;
  for (int row = 0; row < 1700; ++row) {
    predicted.push_back(1e6 * normal(random));
    actual.push_back(predicted.back() + normal(random));
  }
  const Residuals residuals = MakeResiduals(predicted, actual);
  ASSERT_EQ(residuals.bounds.size(), Residuals::kIntervals + 1);
  EXPECT_EQ(residuals.bounds.front(), -residuals.bounds.back());
  for (size_t i = 0; i < Residuals::kIntervals; ++i) {
    int64_t expected = 0;
    for (size_t row = 0; row < actual.size(); ++row) {
      const double residual = actual[row] - predicted[row];
      const bool is_last = i + 1 == Residuals::kIntervals;
      expected += residual >= residuals.bounds[i] && (residual < residuals.bounds[i + 1] || is_last)
                      ? 1
                      : 0;
    }
    EXPECT_EQ(residuals.counts[i], expected) << i;
  }
  EXPECT_LE(residuals.actual.size(), Residuals::kMaxRows);
  EXPECT_GT(residuals.actual.size(), Residuals::kMaxRows / 2);
  // Kernels of huge values may give no number.
  const Residuals odd = MakeResiduals({std::nan(""), 1.0}, {0.0, 1.5});
  EXPECT_EQ(std::accumulate(odd.counts.begin(), odd.counts.end(), Index{0}), 1);
  const Residuals none = MakeResiduals({1.0, 2.0}, {1.0, 2.0});
  EXPECT_EQ(none.counts[Residuals::kIntervals / 2], 2);
}

int64_t Diagonal(const ConfusionMatrix& confusion) {
  int64_t sum = 0;
  for (size_t c = 0; c < confusion.classes.size(); ++c) {
    sum += confusion.counts[c * confusion.classes.size() + c];
  }
  return sum;
}

int64_t Total(const std::vector<int64_t>& counts) {
  int64_t sum = 0;
  for (const int64_t count : counts) {
    sum += count;
  }
  return sum;
}

// Three classes with names.
Dataset ThreeClouds(Index rows) {
  Dataset data = ClassificationData(rows, 2, 3, 3);
  data.role_columns[0].schema = {"label", true, {"low", "middle", "high"}};
  return data;
}

TEST(HeldOutTest, RowsHeldOutAreCountedAsTheMetricsCountThem) {
  for (const CodingChoice coding : {CodingChoice::kOneVsAll, CodingChoice::kOneVsOne}) {
    TrainingRecipe recipe = ExampleRecipe();
    recipe.coding = coding;
    recipe.validation.kind = ValidationKind::kHoldOut;
    recipe.validation.fraction = 0.3;
    const std::shared_ptr<const Model> model = ExampleModel(recipe, ThreeClouds(150));
    const HeldOut& held_out = model->held_out;
    EXPECT_EQ(held_out.folds, 0);
    EXPECT_EQ(held_out.sampled_rows, held_out.rows);
    EXPECT_EQ(held_out.confusion.classes, (std::vector<std::string>{"high", "low", "middle"}));
    EXPECT_EQ(Total(held_out.confusion.counts), held_out.rows);
    EXPECT_NEAR(
        static_cast<double>(Diagonal(held_out.confusion)) / static_cast<double>(held_out.rows),
        MetricsOf(*model).at("held_out.accuracy"), 1e-12);
    ASSERT_EQ(held_out.curves.size(), 3u);
    for (size_t c = 0; c < 3; ++c) {
      EXPECT_EQ(held_out.curves[c].label, held_out.confusion.classes[c]);
      EXPECT_EQ(held_out.curves[c].positives, held_out.confusion.counts[3 * c] +
                                                  held_out.confusion.counts[3 * c + 1] +
                                                  held_out.confusion.counts[3 * c + 2]);
      EXPECT_GT(held_out.curves[c].area_under_roc, 0.5);
    }
    EXPECT_TRUE(held_out.residuals.bounds.empty());
  }
}

TEST(HeldOutTest, TheCurveOfTwoClassesHasTheAreaOfTheMetric) {
  TrainingRecipe recipe = ExampleRecipe();
  recipe.validation.kind = ValidationKind::kHoldOut;
  const std::shared_ptr<const Model> model = ExampleModel(recipe, ClassificationData(120, 2, 2, 5));
  ASSERT_EQ(model->held_out.curves.size(), 1u);
  EXPECT_EQ(model->held_out.curves[0].label, model->coding.classes()[1]);
  EXPECT_NEAR(model->held_out.curves[0].area_under_roc, MetricsOf(*model).at("held_out.auc"),
              1e-12);
}

TEST(HeldOutTest, FoldsPredictEveryRowOnce) {
  TrainingRecipe recipe = ExampleRecipe();
  recipe.validation.kind = ValidationKind::kFolds;
  recipe.validation.folds = 4;
  Dataset data = ClassificationData(80, 2, 2, 6);
  const std::shared_ptr<const Model> model = ExampleModel(recipe, data);
  const HeldOut& held_out = model->held_out;
  EXPECT_EQ(held_out.rows, 80);
  EXPECT_EQ(held_out.folds, 4);
  // Folds of equal size: the mean of their accuracies is that of all rows.
  EXPECT_NEAR(static_cast<double>(Diagonal(held_out.confusion)) / 80,
              MetricsOf(*model).at("folds.accuracy"), 1e-12);
  const auto spread = std::find_if(held_out.spreads.begin(), held_out.spreads.end(),
                                   [](const auto& one) { return one.name == "folds.accuracy"; });
  ASSERT_NE(spread, held_out.spreads.end());
  EXPECT_EQ(spread->folds, 4);
}

TEST(HeldOutTest, NumbersHaveResiduals) {
  TrainingRecipe recipe = ExampleRecipe(TargetKind::kRegression);
  recipe.validation.kind = ValidationKind::kFolds;
  recipe.validation.folds = 3;
  const std::shared_ptr<const Model> model = ExampleModel(recipe, RegressionData(60, 2, 7));
  const HeldOut& held_out = model->held_out;
  EXPECT_EQ(held_out.rows, 60);
  EXPECT_TRUE(held_out.curves.empty());
  EXPECT_TRUE(held_out.confusion.classes.empty());
  ASSERT_EQ(held_out.residuals.actual.size(), 60u);
  EXPECT_EQ(Total(held_out.residuals.counts), 60);
}

TEST(HeldOutTest, APathKeepsWhatTheFoldsSaidOfItsBestValue) {
  TrainingRecipe recipe = ExampleRecipe();
  recipe.validation.kind = ValidationKind::kFolds;
  recipe.validation.folds = 4;
  recipe.path = OptionPath{"C", {0.001, 1.0}};
  const Dataset data = ClassificationData(80, 2, 2, 6);
  const std::shared_ptr<const Model> model = ExampleModel(recipe, data);
  EXPECT_EQ(model->held_out.rows, 80);
  EXPECT_NEAR(static_cast<double>(Diagonal(model->held_out.confusion)) / 80,
              MetricsOf(*model).at("folds.accuracy"), 1e-12);
  const std::vector<MetricSpread>& spreads = model->held_out.spreads;
  const auto spread = std::find_if(spreads.begin(), spreads.end(), [](const MetricSpread& one) {
    return one.name == "folds.accuracy";
  });
  ASSERT_NE(spread, spreads.end());
  const std::map<std::string, double> metrics = MetricsOf(*model);
  const std::string of_best = absl::StrCat("path.", metrics.at("path.best"), ".accuracy");
  EXPECT_EQ(metrics.at(of_best), metrics.at("folds.accuracy"));
  EXPECT_EQ(metrics.at(absl::StrCat(of_best, kDeviationSuffix)), spread->standard_deviation);
}

TEST(HeldOutTest, EveryCheckpointLeadsToTheSameBits) {
  TrainingRecipe recipe = ExampleRecipe();
  recipe.validation.kind = ValidationKind::kFolds;
  recipe.validation.folds = 2;
  recipe.path = OptionPath{"C", {0.1, 1.0}};
  const Dataset data = ClassificationData(40, 2, 2, 8);
  ExpectSameBitsFromEveryCheckpoint(ExampleRun(recipe, data));
}

TEST(HeldOutTest, AFoldThatDoesNotKnowAClassHasNoValueForIt) {
  const Dataset data = ThreeClouds(9);
  const HeldOutPlan plan = *HeldOutPlan::Make(data.role_columns[0], false, 1, RunContext());
  RoleColumn two = data.role_columns[0];
  const auto coding =
      OutputCoding::FromLabels(two, {0, 1}, CodingChoice::kAuto, RunContext());  // low, middle
  ASSERT_TRUE(coding.ok());
  Prediction prediction;
  prediction.decision_values = Matrix::Zero(3, 1);
  prediction.decision_values << 1.0, -1.0, 2.0;
  prediction.classes = coding->Decide(prediction.decision_values);
  HeldOutRows rows;
  ASSERT_TRUE(plan.Collect(*coding, prediction,
                           {two.role, two.schema, two.values(std::vector<Index>{0, 1, 2})},
                           {0, 1, 2}, RunContext(), rows)
                  .ok());
  EXPECT_TRUE(plan.Fits(rows));
  const HeldOut held_out = plan.Summarize(rows);
  EXPECT_EQ(held_out.rows, 3);
  // low and high are taken for "middle", middle for "low".
  EXPECT_EQ(held_out.confusion.counts, (std::vector<int64_t>{0, 0, 1, 0, 0, 1, 0, 1, 0}));
  ASSERT_EQ(held_out.curves.size(), 2u);
  EXPECT_EQ(held_out.curves[0].label, "low");
  EXPECT_EQ(held_out.curves[0].area_under_roc, 0.5);  // above high, below middle
}

// The bytes of docs/formats/model.md.
TEST(HeldOutTest, SavedFormIsThatOfTheFormat) {
  ByteWriter writer;
  for (const int64_t count : {5, 0, 5}) {  // rows, folds, sampled rows
    writer.WriteInt64(count);
  }
  writer.WriteStrings({"no", "yes"});
  writer.WriteIndices({2, 1, 0, 2});
  writer.WriteUint64(1);  // curves
  writer.WriteString("yes");
  writer.WriteInt64(2);
  writer.WriteInt64(3);
  for (const double value : {0.7, 1.0, 0.5, 0.25}) {  // threshold, the two rates, precision
    writer.WriteDoubles({value});
  }
  writer.WriteDouble(0.9);
  writer.WriteDouble(0.8);
  writer.WriteDoubles({1.5});  // residuals
  writer.WriteDoubles({2.5});
  writer.WriteDoubles({-1.0, 1.0});
  writer.WriteIndices({5});
  writer.WriteUint64(1);  // spreads
  writer.WriteString("folds.accuracy");
  writer.WriteDouble(0.01);
  writer.WriteInt64(5);
  HeldOut held_out;
  ASSERT_TRUE(LoadFields(writer.bytes(), held_out));
  EXPECT_EQ(held_out.confusion.counts, (std::vector<int64_t>{2, 1, 0, 2}));
  EXPECT_EQ(held_out.curves[0].precisions, (std::vector<double>{0.25}));
  EXPECT_EQ(held_out.residuals.counts, (std::vector<int64_t>{5}));
  EXPECT_EQ(held_out.spreads[0].folds, 5);
  EXPECT_EQ(SaveFields(held_out), writer.bytes());
}

TEST(HeldOutTest, RowsBeyondTheLimitAreSampled) {
  const Index rows = 2 * HeldOutPlan::kMaxValues + 1;
  RoleColumn target{ColumnRole::kTarget, {"y", false, {}}, Vector::Zero(rows)};
  std::vector<Index> all(static_cast<size_t>(rows));
  for (Index row = 0; row < rows; ++row) {
    all[static_cast<size_t>(row)] = row;
    target.values(row) = static_cast<double>(row);
  }
  const HeldOutPlan plan = *HeldOutPlan::Make(target, true, 1, RunContext());
  Prediction prediction;
  prediction.decision_values = target.values;
  HeldOutRows collected;
  ASSERT_TRUE(
      plan.Collect(OutputCoding::Regression(), prediction, target, all, RunContext(), collected)
          .ok());
  EXPECT_EQ(collected.rows, rows);
  EXPECT_NEAR(static_cast<double>(collected.truth.size()), static_cast<double>(rows) / 3, 2000);
  EXPECT_EQ(collected.values, collected.truth);
  // Whatever the order of the rows, no kind of them is left out.
  Index even = 0;
  for (const double value : collected.truth) {
    even += static_cast<Index>(value) % 2 == 0 ? 1 : 0;
  }
  EXPECT_NEAR(static_cast<double>(even), static_cast<double>(collected.truth.size()) / 2, 2000);
}

TEST(RecipeProgressTest, SpreadsAreStandardDeviationsOfTheFolds) {
  RecipeProgress progress;
  progress.metrics.resize(1);
  for (const double accuracy : {0.5, 0.75, 1.0}) {
    AddMetrics({{"accuracy", accuracy}}, progress.metrics[0]);
  }
  AddMetrics({{"auc", 0.5}}, progress.metrics[0]);
  std::vector<MetricSpread> spreads;
  progress.AddSpreads(0, "folds.", spreads);
  ASSERT_EQ(spreads.size(), 1u);  // one fold has no spread
  EXPECT_EQ(spreads[0].name, "folds.accuracy");
  EXPECT_DOUBLE_EQ(spreads[0].standard_deviation, 0.25);
  EXPECT_EQ(progress.MeanMetrics(0)[0].value, 0.75);
}

TEST(HeldOutTest, TheModelFileBringsItBack) {
  TrainingRecipe recipe = ExampleRecipe();
  recipe.validation.kind = ValidationKind::kFolds;
  recipe.validation.folds = 2;
  const std::shared_ptr<const Model> model = ExampleModel(recipe, ClassificationData(40, 2, 2, 9));
  const std::string bytes = SaveModel(*model);
  EXPECT_EQ(FormatVersion(bytes), 4u);
  const absl::StatusOr<Model> loaded = LoadModel(bytes);
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  EXPECT_EQ(SaveModel(*loaded), bytes);
  EXPECT_EQ(loaded->held_out.curves[0].thresholds, model->held_out.curves[0].thresholds);
  Model broken = *model;
  broken.held_out.curves[0].precisions.pop_back();
  EXPECT_TRUE(absl::IsDataLoss(LoadModel(SaveModel(broken)).status()));
}

}  // namespace
}  // namespace mercer
