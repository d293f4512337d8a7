// The estimate of a run's memory against its parts, and against what runs take.
#include <limits>

#include <gtest/gtest.h>

#include "core/base/memory/scratch_space.h"
#include "core/base/status/errors.h"
#include "core/training/recipe/recipe.h"
#include "tests/core/training/trained_models.h"
#include "tests/support/peak_growth.h"

namespace mercer {
namespace {

size_t Estimate(const TrainingRecipe& recipe, const Dataset& data) {
  const absl::StatusOr<size_t> estimate =
      EstimateRecipeMemory(ExampleEntry(), recipe, data, RunContext());
  EXPECT_TRUE(estimate.ok()) << estimate.status();
  return estimate.value_or(0);
}

TEST(RecipeMemoryTest, EstimateCountsTheDataAndTheRowsThatTrain) {
  const Dataset data = ClassificationData(200, 3, 4, 1);
  TrainingRecipe recipe = ExampleRecipe();
  const size_t base = Estimate(recipe, data);
  EXPECT_GT(base, data.MemoryBytes());
  recipe.validation = {ValidationKind::kHoldOut, 0.5, 0};
  EXPECT_LT(Estimate(recipe, data), base);
  recipe.target = "nothing";
  EXPECT_EQ(EstimateRecipeMemory(ExampleEntry(), recipe, data, RunContext()).status().code(),
            absl::StatusCode::kInvalidArgument);
}

// One kernel more keeps its description and its weight for each output. Kernels of one source share
// its distances; those on columns of their own, which are wide enough, do not.
TEST(RecipeMemoryTest, EstimateCountsKernels) {
  const Dataset data = ClassificationData(200, 3, 4, 1);
  TrainingRecipe recipe = ExampleRecipe();
  const size_t two = Estimate(recipe, data);
  for (int k = 0; k < 98; ++k) {
    recipe.kernels.push_back(OneKernel(4.0 + k));
  }
  const size_t hundred = Estimate(recipe, data);
  EXPECT_GE(hundred - two, 98 * (sizeof(KernelSpec) + 4 * sizeof(double)));

  recipe.kernels = {OneKernel(1.0)};
  const Dataset wide = ClassificationData(200, 300, 4, 1);
  const size_t one_source = Estimate(recipe, wide);
  recipe.kernels.push_back(OneKernel(1.0));
  const size_t same_source = Estimate(recipe, wide);
  std::vector<std::string>& columns = recipe.kernels[1].prototype.columns;
  for (const ColumnSchema& column : wide.blocks[0].columns) {
    columns.push_back(column.name);
  }
  columns.pop_back();
  const size_t two_sources = Estimate(recipe, wide);
  const size_t distances = 200 * 200 / 2 * sizeof(float);
  EXPECT_LT(same_source - one_source, distances);
  EXPECT_GE(two_sources - same_source, distances);
}

// Each kernel has its labels in the problem, in the model and in its summary.
TEST(RecipeMemoryTest, EstimateCountsNamesAndGroupsOfKernels) {
  const Dataset data = ClassificationData(40, 2, 2, 1);
  TrainingRecipe recipe = ExampleRecipe();
  KernelGrid& grid = recipe.kernels[0];
  grid.rule = BandwidthRule::kLogSpaced;
  grid.min_bandwidth = 0.1;
  grid.max_bandwidth = 10;
  grid.count = 1000;
  const size_t without = Estimate(recipe, data);
  grid.prototype.labels = {std::string(100, 'n'), std::string(100, 'g')};
  EXPECT_GE(Estimate(recipe, data) - without, size_t{3 * 200 * 1000});
}

// A learner that tells tables keeps them with its point, its model, and their encoded forms.
TEST(RecipeMemoryTest, EstimateCountsTheTablesThatALearnerTells) {
  const Dataset data = ClassificationData(200, 3, 4, 1);
  TrainingRecipe recipe = ExampleRecipe();
  LearnerEntry entry = ExampleEntry();
  entry.table_bytes = [](const OptionValues& options,
                         const ProblemShape&) -> absl::StatusOr<size_t> {
    return static_cast<size_t>(1e6 * std::get<double>(options.at("C")));
  };
  const auto of_tables = [&] {
    const absl::StatusOr<size_t> with = EstimateRecipeMemory(entry, recipe, data, RunContext());
    EXPECT_TRUE(with.ok()) << with.status();
    return with.value_or(0) - Estimate(recipe, data);
  };
  const size_t alone = of_tables();
  EXPECT_GE(alone, size_t{5'000'000});
  recipe.path = OptionPath{"C", {1.0, 3.0, 2.0}};
  EXPECT_GE(of_tables(), 3 * alone + 3'000'000) << "the path keeps what it has found";
}

// How many categories training knows is not known before: the table is in memory up to the limit, or in a file.
TEST(RecipeMemoryTest, TableThatMayGrowCountsWhatMemoryHoldsOfItAtTheMost) {
  constexpr Index kRows = 1000;
  constexpr size_t kLargest = 1'000'000;
  Dataset data = ClassificationData(kRows, 3, 2, 1);
  ColumnSchema& column = data.blocks[0].columns[0];
  column.categorical = true;
  column.categories.assign(5000, "category");
  const ScratchSpace scratch("", kLargest);
  ASSERT_FALSE(scratch.Takes(kRows * 3 * sizeof(double)));
  const absl::StatusOr<size_t> spilled =
      EstimateRecipeMemory(ExampleEntry(), ExampleRecipe(), data, RunContext(), &scratch);
  ASSERT_TRUE(spilled.ok()) << spilled.status();
  const size_t whole = kRows * 5002 * sizeof(double);
  const size_t on_the_way = size_t{8} << 20;  // of rows to a file
  EXPECT_EQ(Estimate(ExampleRecipe(), data) - *spilled, whole - kLargest - on_the_way);
}

// Each output more keeps the targets of all rows and the state and the solution of its own.
TEST(RecipeMemoryTest, EstimateCountsOutputs) {
  TrainingRecipe recipe = ExampleRecipe();
  const auto with_classes = [&](int classes) {
    return Estimate(recipe, ClassificationData(240, 3, classes, 1));
  };
  const size_t vector = 240 * sizeof(double);
  recipe.coding = CodingChoice::kOneVsAll;
  const size_t one_vs_all = with_classes(40);
  EXPECT_GE(one_vs_all - with_classes(20), 20 * 8 * vector);
  recipe.coding = CodingChoice::kOneVsOne;
  EXPECT_GE(with_classes(40) - one_vs_all, (40 * 39 / 2 - 40) * vector);
  recipe.coding = CodingChoice::kAuto;
  EXPECT_EQ(with_classes(2), Estimate(ExampleRecipe(), ClassificationData(240, 3, 1, 1)));
}

TEST(RecipeMemoryTest, FoldsThatTheRowsCannotFillAreRefusedAsFolds) {
  TrainingRecipe recipe = ExampleRecipe();
  recipe.validation = {ValidationKind::kFolds, std::nullopt, 1'000'000'000};
  Dataset data = ClassificationData(1000, 2, 2, 1);
  const auto violation = [&] {
    const absl::Status status =
        EstimateRecipeMemory(ExampleEntry(), recipe, data, RunContext()).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
    const std::vector<FieldViolation> violations = GetFieldViolations(status);
    return violations.empty() ? FieldViolation() : violations[0];
  };
  EXPECT_EQ(violation().field, "validation.folds");
  EXPECT_NE(violation().description.find("[2, 1000]"), std::string::npos);
  data.role_columns.push_back(
      NumericColumn(ColumnRole::kGroup, "patient", Vector::LinSpaced(1000, 0, 9).array().floor()));
  recipe.validation.folds = 11;
  EXPECT_NE(violation().description.find("[2, 10]"), std::string::npos);
  recipe.validation.folds = 10;
  EXPECT_GT(Estimate(recipe, data), 0u);
}

// Asks for a checkpoint now and then: one after every step would take longer than the training.
class RareCheckpoints : public RecordingObserver {
 public:
  bool WantsCheckpoint() override { return events.size() % 8 == 0; }
  void OnCheckpoint(std::string state) override { largest = std::max(largest, state.size()); }

  size_t largest = 0;
};

struct MemoryRun {
  const char* what;
  Index rows;
  Index columns;
  int classes;
  CodingChoice coding;
  ValidationKind validation;
};

TEST(RecipeMemoryTest, EstimateIsAnUpperBoundOfRunsWithManyOutputs) {
  if (!kGrowthIsMemoryHeld) {
    GTEST_SKIP() << "sanitizers keep freed memory";
  }
  for (const MemoryRun& of :
       {MemoryRun{"wide rows", 400, 2000, 30, CodingChoice::kOneVsAll, ValidationKind::kNone},
        MemoryRun{"wide rows, folds", 300, 2000, 12, CodingChoice::kOneVsAll,
                  ValidationKind::kFolds},
        MemoryRun{"many classes", 900, 4, 150, CodingChoice::kOneVsAll, ValidationKind::kNone},
        MemoryRun{"many pairs", 600, 4, 30, CodingChoice::kOneVsOne, ValidationKind::kNone}}) {
    const Dataset data = ClassificationData(of.rows, of.columns, of.classes, 1);
    TrainingRecipe recipe = ExampleRecipe();
    recipe.kernels = {OneKernel(std::sqrt(static_cast<double>(of.columns)))};
    recipe.coding = of.coding;
    recipe.validation.kind = of.validation;
    recipe.validation.folds =
        of.validation == ValidationKind::kFolds ? std::optional(3) : std::nullopt;
    const int64_t grown = PeakGrowth([&] {
      RunContext context;
      RareCheckpoints observer;
      return RunRecipe(ExampleRun(recipe, data), {}, context, observer).ok() &&
             observer.largest > 0;
    });
    EXPECT_GE(grown, 0) << of.what << ": training failed in the child";
    // The data set is there before.
    const auto estimate = static_cast<int64_t>(Estimate(recipe, data) - data.MemoryBytes());
    EXPECT_GE(estimate + kCodeAndStacks, grown) << of.what;
    EXPECT_LE(estimate, 5 * grown) << of.what;
  }
}

// Sparse rows take no memory of their own for their width: nothing else bounds it.
TEST(RecipeMemoryTest, EstimateOfAnAbsurdShapeIsAbsurd) {
  Dataset data = ClassificationData(20, 2, 2, 1);
  data.rows = Index{1} << 40;
  data.blocks[0].is_sparse = true;
  data.blocks[0].columns.clear();
  data.blocks[0].sparse.columns = Index{1} << 40;
  TrainingRecipe recipe = ExampleRecipe();
  for (const bool per_column : {false, true}) {
    recipe.kernels[0].per_column = per_column;
    const absl::StatusOr<size_t> estimate =
        EstimateRecipeMemory(ExampleEntry(), recipe, data, RunContext());
    ASSERT_TRUE(estimate.ok()) << estimate.status();
    EXPECT_EQ(*estimate, std::numeric_limits<size_t>::max());
  }
}

}  // namespace
}  // namespace mercer
