// Linear machines on the first columns of a ranking.
#include "core/training/run/ranking_tester.h"

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/learners/registry.h"
#include "core/training/recipe/recipe_checks.h"
#include "tests/core/training/trained_models.h"
#include "tests/support/field_violation.h"
#include "tests/support/toy_data.h"

namespace mercer {
namespace {

using ::testing::ElementsAre;

TrainingRecipe Ranks(const std::string& learner) {
  TrainingRecipe recipe;
  recipe.learner = learner;
  recipe.validation.kind = ValidationKind::kHoldOut;
  recipe.ranking_test = RankingTestOptions();
  recipe.seed = 3;
  if (learner == "coordinate_gradients") {
    KernelGrid linear;
    linear.prototype.type = KernelType::kLinear;
    recipe.kernels = {linear};
  }
  return recipe;
}

absl::StatusOr<TrainedModel> TrainRanking(const TrainingRecipe& recipe, const Dataset& data) {
  RunContext context;
  RecordingObserver observer;
  return RunRecipe({FindLearner(recipe.learner), &recipe, &data, "digest", "version"}, {}, context,
                   observer);
}

const ModelTable* TableNamed(const Model& model, const std::string& name) {
  const std::vector<ModelTable>& tables = model.summary.tables;
  const auto found = std::find_if(tables.begin(), tables.end(),
                                  [&](const ModelTable& table) { return table.name == name; });
  return found == tables.end() ? nullptr : &*found;
}

double EntryOf(const ModelTable& table, size_t row, const std::string& column) {
  const auto found = std::find(table.columns.begin(), table.columns.end(), column);
  EXPECT_NE(found, table.columns.end()) << column;
  return found == table.columns.end()
             ? kInfinity
             : table.values(static_cast<Index>(row), found - table.columns.begin());
}

// The columns of `data` that a ranking has first, in the order of the data.
Dataset FirstColumns(const Dataset& data, const ModelTable& ranking, Index count) {
  std::vector<Index> columns;
  for (Index place = 0; place < count; ++place) {
    columns.push_back(static_cast<Index>(EntryOf(ranking, static_cast<size_t>(place), "column")) -
                      1);
  }
  std::sort(columns.begin(), columns.end());
  Dataset narrow = data;
  FeatureBlock& block = narrow.blocks[0];
  block.columns.clear();
  for (const Index column : columns) {
    block.columns.push_back(data.blocks[0].columns[static_cast<size_t>(column)]);
  }
  block.values = SharedMatrix(RowMatrix(data.blocks[0].values.view()(Eigen::all, columns)));
  return narrow;
}

// Another program path: the learner `svm` on a data set of these columns alone.
TEST(RankingTesterTest, ScoresAreThoseOfTheLearnerSvmOnTheseColumns) {
  for (const std::string learner : {"svm_rfe", "coordinate_gradients"}) {
    const Dataset data = ClassificationData(120, 7, 2, 5);
    TrainingRecipe recipe = Ranks(learner);
    recipe.ranking_test->C = 10;
    const absl::StatusOr<TrainedModel> trained = TrainRanking(recipe, data);
    ASSERT_TRUE(trained.ok()) << trained.status();
    const ModelTable* test = TableNamed(trained->model, kRankingTestTable);
    const ModelTable* ranking = TableNamed(trained->model, kRankingTable);
    ASSERT_TRUE(test != nullptr && ranking != nullptr);
    EXPECT_THAT(test->rows, ElementsAre("1", "2", "4", "7"));
    for (size_t row = 0; row < test->rows.size(); ++row) {
      EXPECT_LE(EntryOf(*test, row, "relative_gap"), 1e-6);
      const Dataset narrow = FirstColumns(data, *ranking, std::stol(test->rows[row]));
      TrainingRecipe svm;
      svm.learner = "svm";
      svm.options["C"] = 10.0;
      KernelGrid linear;
      linear.prototype.type = KernelType::kLinear;
      svm.kernels = {linear};
      svm.validation = recipe.validation;
      svm.limits.relative_gap = 1e-6;
      svm.seed = recipe.seed;
      const absl::StatusOr<TrainedModel> peer = TrainRanking(svm, narrow);
      ASSERT_TRUE(peer.ok()) << peer.status();
      EXPECT_NEAR(EntryOf(*test, row, "accuracy"), MetricsOf(peer->model)["held_out.accuracy"],
                  1e-12)
          << learner << ", " << test->rows[row];
      EXPECT_NEAR(EntryOf(*test, row, "auc"), MetricsOf(peer->model)["held_out.auc"], 1e-12);
    }
  }
}

// One column is the class, all others are noise.
TEST(RankingTesterTest, OneColumnThatTellsTheClassesSuffices) {
  Dataset data = ClassificationData(60, 6, 2, 8);
  RowMatrix values = data.blocks[0].values.view();
  for (Index i = 0; i < values.rows(); ++i) {
    values(i, 4) = data.role_columns[0].values(i) > 0 ? 1 : -1;
  }
  data.blocks[0].values = SharedMatrix(std::move(values));
  TrainingRecipe recipe = Ranks("svm_rfe");
  recipe.ranking_test->columns = {2, 1, 2};
  recipe.validation.kind = ValidationKind::kFolds;
  const absl::StatusOr<TrainedModel> trained = TrainRanking(recipe, data);
  ASSERT_TRUE(trained.ok()) << trained.status();
  const ModelTable* test = TableNamed(trained->model, kRankingTestTable);
  ASSERT_NE(test, nullptr);
  EXPECT_THAT(test->rows, ElementsAre("1", "2"));
  EXPECT_EQ(EntryOf(*test, 0, "accuracy"), 1);
  EXPECT_EQ(EntryOf(*test, 0, std::string("accuracy") + kDeviationSuffix), 0);
}

TEST(RankingTesterTest, OutputsWithRankingsOfTheirOwnHaveMachinesOfTheirOwnColumns) {
  const Dataset data = ClassificationData(90, 5, 3, 4);
  for (const CodingChoice coding : {CodingChoice::kOneVsAll, CodingChoice::kOneVsOne}) {
    TrainingRecipe recipe = Ranks("coordinate_gradients");
    recipe.coding = coding;
    const absl::StatusOr<TrainedModel> trained = TrainRanking(recipe, data);
    ASSERT_TRUE(trained.ok()) << trained.status();
    ASSERT_NE(TableNamed(trained->model, "ranking.3"), nullptr);
    const ModelTable* test = TableNamed(trained->model, kRankingTestTable);
    ASSERT_NE(test, nullptr);
    EXPECT_THAT(test->rows, ElementsAre("1", "2", "4", "5"));
    // With all columns the rankings do not matter.
    const absl::StatusOr<TrainedModel> other = [&] {
      TrainingRecipe rfe = Ranks("svm_rfe");
      rfe.coding = coding;
      return TrainRanking(rfe, data);
    }();
    ASSERT_TRUE(other.ok()) << other.status();
    const ModelTable* of_other = TableNamed(other->model, kRankingTestTable);
    ASSERT_NE(of_other, nullptr);
    EXPECT_EQ(EntryOf(*test, 3, "accuracy"), EntryOf(*of_other, 3, "accuracy"));
  }
}

TEST(RankingTesterTest, TheModelIsThatOfARunWithoutItAndCheckpointsLeadToTheSameBits) {
  const Dataset data = ClassificationData(48, 4, 2, 1);
  TrainingRecipe recipe = Ranks("coordinate_gradients");
  recipe.options["method"] = std::string("alternation");
  recipe.validation.kind = ValidationKind::kFolds;
  recipe.validation.folds = 3;
  recipe.path = OptionPath{"C", {0.1, 10.0}};
  const absl::StatusOr<TrainedModel> with = TrainRanking(recipe, data);
  const RecipeRun run{FindLearner(recipe.learner), &recipe, &data, "digest", "version"};
  ExpectSameBitsFromEveryCheckpoint(run);
  recipe.ranking_test.reset();
  const absl::StatusOr<TrainedModel> without = TrainRanking(recipe, data);
  ASSERT_TRUE(with.ok() && without.ok()) << with.status() << without.status();
  EXPECT_EQ(SaveWitness(with->witness), SaveWitness(without->witness));
  EXPECT_EQ(MetricsOf(with->model), MetricsOf(without->model));
  EXPECT_EQ(TableNamed(without->model, kRankingTestTable), nullptr);
}

TEST(RankingTesterTest, NamesWhatIsWrong) {
  const auto violation = [](const TrainingRecipe& recipe, const std::string& field) {
    return Violation(ValidateRecipe(*FindLearner(recipe.learner), recipe), field);
  };
  TrainingRecipe recipe = Ranks("svm_rfe");
  EXPECT_TRUE(ValidateRecipe(*FindLearner("svm_rfe"), recipe).ok());
  recipe.ranking_test->columns = {1, 0};
  EXPECT_EQ(violation(recipe, "ranking_test.columns[1]"), "must be >= 1, is 0");
  recipe.ranking_test = RankingTestOptions{{}, 0};
  EXPECT_NE(violation(recipe, "ranking_test.C"), "");
  recipe.ranking_test = RankingTestOptions();
  recipe.validation.kind = ValidationKind::kNone;
  EXPECT_NE(violation(recipe, "validation"), "");
  recipe = Ranks("coordinate_gradients");
  recipe.kind = TargetKind::kRegression;
  EXPECT_NE(violation(recipe, "ranking_test"), "");
  recipe = Ranks("svm");
  EXPECT_EQ(violation(recipe, "ranking_test"), "learner 'svm' makes no ranking of columns");
}

TEST(RankingTesterTest, MoreColumnsThanThereAreAreRefusedBeforeATraining) {
  const Dataset data = ClassificationData(40, 3, 2, 1);
  TrainingRecipe recipe = Ranks("svm_rfe");
  recipe.ranking_test->columns = {3, 4};
  EXPECT_EQ(Violation(CheckNamedColumns(recipe, data), "ranking_test.columns[1]"),
            "is 4; the data have 3 columns");
}

// A run that is stopped has no test of what was under way.
TEST(RankingTesterTest, AStopEndsTheTest) {
  const Dataset data = ClassificationData(60, 4, 2, 1);
  TrainingRecipe recipe = Ranks("svm_rfe");
  RunContext context;
  RecordingObserver observer;
  observer.stop_after = 1;
  const absl::StatusOr<TrainedModel> stopped = RunRecipe(
      {FindLearner("svm_rfe"), &recipe, &data, "digest", "version"}, {}, context, observer);
  ASSERT_TRUE(stopped.ok()) << stopped.status();
  EXPECT_EQ(TableNamed(stopped->model, kRankingTestTable), nullptr);
  EXPECT_EQ(MetricsOf(stopped->model)["left_out.ranking_test"], 1);
}

TEST(RankingTesterTest, EstimatesCountIt) {
  const Dataset data = ClassificationData(400, 300, 2, 1);
  RunningConditions conditions;
  for (size_t i = 0; i < kNumWorkKinds; ++i) {
    conditions.rates[static_cast<WorkKind>(i)] = 1e-9;
  }
  TrainingRecipe recipe = Ranks("svm_rfe");
  const LearnerEntry& entry = *FindLearner("svm_rfe");
  const auto seconds = [&] {
    return EstimateRecipeSeconds(entry, recipe, data, conditions, RunContext()).value();
  };
  const double with = seconds();
  recipe.ranking_test.reset();
  EXPECT_GT(with, seconds());
}

}  // namespace
}  // namespace mercer
