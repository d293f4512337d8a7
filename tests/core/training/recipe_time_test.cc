// The estimate of a run's time: how it grows with what there is to do, for rates that the test gives. Against
// trainings it is measured in tests/bench/estimate_bench.cc and estimate_tables_bench.cc.
#include <cmath>
#include <limits>
#include <memory>
#include <utility>

#include <gtest/gtest.h>

#include "core/base/numeric/random.h"
#include "core/kernels/gram/kernel_operator.h"
#include "core/objectives/loss.h"
#include "core/solvers/svm/smo.h"
#include "core/training/contract/single_task.h"
#include "core/training/recipe/recipe.h"
#include "core/training/recipe/recipe_shape.h"
#include "core/training/run/machine_rates.h"
#include "tests/core/training/trained_models.h"

namespace mercer {
namespace {

// A nanosecond for everything.
RunningConditions EqualRates() {
  RunningConditions conditions;
  for (size_t i = 0; i < kNumWorkKinds; ++i) {
    conditions.rates[static_cast<WorkKind>(i)] = 1e-9;
  }
  conditions.rates[WorkKind::kFamilies] = 0;
  return conditions;
}

// Rates of 0 but for one kind.
RunningConditions OnlyRate(WorkKind kind) {
  RunningConditions conditions;
  conditions.rates[kind] = 1e-9;
  return conditions;
}

double EstimateSeconds(const TrainingRecipe& recipe, const Dataset& data,
                       const RunningConditions& conditions = EqualRates()) {
  const auto seconds =
      EstimateRecipeSeconds(ExampleEntry(), recipe, data, conditions, RunContext());
  EXPECT_TRUE(seconds.ok()) << seconds.status();
  return seconds.value_or(-1);
}

TEST(RecipeTimeTest, GrowsWithTheSquareOfTheRows) {
  const TrainingRecipe recipe = ExampleRecipe();
  const RunningConditions values = OnlyRate(WorkKind::kKernelValues);
  const double small = EstimateSeconds(recipe, ClassificationData(500, 3, 2, 1), values);
  EXPECT_NEAR(EstimateSeconds(recipe, ClassificationData(1000, 3, 2, 1), values) / small, 4, 1e-9);
  // Two kernels of n^2 / 2 pairs; the verification reads their sum.
  EXPECT_NEAR(small, 2 * 0.5 * 500 * 500 * 1e-9, 1e-12);
}

TEST(RecipeTimeTest, AVerificationReadsTheSumThatTheTrainingWrote) {
  const TrainingRecipe recipe = ExampleRecipe();
  const auto beyond_one_class = [&](WorkKind kind) {
    return EstimateSeconds(recipe, ClassificationData(500, 3, 4, 1), OnlyRate(kind)) -
           EstimateSeconds(recipe, ClassificationData(500, 3, 2, 1), OnlyRate(kind));
  };
  EXPECT_NEAR(beyond_one_class(WorkKind::kReads), 3 * 500.0 * 500.0 * 1e-9, 1e-12);
}

TEST(RecipeTimeTest, CountsTheColumnsOfTheDistances) {
  TrainingRecipe recipe = ExampleRecipe();
  recipe.kernels = {OneKernel(1.0)};
  const Dataset data = ClassificationData(500, 30, 2, 1);
  const double pairs = 0.5 * 500 * 500;
  EXPECT_NEAR(EstimateSeconds(recipe, data, OnlyRate(WorkKind::kProductColumns)),
              2 * 30 * pairs * 1e-9, 1e-12);
  EXPECT_EQ(EstimateSeconds(recipe, data, OnlyRate(WorkKind::kAbsoluteColumns)), 0);
  recipe.kernels[0].prototype.type = KernelType::kLaplacian;
  EXPECT_NEAR(EstimateSeconds(recipe, data, OnlyRate(WorkKind::kAbsoluteColumns)),
              2 * 30 * pairs * 1e-9, 1e-12);
}

// As those of a family per column; what they cost, lp_mkl counts.
TEST(RecipeTimeTest, KernelsThatShareNoDistanceAreTold) {
  TrainingRecipe recipe = ExampleRecipe();
  const Dataset data = ClassificationData(50, 30, 2, 1);
  recipe.kernels = {OneKernel(1.0), OneKernel(2.0)};
  recipe.kernels[0].per_column = true;
  recipe.kernels[1].bandwidths = {1.0, 2.0, 3.0};
  const auto shape = ShapeOfRecipe(ExampleEntry(), recipe, data, RunContext());
  ASSERT_TRUE(shape.ok()) << shape.status();
  EXPECT_EQ(shape->kernels, 33);
  EXPECT_EQ(shape->lone_kernels, 30);
  EXPECT_EQ(shape->sources, 1);  // distances on one column are not worth keeping
  EXPECT_EQ(shape->recomputed_sources, 30);
}

TEST(RecipeTimeTest, DistancesThatFitTheCacheAreCountedOnce) {
  TrainingRecipe recipe = ExampleRecipe();
  recipe.kernels = {OneKernel(1.0)};
  const Dataset data = ClassificationData(600, 30, 3, 1);
  RunningConditions conditions = OnlyRate(WorkKind::kProductColumns);
  const double once = 30 * 0.5 * 600 * 600 * 1e-9;
  // For the sum of the kernels, and for each of three verifications.
  EXPECT_NEAR(EstimateSeconds(recipe, data, conditions), (1 + 3) * once, 1e-12);
  conditions.cache_bytes = 600 * 600 / 2 * sizeof(double);
  EXPECT_NEAR(EstimateSeconds(recipe, data, conditions), once, 1e-12);
}

// How often the two kernels of the example are computed for all pairs of so many rows.
double PassesOverKernels(const TrainingRecipe& recipe, const Dataset& data, double rows) {
  return EstimateSeconds(recipe, data, OnlyRate(WorkKind::kKernelValues)) / (rows * rows * 1e-9);
}

TEST(RecipeTimeTest, ClassesAgainstTheRestHaveOneSumOfKernels) {
  TrainingRecipe recipe = ExampleRecipe();
  const Dataset data = ClassificationData(600, 3, 4, 1);
  EXPECT_NEAR(PassesOverKernels(recipe, data, 600), 1, 1e-9);
  // Each pair of classes makes that of its rows, and makes it anew to be verified.
  recipe.coding = CodingChoice::kOneVsOne;
  EXPECT_NEAR(PassesOverKernels(recipe, data, 300), 2 * 6, 0.5);
}

TEST(RecipeTimeTest, APathHasOneSumOfKernelsForEachSetOfRows) {
  TrainingRecipe recipe = ExampleRecipe();
  const Dataset data = ClassificationData(600, 3, 2, 1);
  const auto paths = [&](size_t values) {
    recipe.path = OptionPath{"C", std::vector<double>(values, 1.0)};
    return PassesOverKernels(recipe, data, 1);
  };
  recipe.validation = {ValidationKind::kHoldOut, 0.5, std::nullopt};
  // Predictions of the rows held out are of each value.
  const double predicted = 2 * 299.0 * 301.0;
  EXPECT_NEAR(paths(1), 301.0 * 301.0 + predicted, 1);
  EXPECT_NEAR(paths(10), 301.0 * 301.0 + 10 * predicted, 1);
  recipe.validation = {ValidationKind::kFolds, std::nullopt, 5};
  const double of_folds = 5 * 480.0 * 480.0;
  const double of_predictions = 5 * 2 * 120.0 * 480.0;
  EXPECT_NEAR(paths(1), 600.0 * 600.0 + of_folds + of_predictions, 1);
  EXPECT_NEAR(paths(10), 600.0 * 600.0 + of_folds + 10 * of_predictions, 1);
}

TEST(RecipeTimeTest, GrowsWithKernelsClassesAndFolds) {
  TrainingRecipe recipe = ExampleRecipe();
  const Dataset data = ClassificationData(600, 3, 2, 1);
  const double base = EstimateSeconds(recipe, data);
  EXPECT_GT(base, 0);
  EXPECT_GT(EstimateSeconds(recipe, ClassificationData(600, 3, 10, 1)), 5 * base);
  recipe.validation = {ValidationKind::kFolds, std::nullopt, 5};
  // Five trainings on four fifths of the rows each, with the square of the rows.
  EXPECT_GT(EstimateSeconds(recipe, data), 3.5 * base);
  EXPECT_LT(EstimateSeconds(recipe, data), 6 * base);
  recipe.validation = {ValidationKind::kHoldOut, 0.5, std::nullopt};
  EXPECT_LT(EstimateSeconds(recipe, data), base);
  recipe.validation = {};
  recipe.kernels.push_back(OneKernel(7.0));
  EXPECT_GT(EstimateSeconds(recipe, data), base);
}

TEST(RecipeTimeTest, ThreadsShareTheWork) {
  const TrainingRecipe recipe = ExampleRecipe();
  const Dataset data = ClassificationData(600, 3, 2, 1);
  RunningConditions conditions = EqualRates();
  conditions.threads = 4;
  const double shared = EstimateSeconds(recipe, data, conditions);
  const double alone = EstimateSeconds(recipe, data);
  EXPECT_LT(shared, 0.3 * alone);
  EXPECT_GE(shared, 0.25 * alone);
  WorkCount steps;
  steps[WorkKind::kPairSteps] = 1e9;
  EXPECT_EQ(SecondsOf(steps, conditions.rates, 4), SecondsOf(steps, conditions.rates, 1));
}

TEST(RecipeTimeTest, KeepsWithinTheTimeLimitButForTheVerification) {
  TrainingRecipe recipe = ExampleRecipe();
  const Dataset data = ClassificationData(600, 3, 2, 1);
  const double base = EstimateSeconds(recipe, data);
  recipe.limits.max_time = absl::Seconds(1000);
  EXPECT_EQ(EstimateSeconds(recipe, data), base);
  recipe.limits.max_time = absl::Nanoseconds(1);
  EXPECT_LT(EstimateSeconds(recipe, data), base);
  EXPECT_GT(EstimateSeconds(recipe, data), 1e-9);
}

TEST(RecipeTimeTest, AnAbsurdShapeTakesAbsurdlyLong) {
  Dataset data = ClassificationData(20, 2, 2, 1);
  data.rows = Index{1} << 40;
  data.blocks[0].is_sparse = true;
  data.blocks[0].columns.clear();
  data.blocks[0].sparse.columns = std::numeric_limits<Index>::max();
  const double seconds = EstimateSeconds(ExampleRecipe(), data);
  EXPECT_GT(seconds, 1e12);
  EXPECT_FALSE(std::isnan(seconds));
}

TEST(RecipeTimeTest, RefusesWhatTheMemoryEstimateRefuses) {
  const Dataset data = ClassificationData(200, 3, 4, 1);
  TrainingRecipe recipe = ExampleRecipe();
  recipe.target = "nothing";
  const auto seconds =
      EstimateRecipeSeconds(ExampleEntry(), recipe, data, EqualRates(), RunContext());
  EXPECT_EQ(seconds.status(),
            EstimateRecipeMemory(ExampleEntry(), recipe, data, RunContext()).status());
  EXPECT_FALSE(seconds.ok());
}

TEST(MachineRatesTest, AreMeasuredOnceAndPositive) {
  MachineRates machine;
  const WorkCount rates = machine.Get();
  for (size_t i = 0; i < kNumWorkKinds; ++i) {
    const auto kind = static_cast<WorkKind>(i);
    if (kind != WorkKind::kFamilies) {
      EXPECT_GT(rates[kind], 0) << i;
      EXPECT_LT(rates[kind], 1e-3) << i;
    }
    EXPECT_EQ(machine.Get()[kind], rates[kind]) << i;
  }
}

TEST(MachineRatesTest, UsualOnesAreOfEveryKindAndReadingIsFasterThanWriting) {
  const WorkCount rates = UsualRates();
  for (size_t i = 0; i < kNumWorkKinds; ++i) {
    const auto kind = static_cast<WorkKind>(i);
    EXPECT_EQ(rates[kind] > 0, kind != WorkKind::kFamilies) << i;
  }
  EXPECT_LT(rates[WorkKind::kReads], rates[WorkKind::kEntries]);
}

// Steps of SMO to tell a class of one in so many rows from all others.
double StepsAgainstRest(Index classes) {
  constexpr Index kSamples = 400;
  RandomStream random(1, "steps against rest");
  Matrix x(kSamples, 2);
  Vector targets(kSamples);
  for (Index i = 0; i < kSamples; ++i) {
    x.row(i) << random.Uniform(), random.Uniform();
    targets(i) = x(i, 0) + 0.1 * random.Normal() < 1 / static_cast<double>(classes) ? 1.0 : -1.0;
  }
  auto gram = std::make_shared<Matrix>(kSamples, kSamples);
  for (Index i = 0; i < kSamples; ++i) {
    gram->col(i) = (-20 * (x.rowwise() - x.row(i)).rowwise().squaredNorm()).array().exp();
  }
  const DenseKernelOperator kernel(std::move(gram));
  const SvmProblem problem{*MakeLoss(LossKind::kHinge, 0), targets, Vector::Constant(kSamples, 10)};
  SmoSolver solver(kernel, {.relative_gap = 1e-6});
  RunContext context;
  EXPECT_TRUE(solver.Start(problem, {}, context).ok());
  while (!solver.done() && solver.Step(1000, context).ok()) {
  }
  return static_cast<double>(solver.iterations());
}

TEST(SmoWorkTest, AClassOfManyIsToldFromTheRestInFewerSteps) {
  ProblemShape shape;
  shape.rows = 400;
  const WorkCount of_two = SmoWork(shape, 1, 1);
  shape.classes_against_rest = 10;
  const WorkCount of_ten = SmoWork(shape, 1, 1);
  const double counted = StepsAgainstRest(10) / StepsAgainstRest(2);
  for (const WorkKind kind : {WorkKind::kPairSteps, WorkKind::kEntries, WorkKind::kReads}) {
    const double estimated = of_ten[kind] / of_two[kind];
    EXPECT_LT(estimated, 2 * counted);
    EXPECT_GT(estimated, counted / 2);
  }
}

}  // namespace
}  // namespace mercer
