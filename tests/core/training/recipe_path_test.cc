// Runs that go through several values of an option.
#include <algorithm>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include <gtest/gtest.h>

#include "core/base/status/errors.h"
#include "core/training/recipe/recipe_plan.h"
#include "tests/core/training/trained_models.h"
#include "tests/support/field_violation.h"

namespace mercer {
namespace {

const std::vector<double> kCosts = {0.001, 0.1, 10.0};

TrainingRecipe PathRecipe(ValidationKind kind, TargetKind target = TargetKind::kClassification) {
  TrainingRecipe recipe = ExampleRecipe(target);
  recipe.limits.relative_gap = 1e-8;
  recipe.validation.kind = kind;
  recipe.path = OptionPath{"C", kCosts};
  return recipe;
}

TrainingRecipe OneValue(TrainingRecipe recipe, double cost) {
  recipe.path.reset();
  recipe.options["C"] = cost;
  return recipe;
}

std::string Named(size_t value, const std::string& metric) {
  return absl::StrCat("path.", value + 1, ".", metric);
}

TEST(RecipePathTest, KeepsTheModelWithTheBestScoreOnTheRowsHeldOut) {
  const Dataset data = RegressionData(80, 2, 1);
  const TrainingRecipe recipe = PathRecipe(ValidationKind::kHoldOut, TargetKind::kRegression);
  const absl::StatusOr<TrainedModel> trained = TrainExample(recipe, data);
  ASSERT_TRUE(trained.ok()) << trained.status();
  const std::map<std::string, double> metrics = MetricsOf(trained->model);
  std::vector<double> errors;
  for (size_t value = 0; value < kCosts.size(); ++value) {
    const absl::StatusOr<TrainedModel> alone = TrainExample(OneValue(recipe, kCosts[value]), data);
    ASSERT_TRUE(alone.ok()) << alone.status();
    errors.push_back(MetricsOf(alone->model).at("held_out.rmse"));
    EXPECT_EQ(metrics.at(Named(value, "value")), kCosts[value]);
    EXPECT_NEAR(metrics.at(Named(value, "rmse")), errors.back(), 1e-3 * errors.back());
    EXPECT_EQ(metrics.at(Named(value, "active_terms")), 2);
    EXPECT_LE(metrics.at(Named(value, "relative_gap")), 1e-8);
  }
  const auto best = std::min_element(errors.begin(), errors.end()) - errors.begin();
  EXPECT_EQ(metrics.at("path.best"), static_cast<double>(best + 1));
  EXPECT_EQ(metrics.at("held_out.rmse"), metrics.at(Named(static_cast<size_t>(best), "rmse")));
  EXPECT_EQ(std::get<double>(trained->model.options.at("C")), kCosts[static_cast<size_t>(best)]);
  EXPECT_NE(errors.front(), errors.back());
  RunContext context;
  const absl::StatusOr<Certificate> verified =
      VerifyModel(ExampleRun(recipe, data), trained->model, trained->witness, context);
  ASSERT_TRUE(verified.ok()) << verified.status();
  EXPECT_EQ(verified->primal, trained->model.certificate.primal);
}

TEST(RecipePathTest, FoldsChooseTheValueThatTheModelIsTrainedWithOnAllRows) {
  const Dataset data = RegressionData(60, 2, 4);
  TrainingRecipe recipe = PathRecipe(ValidationKind::kFolds, TargetKind::kRegression);
  recipe.validation.folds = 3;
  RunContext context;
  RecordingObserver observer;
  const absl::StatusOr<TrainedModel> trained =
      RunRecipe(ExampleRun(recipe, data), {}, context, observer);
  ASSERT_TRUE(trained.ok()) << trained.status();
  EXPECT_EQ(trained->model.num_training_rows, 60);
  EXPECT_EQ(observer.events.front().phase, "fold 1 of 3, value 1 of 3");
  EXPECT_EQ(observer.events.back().phase, "train");
  EXPECT_EQ(observer.verifications, 1);
  for (size_t i = 1; i < observer.events.size(); ++i) {
    EXPECT_EQ(observer.events[i].iteration, observer.events[i - 1].iteration + 1);
    EXPECT_GE(observer.events[i].report.fraction, observer.events[i - 1].report.fraction);
  }
  const std::map<std::string, double> metrics = MetricsOf(trained->model);
  std::vector<double> errors;
  for (size_t value = 0; value < kCosts.size(); ++value) {
    const absl::StatusOr<TrainedModel> alone = TrainExample(OneValue(recipe, kCosts[value]), data);
    ASSERT_TRUE(alone.ok()) << alone.status();
    errors.push_back(MetricsOf(alone->model).at("folds.rmse"));
    EXPECT_NEAR(metrics.at(Named(value, "rmse")), errors.back(), 1e-3 * errors.back());
  }
  const auto best =
      static_cast<size_t>(std::min_element(errors.begin(), errors.end()) - errors.begin());
  EXPECT_EQ(metrics.at("path.best"), static_cast<double>(best + 1));
  EXPECT_EQ(metrics.at("folds.rmse"), metrics.at(Named(best, "rmse")));
  // Trained from the start, so the model is that of the value alone.
  const absl::StatusOr<TrainedModel> alone = TrainExample(OneValue(recipe, kCosts[best]), data);
  EXPECT_EQ(SaveWitness(trained->witness), SaveWitness(alone->witness));
}

// The models of all values: those of a run that keeps the best, and of runs with one value alone.
TEST(RecipePathTest, AllModelsAreKeptWhenThatIsAsked) {
  const Dataset data = RegressionData(60, 2, 4);
  for (const ValidationKind kind : {ValidationKind::kHoldOut, ValidationKind::kFolds}) {
    TrainingRecipe recipe = PathRecipe(kind, TargetKind::kRegression);
    recipe.path->values = {10.0, 0.001, 0.1, 1.0};
    const absl::StatusOr<TrainedModel> best_alone = TrainExample(recipe, data);
    ASSERT_TRUE(best_alone.ok()) << best_alone.status();
    EXPECT_TRUE(best_alone->others.empty());
    recipe.path->keep_all = true;
    const absl::StatusOr<TrainedModel> trained = TrainExample(recipe, data);
    ASSERT_TRUE(trained.ok()) << trained.status();
    EXPECT_EQ(SaveWitness(trained->witness), SaveWitness(best_alone->witness));
    const std::map<std::string, double> of_best = MetricsOf(trained->model);
    EXPECT_EQ(of_best.at("path.number"), of_best.at("path.best"));
    std::vector<double> left = recipe.path->values;
    left.erase(left.begin() + static_cast<std::ptrdiff_t>(of_best.at("path.best")) - 1);
    ASSERT_EQ(trained->others.size(), left.size());
    for (size_t i = 0; i < left.size(); ++i) {
      const PathModel& other = trained->others[i];
      EXPECT_EQ(other.value, left[i]);
      const absl::StatusOr<Model> model = LoadModel(other.model);
      ASSERT_TRUE(model.ok()) << model.status();
      EXPECT_EQ(std::get<double>(model->options.at("C")), left[i]);
      EXPECT_LE(model->certificate.accuracy, 1e-8);
      const std::map<std::string, double> metrics = MetricsOf(*model);
      const auto number = static_cast<size_t>(metrics.at("path.number"));
      EXPECT_EQ(recipe.path->values[number - 1], left[i]);
      EXPECT_EQ(metrics.at("path.best"), of_best.at("path.best"));
      const std::string measured = kind == ValidationKind::kFolds ? "folds.rmse" : "held_out.rmse";
      EXPECT_EQ(metrics.at(measured), metrics.at(Named(number - 1, "rmse")));
      RunContext context;
      const absl::StatusOr<Witness> witness = LoadWitness(other.witness);
      ASSERT_TRUE(witness.ok()) << witness.status();
      const absl::StatusOr<Certificate> verified =
          VerifyModel(ExampleRun(recipe, data), *model, *witness, context);
      ASSERT_TRUE(verified.ok()) << verified.status();
      EXPECT_EQ(verified->primal, model->certificate.primal);
    }
  }
}

TEST(RecipePathTest, AStoppedRunThatKeepsAllHasTheBestAmongThem) {
  const Dataset data = ClassificationData(60, 2, 2, 1);
  TrainingRecipe recipe = PathRecipe(ValidationKind::kFolds);
  recipe.validation.folds = 2;
  recipe.path->keep_all = true;
  RunContext context;
  RecordingObserver all;
  const absl::StatusOr<TrainedModel> whole = RunRecipe(ExampleRun(recipe, data), {}, context, all);
  ASSERT_TRUE(whole.ok()) << whole.status();
  EXPECT_EQ(whole->others.size(), 2u);
  EXPECT_EQ(all.events.back().phase, "train, model 3 of 3");
  const auto second = std::find_if(all.events.begin(), all.events.end(), [](const auto& event) {
    return event.phase == "train, model 2 of 3";
  });
  ASSERT_NE(second, all.events.end());
  RecordingObserver observer;
  observer.stop_after = static_cast<int>(second - all.events.begin());
  const absl::StatusOr<TrainedModel> stopped =
      RunRecipe(ExampleRun(recipe, data), {}, context, observer);
  ASSERT_TRUE(stopped.ok()) << stopped.status();
  EXPECT_EQ(SaveWitness(stopped->witness), SaveWitness(whole->witness));
  EXPECT_LE(stopped->others.size(), 1u);
  observer = {};
  observer.stop_after = static_cast<int>(all.events.size()) - 1;
  const absl::StatusOr<TrainedModel> late =
      RunRecipe(ExampleRun(recipe, data), {}, context, observer);
  ASSERT_TRUE(late.ok()) << late.status();
  EXPECT_GE(late->others.size(), 1u);
}

TEST(RecipePathTest, EveryCheckpointLeadsToTheSameBits) {
  TrainingRecipe recipe = PathRecipe(ValidationKind::kHoldOut);
  recipe.limits.relative_gap = 1e-3;
  ExpectSameBitsFromEveryCheckpoint(recipe, ClassificationData(40, 2, 2, 1));
  recipe = PathRecipe(ValidationKind::kFolds);
  recipe.limits.relative_gap = 1e-3;
  recipe.validation.folds = 2;
  ExpectSameBitsFromEveryCheckpoint(recipe, ClassificationData(36, 2, 3, 1));
  recipe.path->keep_all = true;
  ExpectSameBitsFromEveryCheckpoint(recipe, ClassificationData(36, 2, 3, 1));
  recipe = PathRecipe(ValidationKind::kHoldOut);
  recipe.limits.relative_gap = 1e-3;
  recipe.path->keep_all = true;
  ExpectSameBitsFromEveryCheckpoint(recipe, ClassificationData(40, 2, 2, 1));
}

// Of equal scores the first counts.
TEST(RecipePathTest, TiesGoToTheFirstValue) {
  const Dataset data = ClassificationData(60, 2, 2, 5);
  TrainingRecipe recipe = PathRecipe(ValidationKind::kHoldOut);
  recipe.path->values = {1.0, 1.0, 1.0};
  const absl::StatusOr<TrainedModel> trained = TrainExample(recipe, data);
  ASSERT_TRUE(trained.ok()) << trained.status();
  EXPECT_EQ(MetricsOf(trained->model).at("path.best"), 1);
}

// What a learner is begun with, by the calls of Start.
struct Starts {
  std::vector<bool> warm;
  bool same_rows = true;
};

class WatchedLearner : public Learner {
 public:
  WatchedLearner(std::unique_ptr<Learner> inner, std::shared_ptr<Starts> starts)
      : inner_(std::move(inner)), starts_(std::move(starts)) {}

