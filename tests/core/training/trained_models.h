// Recipes with the example learner, and models trained by them.
#pragma once

#include <map>
#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "core/learners/_template/template_learner.h"
#include "core/training/model/predictor.h"
#include "core/training/recipe/recipe.h"
#include "tests/core/training/scripted_learner.h"

namespace mercer {

inline const LearnerEntry& ExampleEntry() {
  static const auto& entry = *new LearnerEntry(template_learner::Entry());
  return entry;
}

inline KernelGrid OneKernel(double bandwidth) {
  KernelGrid grid;
  grid.prototype.bandwidth = bandwidth;
  return grid;
}

inline TrainingRecipe ExampleRecipe(TargetKind kind = TargetKind::kClassification) {
  TrainingRecipe recipe;
  recipe.learner = "template_learner";
  recipe.kernels = {OneKernel(1.0), OneKernel(3.0)};
  recipe.kind = kind;
  recipe.seed = 11;
  return recipe;
}

inline RecipeRun ExampleRun(const TrainingRecipe& recipe, const Dataset& dataset) {
  return {&ExampleEntry(), &recipe, &dataset, "digest", "test-version"};
}

inline absl::StatusOr<TrainedModel> TrainExample(const TrainingRecipe& recipe,
                                                 const Dataset& dataset) {
  RunContext context;
  RecordingObserver observer;
  return RunRecipe(ExampleRun(recipe, dataset), {}, context, observer);
}

// Fails the test when training fails.
inline std::shared_ptr<const Model> ExampleModel(const TrainingRecipe& recipe,
                                                 const Dataset& dataset) {
  absl::StatusOr<TrainedModel> trained = TrainExample(recipe, dataset);
  EXPECT_TRUE(trained.ok()) << trained.status();
  return std::make_shared<const Model>(trained.ok() ? trained->model : Model());
}

inline absl::StatusOr<Prediction> PredictRows(std::shared_ptr<const Model> model,
                                              const Dataset& rows,
                                              const PredictOptions& options = {}) {
  const absl::StatusOr<std::unique_ptr<Predictor>> predictor = Predictor::Make(std::move(model));
  if (!predictor.ok()) {
    return predictor.status();
  }
  RunContext context;
  return (*predictor)->Predict(rows, options, context);
}

inline std::map<std::string, double> MetricsOf(const Model& model) {
  std::map<std::string, double> metrics;
  for (const ModelTable& table : model.summary.tables) {
    for (size_t row = 0; table.name == kPathTable && row < table.rows.size(); ++row) {
      const std::string prefix = absl::StrCat("path.", row + 1, ".");
      metrics[prefix + "value"] = std::stod(table.rows[row]);
      for (size_t column = 0; column < table.columns.size(); ++column) {
        metrics[prefix + table.columns[column]] =
            table.values(static_cast<Index>(row), static_cast<Index>(column));
      }
    }
  }
  for (const Metric& metric : model.metrics) {
    metrics[metric.name] = metric.value;
  }
  return metrics;
}

// Trains once with a checkpoint after every step, then again from each of them.
inline void ExpectSameBitsFromEveryCheckpoint(const RecipeRun& run) {
  RunContext context;
  RecordingObserver observer;
  observer.wants_checkpoints = true;
  const absl::StatusOr<TrainedModel> straight = RunRecipe(run, {}, context, observer);
  ASSERT_TRUE(straight.ok()) << straight.status();
  ASSERT_GT(observer.checkpoints.size(), 3u);
  for (size_t i = 0; i < observer.checkpoints.size(); ++i) {
    RunContext other_context;
    RecordingObserver other;
    const absl::StatusOr<TrainedModel> resumed =
        RunRecipe(run, observer.checkpoints[i], other_context, other);
    ASSERT_TRUE(resumed.ok()) << resumed.status() << " from checkpoint " << i;
    EXPECT_EQ(SaveModel(resumed->model), SaveModel(straight->model)) << "from checkpoint " << i;
    EXPECT_EQ(SaveWitness(resumed->witness), SaveWitness(straight->witness))
        << "from checkpoint " << i;
    ASSERT_EQ(resumed->others.size(), straight->others.size()) << "from checkpoint " << i;
    for (size_t j = 0; j < resumed->others.size(); ++j) {
      EXPECT_EQ(resumed->others[j].value, straight->others[j].value);
      EXPECT_EQ(resumed->others[j].model, straight->others[j].model) << "from checkpoint " << i;
      EXPECT_EQ(resumed->others[j].witness, straight->others[j].witness);
    }
    EXPECT_EQ(other.events.back().iteration, observer.events.back().iteration)
        << "from checkpoint " << i;
  }
}

inline void ExpectSameBitsFromEveryCheckpoint(const TrainingRecipe& recipe,
                                              const Dataset& dataset) {
  ExpectSameBitsFromEveryCheckpoint(ExampleRun(recipe, dataset));
}

// Adds a categorical column "colour" to the first block.
inline void AddColours(Dataset& dataset, const std::vector<std::string>& categories) {
  FeatureBlock& block = dataset.blocks[0];
  const Index width = block.values.cols();
  RowMatrix values(dataset.rows, width + 1);
  values.leftCols(width) = block.values.view();
  for (Index i = 0; i < dataset.rows; ++i) {
    values(i, width) = static_cast<double>(i % static_cast<Index>(categories.size()));
  }
  block.values = SharedMatrix(std::move(values));
  block.columns.push_back({"colour", true, categories});
}

}  // namespace mercer
