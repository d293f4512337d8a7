// Data sets and kernels that cannot be trained on, from the recipe down: each error says what is
// wrong and where.
#include <cmath>

#include <gtest/gtest.h>

#include "core/base/status/errors.h"
#include "core/io/text/readers.h"
#include "tests/core/training/trained_models.h"

namespace mercer {
namespace {

std::string Text(const absl::Status& status) { return std::string(status.message()); }

// A Gram matrix with the eigenvalues 3 and -1.
Dataset IndefiniteData() {
  Dataset data = ClassificationData(2, 2, 2, 1);
  data.squares.push_back({"gram", SquareKind::kKernel, SharedMatrix(RowMatrix{{1, 2}, {2, 1}})});
  return data;
}

KernelGrid GivenKernel() {
  KernelGrid grid;
  grid.prototype.type = KernelType::kPrecomputed;
  return grid;
}

TEST(BadDataTest, OnlyATargetColumn) {
  CsvOptions options;
  options.roles["y"] = ColumnRole::kTarget;
  const auto source = MakeMemorySource("y\n0\n1\n0\n1\n");
  const absl::StatusOr<Dataset> data = ReadCsv(*source, options);
  ASSERT_TRUE(data.ok()) << data.status();
  const absl::Status status = TrainExample(ExampleRecipe(), *data).status();
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  EXPECT_NE(Text(status).find("no features"), std::string::npos) << status;
}

TEST(BadDataTest, OneFeatureColumnTrains) {
  EXPECT_TRUE(TrainExample(ExampleRecipe(), ClassificationData(20, 1, 2, 1)).ok());
}

TEST(BadDataTest, ValuesThatAreNotFiniteAreNamedInEveryPart) {
  for (const double bad : {std::nan(""), kInfinity, -kInfinity}) {
    Dataset square = IndefiniteData();
    RowMatrix gram = square.squares[0].values.view();
    gram(1, 0) = bad;
    square.squares[0].values = SharedMatrix(gram);
    EXPECT_NE(Text(ValidateDataset(square)).find("row 2, column 'gram[1]'"), std::string::npos);

    Dataset dense = ClassificationData(20, 2, 2, 1);
    RowMatrix values = dense.blocks[0].values.view();
    values(4, 1) = bad;
    dense.blocks[0].values = SharedMatrix(values);
    const absl::Status status = TrainExample(ExampleRecipe(), dense).status();
    EXPECT_NE(Text(status).find("row 5, column 'x2'"), std::string::npos) << status;
  }
}

TEST(BadDataTest, IndefiniteGramsAreRefused) {
  TrainingRecipe recipe = ExampleRecipe();
  recipe.options["C"] = 10.0;
  recipe.kernels = {GivenKernel()};
  const absl::Status status = TrainExample(recipe, IndefiniteData()).status();
  EXPECT_EQ(GetReason(status), "NOT_PSD") << status;
  EXPECT_NE(Text(status).find("kernel"), std::string::npos) << status;
}

TEST(BadDataTest, KernelsOfEveryColumnAreCountedBeforeTheyAreMade) {
  Dataset data = ClassificationData(4, 2000, 2, 1);
  TrainingRecipe recipe = ExampleRecipe();
  recipe.kernels = {OneKernel(1)};
  recipe.kernels[0].per_column = true;
  recipe.kernels[0].bandwidths.assign(500, 1.0);  // a million
  const absl::Status status = TrainExample(recipe, data).status();
  ASSERT_EQ(GetFieldViolations(status).size(), 1u) << status;
  EXPECT_EQ(GetFieldViolations(status)[0].field, "kernels");
}

TEST(BadDataTest, ConstantDataNeedGivenBandwidths) {
  Dataset data = ClassificationData(20, 2, 2, 1);
  data.blocks[0].values = SharedMatrix(RowMatrix::Constant(20, 2, 3.0));
  TrainingRecipe recipe = ExampleRecipe();
  EXPECT_TRUE(TrainExample(recipe, data).ok());
  recipe.kernels = {OneKernel(1)};
  recipe.kernels[0].rule = BandwidthRule::kMedianMultiples;
  const absl::Status status = TrainExample(recipe, data).status();
  ASSERT_EQ(GetFieldViolations(status).size(), 1u) << status;
  EXPECT_EQ(GetFieldViolations(status)[0].field, "kernels[0].bandwidths");
}

TEST(BadDataTest, AConstantKernelCannotBeRescaledToUnitVariance) {
  Dataset data = ClassificationData(20, 2, 2, 1);
  data.blocks[0].values = SharedMatrix(RowMatrix::Constant(20, 2, 3.0));
  TrainingRecipe recipe = ExampleRecipe();
  recipe.kernels[1].prototype.normalization.scaling = KernelScaling::kVariance;
  const absl::Status status = TrainExample(recipe, data).status();
  EXPECT_EQ(GetReason(status), "ZERO_KERNEL") << status;
  EXPECT_NE(Text(status).find("kernels[1]"), std::string::npos) << status;
}

}  // namespace
}  // namespace mercer