  absl::Status Start(const TrainingProblem& problem, const WarmStart* warm_start) override {
    starts_->warm.push_back(warm_start != nullptr);
    starts_->same_rows =
        starts_->same_rows &&
        (warm_start == nullptr || warm_start->problem->tasks[0].rows == problem.tasks[0].rows);
    return inner_->Start(problem, warm_start);
  }
  absl::StatusOr<StepReport> Step(RunContext& context, double target) override {
    return inner_->Step(context, target);
  }
  absl::StatusOr<TrainedPoint> CurrentModel(RunContext& context) const override {
    return inner_->CurrentModel(context);
  }
  std::string SaveState() const override { return inner_->SaveState(); }
  absl::Status RestoreState(const TrainingProblem& problem, std::string_view state,
                            RunContext& context) override {
    return inner_->RestoreState(problem, state, context);
  }

 private:
  std::unique_ptr<Learner> inner_;
  std::shared_ptr<Starts> starts_;
};

TEST(RecipePathTest, EachValueBeginsWithTheSolutionBeforeOnTheSameRows) {
  const auto starts = std::make_shared<Starts>();
  LearnerEntry entry = ExampleEntry();
  entry.create = [starts](const OptionValues& options) -> absl::StatusOr<std::unique_ptr<Learner>> {
    absl::StatusOr<std::unique_ptr<Learner>> inner = ExampleEntry().create(options);
    if (!inner.ok()) {
      return inner.status();
    }
    return std::make_unique<WatchedLearner>(*std::move(inner), starts);
  };
  const Dataset data = ClassificationData(40, 2, 2, 1);
  TrainingRecipe recipe = PathRecipe(ValidationKind::kFolds);
  recipe.validation.folds = 2;
  RunContext context;
  RecordingObserver observer;
  const RecipeRun run{&entry, &recipe, &data, "digest", "test-version"};
  ASSERT_TRUE(RunRecipe(run, {}, context, observer).ok());
  EXPECT_EQ(starts->warm, (std::vector<bool>{false, true, true, false, true, true, false}));
  EXPECT_TRUE(starts->same_rows);
}

TEST(RecipePathTest, AStoppedRunKeepsTheBestSoFar) {
  const Dataset data = ClassificationData(60, 2, 2, 1);
  TrainingRecipe recipe = PathRecipe(ValidationKind::kHoldOut);
  RunContext context;
  RecordingObserver all;
  ASSERT_TRUE(RunRecipe(ExampleRun(recipe, data), {}, context, all).ok());
  const auto of_first = std::count_if(all.events.begin(), all.events.end(), [](const auto& event) {
    return event.phase == "value 1 of 3";
  });
  ASSERT_GT(of_first, 0);
  RecordingObserver observer;
  observer.stop_after = static_cast<int>(of_first) + 1;
  const absl::StatusOr<TrainedModel> stopped =
      RunRecipe(ExampleRun(recipe, data), {}, context, observer);
  ASSERT_TRUE(stopped.ok()) << stopped.status();
  const std::map<std::string, double> metrics = MetricsOf(stopped->model);
  EXPECT_EQ(metrics.count("path.1.accuracy"), 1u);
  EXPECT_EQ(metrics.count("path.3.accuracy"), 0u);
}

TEST(RecipePathTest, NamesWhatIsWrong) {
  const auto violated = [](const TrainingRecipe& recipe, const std::string& field) {
    const absl::Status status = ValidateRecipe(ExampleEntry(), recipe);
    EXPECT_NE(Violation(status, field), "") << field << " is not named by: " << status;
  };
  const TrainingRecipe good = PathRecipe(ValidationKind::kHoldOut);
  EXPECT_TRUE(ValidateRecipe(ExampleEntry(), good).ok());
  TrainingRecipe recipe = good;
  recipe.validation.kind = ValidationKind::kNone;
  violated(recipe, "validation");
  recipe = good;
  recipe.path->option = "D";
  violated(recipe, "path.option");
  recipe = good;
  recipe.options["C"] = 1.0;
  violated(recipe, "path.option");
  recipe = good;
  recipe.path->values = {};
  violated(recipe, "path.values");
  recipe.path->values.assign(1001, 1.0);
  violated(recipe, "path.values");
  recipe.path->values = {1.0, -1.0, 2.0};
  violated(recipe, "path.values[1]");
  recipe.path->values.assign(101, 1.0);
  EXPECT_TRUE(ValidateRecipe(ExampleEntry(), recipe).ok());
  recipe.path->keep_all = true;
  violated(recipe, "path.values");
}

TEST(RecipePathTest, EstimatesCountEveryTraining) {
  const Dataset data = ClassificationData(200, 3, 2, 1);
  const TrainingRecipe path = PathRecipe(ValidationKind::kHoldOut);
  const TrainingRecipe alone = OneValue(path, kCosts.back());
  RunningConditions conditions;
  for (size_t i = 0; i < kNumWorkKinds; ++i) {
    conditions.rates[static_cast<WorkKind>(i)] = 1e-9;
  }
  const absl::StatusOr<double> of_path =
      EstimateRecipeSeconds(ExampleEntry(), path, data, conditions, RunContext());
  const absl::StatusOr<double> of_one =
      EstimateRecipeSeconds(ExampleEntry(), alone, data, conditions, RunContext());
  ASSERT_TRUE(of_path.ok() && of_one.ok());
  EXPECT_GT(*of_path, 1.5 * *of_one);
  const absl::StatusOr<size_t> bytes =
      EstimateRecipeMemory(ExampleEntry(), path, data, RunContext());
  const absl::StatusOr<size_t> bytes_of_one =
      EstimateRecipeMemory(ExampleEntry(), alone, data, RunContext());
  ASSERT_TRUE(bytes.ok() && bytes_of_one.ok());
  EXPECT_GE(*bytes, *bytes_of_one);
  TrainingRecipe all = path;
  all.path->keep_all = true;
  const absl::StatusOr<size_t> bytes_of_all =
      EstimateRecipeMemory(ExampleEntry(), all, data, RunContext());
  ASSERT_TRUE(bytes_of_all.ok());
  EXPECT_GT(*bytes_of_all, *bytes);
}

}  // namespace
}  // namespace mercer
