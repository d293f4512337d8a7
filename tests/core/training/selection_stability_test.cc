// Trainings on parts of the rows that tell how stable a selection is.
#include "core/training/run/selection_stability.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/core/training/trained_models.h"
#include "tests/support/field_violation.h"

namespace mercer {
namespace {

using ::testing::ElementsAre;
using ::testing::IsSubsetOf;

// Two tasks of 40 and 20 rows, of which every fourth is of class 1.
struct TwoTasks {
  TrainingProblem problem;
  std::vector<int> classes;
};

TwoTasks MakeTasks() {
  TwoTasks made;
  made.problem.tasks.resize(2);
  for (Index row = 0; row < 60; ++row) {
    made.problem.tasks[row % 3 == 2 ? 1U : 0U].rows.push_back(row);
    made.classes.push_back(row / 3 % 4 == 0 ? 1 : 0);
  }
  for (TaskData& task : made.problem.tasks) {
    const auto rows = static_cast<Index>(task.rows.size());
    task.targets.resize(rows, 1);
    task.costs.resize(rows);
    for (Index i = 0; i < rows; ++i) {
      const Index row = task.rows[static_cast<size_t>(i)];
      task.targets(i, 0) = made.classes[static_cast<size_t>(row)] == 1 ? 1 : -1;
      task.costs(i) = static_cast<double>(row);
    }
  }
  made.problem.seed = 5;
  return made;
}

TEST(SelectionStabilityTest, PartsKeepTheProportionsOfTasksAndClasses) {
  const TwoTasks all = MakeTasks();
  RunContext context;
  std::set<std::vector<Index>> different;
  for (uint64_t number = 0; number < 5; ++number) {
    const absl::StatusOr<TrainingProblem> part =
        DrawPart(all.problem, all.classes, {}, 0.5, number, context);
    ASSERT_TRUE(part.ok()) << part.status();
    EXPECT_EQ(part->tasks[0].rows.size(), 20u);
    EXPECT_EQ(part->tasks[1].rows.size(), 10u);
    EXPECT_LE(std::abs((part->tasks[0].targets.array() > 0).count() - 5), 1);
    for (size_t t = 0; t < 2; ++t) {
      const TaskData& task = part->tasks[t];
      EXPECT_THAT(task.rows, IsSubsetOf(all.problem.tasks[t].rows));
      for (size_t i = 0; i < task.rows.size(); ++i) {
        EXPECT_EQ(task.costs(static_cast<Index>(i)), static_cast<double>(task.rows[i]));
        EXPECT_EQ(task.targets(static_cast<Index>(i), 0) > 0,
                  all.classes[static_cast<size_t>(task.rows[i])] == 1);
      }
    }
    different.insert(part->tasks[0].rows);
    const absl::StatusOr<TrainingProblem> again =
        DrawPart(all.problem, all.classes, {}, 0.5, number, context);
    ASSERT_TRUE(again.ok());
    EXPECT_EQ(again->tasks[0].rows, part->tasks[0].rows);
  }
  EXPECT_EQ(different.size(), 5u);
}

TEST(SelectionStabilityTest, RowsOfAGroupStayTogether) {
  const TwoTasks all = MakeTasks();
  std::vector<int> groups;
  for (int row = 0; row < 60; ++row) {
    groups.push_back(row / 6);
  }
  const absl::StatusOr<TrainingProblem> part =
      DrawPart(all.problem, all.classes, groups, 0.5, 1, RunContext());
  ASSERT_TRUE(part.ok()) << part.status();
  std::vector<int> rows_of(10, 0);
  for (const TaskData& task : part->tasks) {
    for (const Index row : task.rows) {
      ++rows_of[static_cast<size_t>(row / 6)];
    }
  }
  EXPECT_TRUE(std::all_of(rows_of.begin(), rows_of.end(), [](int n) { return n == 0 || n == 6; }));
  EXPECT_EQ(std::count(rows_of.begin(), rows_of.end(), 6), 5);
}

TEST(SelectionStabilityTest, CountsTheTrainingsThatGiveAKernelAWeight) {
  SelectionCounts counts;
  ModelSummary summary;
  summary.kernel_names = {"a", "b", "c"};
  summary.kernel_weights = Matrix::Zero(3, 2);
  summary.kernel_weights(0, 0) = 1;
  counts.Add(summary);
  summary.kernel_weights(2, 1) = 0.1;
  counts.Add(summary);
  ModelSummary other;
  other.kernel_weights = Matrix::Ones(2, 1);
  counts.Add(other);
  const ModelTable table = StabilityTable(counts, {}, summary);
  EXPECT_THAT(table.rows, ElementsAre("a", "b", "c"));
  EXPECT_THAT(std::vector<double>(table.values.data(), table.values.data() + 3),
              ElementsAre(1, 0, 0.5));
}

const ModelTable* FindTable(const Model& model) {
  for (const ModelTable& table : model.summary.tables) {
    if (table.name == kStabilityTable) {
      return &table;
    }
  }
  return nullptr;
}

TEST(SelectionStabilityTest, TheModelIsThatOfARunWithoutIt) {
  const Dataset data = ClassificationData(60, 2, 3, 1);
  for (const ValidationKind kind :
       {ValidationKind::kNone, ValidationKind::kHoldOut, ValidationKind::kFolds}) {
    TrainingRecipe recipe = ExampleRecipe();
    recipe.validation.kind = kind;
    const absl::StatusOr<TrainedModel> without = TrainExample(recipe, data);
    recipe.stability = {.resamples = 4, .fraction = 0.4};
    const absl::StatusOr<TrainedModel> with = TrainExample(recipe, data);
    ASSERT_TRUE(with.ok() && without.ok()) << with.status() << without.status();
    EXPECT_EQ(SaveWitness(with->witness), SaveWitness(without->witness));
    EXPECT_EQ(MetricsOf(with->model), MetricsOf(without->model));
    EXPECT_EQ(FindTable(without->model), nullptr);
    const ModelTable* table = FindTable(with->model);
    ASSERT_NE(table, nullptr);
    EXPECT_EQ(table->rows, with->model.summary.kernel_names);
    EXPECT_THAT(table->title, testing::HasSubstr("share of 4 trainings on 40% of the rows"));
  }
}

TEST(SelectionStabilityTest, EveryCheckpointLeadsToTheSameBits) {
  TrainingRecipe recipe = ExampleRecipe();
  recipe.stability = {.resamples = 3};
  ExpectSameBitsFromEveryCheckpoint(recipe, ClassificationData(36, 2, 3, 1));
  recipe.validation.kind = ValidationKind::kFolds;
  recipe.validation.folds = 2;
  recipe.path = OptionPath{"C", {0.1, 10.0}};
  ExpectSameBitsFromEveryCheckpoint(recipe, ClassificationData(36, 2, 2, 1));
}

// Of a run that is stopped within a part, those before count.
TEST(SelectionStabilityTest, AStoppedRunTellsOfThePartsThatAreThrough) {
  const Dataset data = ClassificationData(60, 2, 2, 1);
  TrainingRecipe recipe = ExampleRecipe();
  recipe.limits.relative_gap = 1e-8;
  recipe.stability = {.resamples = 5};
  RunContext context;
  RecordingObserver all;
  ASSERT_TRUE(RunRecipe(ExampleRun(recipe, data), {}, context, all).ok());
  const auto third = std::find_if(all.events.begin(), all.events.end(),
                                  [](const auto& event) { return event.phase == "part 3 of 5"; });
  ASSERT_NE(third, all.events.end());
  RecordingObserver observer;
  observer.stop_after = static_cast<int>(third - all.events.begin());
  const absl::StatusOr<TrainedModel> stopped =
      RunRecipe(ExampleRun(recipe, data), {}, context, observer);
  ASSERT_TRUE(stopped.ok()) << stopped.status();
  const ModelTable* table = FindTable(stopped->model);
  ASSERT_NE(table, nullptr);
  EXPECT_THAT(table->title, testing::HasSubstr("share of 2 trainings"));
}

TEST(SelectionStabilityTest, NamesWhatIsWrong) {
  const auto violated = [](const StabilityOptions& options, const std::string& field) {
    TrainingRecipe recipe = ExampleRecipe();
    recipe.stability = options;
    EXPECT_NE(Violation(ValidateRecipe(ExampleEntry(), recipe), field), "") << field;
  };
  violated({.resamples = 0}, "stability.resamples");
  violated({.resamples = 1001}, "stability.resamples");
  violated({.fraction = 0}, "stability.fraction");
  violated({.fraction = 1}, "stability.fraction");
  LearnerEntry without = ExampleEntry();
  without.uses_kernels = false;
  TrainingRecipe recipe = ExampleRecipe();
  recipe.kernels.clear();
  recipe.stability = StabilityOptions();
  EXPECT_NE(Violation(ValidateRecipe(without, recipe), "stability"), "");
}

TEST(SelectionStabilityTest, EstimatesCountEveryTraining) {
  const Dataset data = ClassificationData(200, 3, 2, 1);
  RunningConditions conditions;
  for (size_t i = 0; i < kNumWorkKinds; ++i) {
    conditions.rates[static_cast<WorkKind>(i)] = 1e-9;
  }
  TrainingRecipe recipe = ExampleRecipe();
  const absl::StatusOr<double> alone =
      EstimateRecipeSeconds(ExampleEntry(), recipe, data, conditions, RunContext());
  recipe.stability = {.resamples = 100};
  const absl::StatusOr<double> with =
      EstimateRecipeSeconds(ExampleEntry(), recipe, data, conditions, RunContext());
  ASSERT_TRUE(alone.ok() && with.ok());
  EXPECT_GT(*with, 10 * *alone);
}

}  // namespace
}  // namespace mercer
