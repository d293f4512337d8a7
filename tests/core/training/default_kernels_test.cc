// The kernels of a recipe that names none.
#include "core/training/recipe/default_kernels.h"

#include <gtest/gtest.h>

#include "core/training/recipe/recipe_problem.h"
#include "tests/core/training/trained_models.h"

namespace mercer {
namespace {

std::vector<KernelType> Types(const std::vector<KernelGrid>& grids) {
  std::vector<KernelType> types;
  for (const KernelGrid& grid : grids) {
    types.push_back(grid.prototype.type);
  }
  return types;
}

TEST(DefaultKernelsTest, AreGaussiansOfSeveralMultiplesOfTheMedian) {
  const std::vector<KernelGrid> grids = DefaultKernels({}, ClassificationData(30, 3, 2, 1));
  ASSERT_EQ(Types(grids), std::vector<KernelType>{KernelType::kGaussian});
  EXPECT_EQ(grids[0].rule, BandwidthRule::kMedianMultiples);
  EXPECT_EQ(grids[0].bandwidths, (std::vector<double>{0.4, 1.0, 2.5}));
  const TrainingRecipe regression = ExampleRecipe(TargetKind::kRegression);
  EXPECT_EQ(DefaultKernels(regression, ClassificationData(30, 3, 2, 1))[0].bandwidths,
            (std::vector<double>{0.5, 1.0, 2.5}));
}

TEST(DefaultKernelsTest, AreLinearTooWithAsManyColumnsAsRows) {
  const std::vector<KernelType> both = {KernelType::kGaussian, KernelType::kLinear};
  const std::vector<KernelGrid> grids = DefaultKernels({}, ClassificationData(12, 12, 2, 1));
  ASSERT_EQ(Types(grids), both);
  EXPECT_EQ(grids[1].prototype.normalization.scaling, KernelScaling::kMeanDiagonal);
  EXPECT_EQ(Types(DefaultKernels({}, ClassificationData(13, 12, 2, 1))).size(), 1U);
}

TEST(DefaultKernelsTest, CountColumnsOfTheBlocksInUse) {
  Dataset data = ClassificationData(10, 2, 2, 1);
  FeatureBlock wide;
  wide.name = "wide";
  wide.values = SharedMatrix(RowMatrix::Random(10, 40).eval());
  data.blocks.push_back(wide);
  EXPECT_EQ(DefaultKernels({}, data).size(), 2U);
  TrainingRecipe recipe;
  recipe.preprocessing.blocks = {data.blocks[0].name};
  EXPECT_EQ(DefaultKernels(recipe, data).size(), 1U);
}

TEST(DefaultKernelsTest, AreThoseOfSquareBlocksToo) {
  Dataset data = ClassificationData(10, 2, 2, 1);
  data.squares.push_back(
      {"gram", SquareKind::kKernel, SharedMatrix(RowMatrix::Identity(10, 10).eval())});
  data.squares.push_back(
      {"far", SquareKind::kDistance,
       SharedMatrix((RowMatrix::Ones(10, 10) - RowMatrix::Identity(10, 10)).eval())});
  const std::vector<KernelGrid> grids = DefaultKernels({}, data);
  ASSERT_EQ(Types(grids), (std::vector<KernelType>{KernelType::kGaussian, KernelType::kPrecomputed,
                                                   KernelType::kDistance}));
  EXPECT_EQ(grids[1].prototype.block, "gram");
  EXPECT_EQ(grids[2].prototype.block, "far");
  TrainingRecipe chosen;
  chosen.preprocessing.blocks = {data.blocks[0].name, "far"};
  EXPECT_EQ(Types(DefaultKernels(chosen, data)),
            (std::vector<KernelType>{KernelType::kGaussian, KernelType::kDistance}));
  data.blocks.clear();
  EXPECT_EQ(DefaultKernels({}, data).size(), 2U);
}

TEST(DefaultKernelsTest, StandInOnlyForKernelsThatALearnerTakesAndNobodyNamed) {
  const Dataset data = ClassificationData(30, 3, 2, 1);
  TrainingRecipe recipe = ExampleRecipe();
  LearnerEntry entry = ExampleEntry();
  ASSERT_FALSE(recipe.kernels.empty());
  EXPECT_EQ(Types(KernelsOrDefault(entry, recipe, data)), Types(recipe.kernels));
  recipe.kernels.clear();
  EXPECT_EQ(KernelsOrDefault(entry, recipe, data).size(), 1U);
  entry.uses_kernels = false;
  EXPECT_TRUE(KernelsOrDefault(entry, recipe, data).empty());
}

TEST(DefaultKernelsTest, AreInTheModel) {
  TrainingRecipe recipe = ExampleRecipe();
  recipe.kernels.clear();
  const absl::StatusOr<TrainedModel> trained =
      TrainExample(recipe, ClassificationData(30, 3, 2, 1));
  ASSERT_TRUE(trained.ok()) << trained.status();
  ASSERT_EQ(trained->model.summary.kernel_names.size(), 3U);
}

}  // namespace
}  // namespace mercer
