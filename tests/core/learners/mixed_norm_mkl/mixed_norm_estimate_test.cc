// Estimates of memory and time: those of machines that share one combination are about the rows
// that each of them has.
#include <cmath>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/base/numeric/random.h"
#include "core/learners/mixed_norm_mkl/mixed_norm_mkl.h"
#include "core/learners/registry.h"
#include "core/training/recipe/recipe.h"
#include "core/training/recipe/recipe_problem.h"
#include "core/training/recipe/recipe_shape.h"
#include "tests/core/training/trained_models.h"
#include "tests/support/peak_growth.h"

namespace mercer::mixed_norm_mkl {
namespace {

// Pairs of classes with one combination of three kernels of one distance.
TrainingRecipe SharedRecipe(OptionValues options = {}) {
  TrainingRecipe recipe = ExampleRecipe();
  recipe.learner = "mixed_norm_mkl";
  recipe.coding = CodingChoice::kOneVsOne;
  recipe.options = std::move(options);
  recipe.options["C"] = 1.0;
  recipe.options["shared_weights"] = true;
  recipe.kernels = {OneKernel(1.0)};
  recipe.kernels[0].bandwidths = {1, 2, 4};
  return recipe;
}

// Classes of so many rows each.
Dataset DataOf(const std::vector<Index>& rows_of_classes, Index columns = 3) {
  Index rows = 0;
  for (const Index of_class : rows_of_classes) {
    rows += of_class;
  }
  Dataset data = ClassificationData(rows, columns, static_cast<int>(rows_of_classes.size()), 1);
  Vector& labels = data.role_columns[0].values;
  Index row = 0;
  for (size_t c = 0; c < rows_of_classes.size(); ++c) {
    for (Index i = 0; i < rows_of_classes[c]; ++i) {
      labels(row++) = static_cast<double>(c);
    }
  }
  return data;
}

double OperationsOf(const TrainingRecipe& recipe, const Dataset& data, WorkKind kind) {
  const LearnerEntry& entry = *FindLearner("mixed_norm_mkl");
  const auto shape = ShapeOfRecipe(entry, recipe, data, RunContext());
  const auto options = CompleteOptions(entry, recipe.options);
  EXPECT_TRUE(shape.ok() && options.ok());
  const auto work = entry.estimate_work(*options, *shape);
  EXPECT_TRUE(work.ok()) << work.status();
  return work->training[kind];
}

TEST(MixedNormEstimateTest, PairsThatShareTheirKernelsAreCountedByTheirOwnRows) {
  for (const std::vector<Index>& classes :
       {std::vector<Index>{20, 20, 20}, {5, 50, 20, 30, 7}, std::vector<Index>(30, 10)}) {
    const Dataset data = DataOf(classes);
    const auto all = static_cast<double>(data.rows);
    double squares = 0;
    double cubes = 0;
    for (size_t a = 0; a < classes.size(); ++a) {
      for (size_t b = a + 1; b < classes.size(); ++b) {
        const double share = static_cast<double>(classes[a] + classes[b]) / all;
        squares += share * share;
        cubes += share * share * share;
      }
    }
    Dataset of_two = DataOf({data.rows / 2, data.rows - data.rows / 2});
    const OptionValues curved = {{"loss", std::string("squared_hinge")}};
    const auto ratio = [&](const TrainingRecipe& recipe, WorkKind kind) {
      return OperationsOf(recipe, data, kind) / OperationsOf(recipe, of_two, kind);
    };
    EXPECT_NEAR(ratio(SharedRecipe(), WorkKind::kPairSteps), squares, 1e-9 * squares);
    EXPECT_NEAR(ratio(SharedRecipe(), WorkKind::kSearchValues), squares, 1e-9 * squares);
    EXPECT_NEAR(ratio(SharedRecipe(curved), WorkKind::kFactorOperations), cubes, 1e-9 * cubes);
  }
}

// Of rows held out the smallest classes may be: what is left is bounded from above.
TEST(MixedNormEstimateTest, RowsThatAreLeftForTrainingAreThoseOfTheLargestClasses) {
  TrainingRecipe recipe = SharedRecipe();
  recipe.validation = {ValidationKind::kHoldOut, 0.5, std::nullopt};
  const auto shape =
      ShapeOfRecipe(*FindLearner("mixed_norm_mkl"), recipe, DataOf({10, 40, 30}), RunContext());
  ASSERT_TRUE(shape.ok()) << shape.status();
  EXPECT_EQ(shape->rows, 41);
  EXPECT_EQ(shape->rows_of_classes, (std::vector<Index>{40, 1, 0}));
  recipe.options["shared_weights"] = false;
  const auto alone =
      ShapeOfRecipe(*FindLearner("mixed_norm_mkl"), recipe, DataOf({10, 40, 30}), RunContext());
  ASSERT_TRUE(alone.ok()) << alone.status();
  EXPECT_TRUE(alone->rows_of_classes.empty());
}

// Kernels of many distances take more machines, and every distance is read.
TEST(MixedNormEstimateTest, ManyDistancesTakeLongerThanManyWidthsOfOne) {
  const Dataset data = ClassificationData(300, 30, 2, 1);
  TrainingRecipe recipe = SharedRecipe();
  KernelGrid grid;
  grid.rule = BandwidthRule::kLogSpaced;
  grid.min_bandwidth = 0.1;
  grid.max_bandwidth = 10;
  grid.count = 300;
  recipe.kernels = {grid};
  const auto seconds = [&] {
    RunningConditions conditions;
    for (size_t i = 0; i < kNumWorkKinds; ++i) {
      conditions.rates[static_cast<WorkKind>(i)] = 1e-9;
    }
    conditions.rates[WorkKind::kSearchValues] = 0.25e-9;
    return EstimateRecipeSeconds(*FindLearner("mixed_norm_mkl"), recipe, data, conditions,
                                 RunContext())
        .value_or(0);
  };
  const double of_one = seconds();
  recipe.kernels[0].count = 10;
  recipe.kernels[0].per_column = true;
  EXPECT_GT(seconds(), 3 * of_one);
}

struct SharedRun {
  const char* what;
  std::vector<Index> classes;
  Index columns;
  const char* loss;
  int64_t most = 3;  // of the peak
};

TEST(MixedNormEstimateTest, MemoryOfSharedRunsIsAnUpperBoundAndCloseToThePeak) {
  if (!kGrowthIsMemoryHeld) {
    GTEST_SKIP() << "sanitizers keep freed memory";
  }
  for (const SharedRun& of :
       {SharedRun{"three classes", {500, 500, 500}, 4, "hinge"},
        {"thirty classes", std::vector<Index>(30, 50), 4, "hinge"},
        {"sixty classes", std::vector<Index>(60, 20), 4, "hinge"},
        {"one large class", {1000, 20, 20, 20, 20, 20, 20, 20}, 4, "hinge", 4},
        {"curved", std::vector<Index>(10, 120), 4, "squared_hinge"}}) {
    const Dataset data = DataOf(of.classes, of.columns);
    const LearnerEntry& entry = *FindLearner("mixed_norm_mkl");
    const TrainingRecipe recipe = SharedRecipe({{"loss", std::string(of.loss)}});
    const int64_t grown = PeakGrowth([&] {
      RunContext context(CancellationToken(), 2, nullptr);
      RecordingObserver observer;
      return RunRecipe({&entry, &recipe, &data, "data", "test"}, {}, context, observer).ok();
    });
    EXPECT_GE(grown, 0) << of.what << ": training failed in the child";
    const auto estimate = EstimateRecipeMemory(entry, recipe, data, RunContext());
    ASSERT_TRUE(estimate.ok()) << estimate.status();
    // The data set is there before.
    const auto bytes = static_cast<int64_t>(*estimate - data.MemoryBytes());
    EXPECT_GE(bytes + kCodeAndStacks, grown) << of.what;
    EXPECT_LE(bytes, of.most * grown) << of.what;
  }
}

}  // namespace
}  // namespace mercer::mixed_norm_mkl
