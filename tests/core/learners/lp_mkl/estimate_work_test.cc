// What a training is expected to do, before it begins.
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "core/learners/lp_mkl/kernels.h"
#include "core/learners/lp_mkl/lp_mkl.h"
#include "core/training/recipe/recipe.h"
#include "core/training/run/machine_rates.h"
#include "tests/core/learners/lp_mkl/low_rank_problems.h"
#include "tests/support/toy_data.h"

namespace mercer::lp_mkl {
namespace {

constexpr int64_t kLandmarks = 30;
constexpr Index kRowsOfData = 600;

TrainingRecipe LowRankRecipe() {
  TrainingRecipe recipe;
  recipe.learner = "lp_mkl";
  recipe.options = OnLandmarks(kLandmarks, {});
  recipe.kernels.resize(3);
  for (size_t k = 0; k < recipe.kernels.size(); ++k) {
    recipe.kernels[k].prototype.bandwidth = 1.0 + static_cast<double>(k);
  }
  return recipe;
}

// How many values of kernels are counted.
double KernelValues(const TrainingRecipe& recipe, int classes, size_t cache_bytes) {
  RunningConditions conditions;
  conditions.rates[WorkKind::kKernelValues] = 1;
  conditions.cache_bytes = cache_bytes;
  const auto counted = EstimateRecipeSeconds(
      Entry(), recipe, ClassificationData(kRowsOfData, /*columns=*/4, classes, 1), conditions,
      RunContext());
  EXPECT_TRUE(counted.ok()) << counted.status();
  return counted.value_or(std::nan(""));
}

TEST(LpMklEstimateTest, FactorsThatFitTheCacheAreCountedOnceForAllClasses) {
  const TrainingRecipe recipe = LowRankRecipe();
  const double once = 3.0 * kLandmarks * kRowsOfData;
  for (const int classes : {2, 4}) {
    EXPECT_NEAR(KernelValues(recipe, classes, size_t{1} << 20), once, 1e-9 * once) << classes;
  }
  // What no cache keeps each class makes anew, and to be verified once more.
  EXPECT_NEAR(KernelValues(recipe, 4, 0), 4 * 2 * once, 1e-9 * once);
}

TEST(LpMklEstimateTest, APathHasOneSetOfFactorsAndPredictsFromLandmarks) {
  TrainingRecipe recipe = LowRankRecipe();
  recipe.validation = {ValidationKind::kHoldOut, 0.5, std::nullopt};
  const auto of_path = [&](size_t values) {
    recipe.path = OptionPath{"C", std::vector<double>(values, 1.0)};
    return KernelValues(recipe, 2, size_t{1} << 20);
  };
  const double one = of_path(1);
  const double predictions = 3.0 * kLandmarks * kRowsOfData / 2;
  EXPECT_NEAR(one, 2 * predictions, 0.02 * one);
  EXPECT_NEAR(of_path(10) - one, 9 * predictions, 0.02 * one);
}

ProblemShape ShapeOfKernels(Index rows, Index kernels) {
  ProblemShape shape;
  shape.rows = rows;
  shape.columns = 10;
  shape.kernels = kernels;
  shape.sources = 1;
  shape.source_columns = 10;
  shape.pair_columns[WorkKind::kProductColumns] = 10;
  return shape;
}

TEST(LpMklEstimateTest, TheRankThatIsCountedIsThatOfTheFactors) {
  constexpr Index kSamples = 400;
  const Cloud cloud = OverlappingClouds(kSamples, 6, 8);
  const OptionValues options = OnLandmarks(20, {});
  for (const Index kernels : {1, 3, 30}) {
    std::vector<double> widths;
    for (Index k = 0; k < kernels; ++k) {
      widths.push_back(0.5 * std::pow(10.0, static_cast<double>(k) / 30.0));
    }
    const TrainingProblem problem = GaussianProblem(cloud.x, cloud.labels, widths);
    RunContext context;
    LpMklOptions parsed;
    parsed.approximation = Approximation::kNystrom;
    parsed.landmarks = 20;
    const auto made = MakeLpMklKernels(parsed, problem, context);
    ASSERT_TRUE(made.ok()) << made.status();
    const auto rank = static_cast<double>(made->low_rank->joint_rank());
    const auto rows = static_cast<Index>(problem.tasks[0].rows.size());
    const LearnerWork work = *Entry().estimate_work(options, ShapeOfKernels(rows, kernels));
    const double counted =
        work.shared_bytes / static_cast<double>(sizeof(float)) / static_cast<double>(rows);
    EXPECT_GT(counted, rank / 2) << kernels;
    EXPECT_LT(counted, rank * 2) << kernels;
  }
}

// Seconds of all that there is to do once.
double SecondsOfAll(const OptionValues& options, const ProblemShape& shape) {
  const auto work = Entry().estimate_work(options, shape);
  EXPECT_TRUE(work.ok()) << work.status();
  return work.ok() ? SecondsOf(work->training, UsualRates(), 1) +
                         SecondsOf(work->verification, UsualRates(), 1) +
                         SecondsOf(work->shared, UsualRates(), 1)
                   : std::nan("");
}

TEST(LpMklEstimateTest, MoreOfAnythingTakesNoLessTime) {
  for (const std::string loss : {"hinge", "squared_hinge", "logistic"}) {
    for (const bool low_rank : {false, true}) {
      const auto seconds = [&](int step, Index rows, Index kernels, double C, int64_t landmarks) {
        OptionValues options = {{"C", C}, {"loss", loss}};
        options = low_rank ? OnLandmarks(landmarks, options) : options;
        const double found = SecondsOfAll(options, ShapeOfKernels(rows, kernels));
        EXPECT_GT(found, 0) << step;
        return found;
      };
      double last[4] = {};
      for (int step = 0; step < 40; ++step) {
        const double factor = std::pow(1.3, step);
        const auto many = static_cast<Index>(100 * factor);
        const double found[4] = {seconds(step, many, 5, 1, 100),
                                 seconds(step, 20'000, std::min<Index>(step + 1, 1000), 1, 100),
                                 seconds(step, 20'000, 5, 0.01 * factor, 100),
                                 seconds(step, 200'000, 5, 1, std::min<int64_t>(many, 10'000))};
        for (int i = 0; i < 4; ++i) {
          EXPECT_GE(found[i], last[i]) << loss << ", " << low_rank << ", " << i << ", " << step;
          last[i] = found[i];
        }
      }
    }
  }
}

TEST(LpMklEstimateTest, SystemsOfFreeSamplesAreCountedForModelsOfTheWeights) {
  const ProblemShape shape = ShapeOfKernels(5000, 10);
  const auto systems = [&](const char* loop, const ProblemShape& of) {
    const OptionValues options = {{"outer_loop", std::string(loop)}, {"p", 1.0}};
    return Entry().estimate_work(options, of)->training[WorkKind::kFactorOperations];
  };
  EXPECT_EQ(systems("over_relaxed", shape), 0);
  EXPECT_GT(systems("newton", shape), 1e9);
  EXPECT_GT(systems("newton", ShapeOfKernels(10'000, 10)), 7 * systems("newton", shape));
}

}  // namespace
}  // namespace mercer::lp_mkl
