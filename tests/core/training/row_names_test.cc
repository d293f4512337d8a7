// Errors name the row of the data set, whatever part of it a step looks at.
#include <cmath>

#include <gtest/gtest.h>

#include "core/base/status/errors.h"
#include "core/kernels/gram/kernel_family.h"
#include "core/training/contract/single_task.h"
#include "tests/core/training/trained_models.h"

namespace mercer {
namespace {

std::string RowOf(const absl::Status& status) {
  for (const auto& [key, value] : GetErrorMetadata(status)) {
    if (key == "row") {
      return value;
    }
  }
  return "none";
}

// Positive columns; the first `first_held_out` rows train, the others are held out.
Dataset HistogramData(Index rows, Index first_held_out) {
  Dataset data = ClassificationData(rows, 3, 2, 1);
  data.blocks[0].values = SharedMatrix(RowMatrix(data.blocks[0].values.view().array().abs()));
  Vector part = Vector::Zero(rows);
  part.tail(rows - first_held_out).setOnes();
  data.role_columns.push_back({ColumnRole::kSplit, {"part", true, {"train", "validation"}}, part});
  return data;
}

Dataset WithValue(const Dataset& data, Index row, double value) {
  Dataset changed = data;
  RowMatrix values = data.blocks[0].values.view();
  values(row, 1) = value;
  changed.blocks[0].values = SharedMatrix(values);
  return changed;
}

TrainingRecipe ChiSquareRecipe() {
  TrainingRecipe recipe = ExampleRecipe();
  recipe.preprocessing.scaling = Scaling::kNone;
  recipe.kernels = {OneKernel(1)};
  recipe.kernels[0].prototype.type = KernelType::kChiSquare;
  recipe.validation.kind = ValidationKind::kHoldOut;
  return recipe;
}

// Training rows 11 .. 60 of 60.
Dataset LateTraining() {
  Dataset data = HistogramData(60, 10);
  data.role_columns[1].values = 1 - data.role_columns[1].values.array();
  return data;
}

TEST(RowNamesTest, TrainingRowsBehindTheHeldOutOnes) {
  const absl::Status status =
      TrainExample(ChiSquareRecipe(), WithValue(LateTraining(), 40, -1)).status();
  EXPECT_EQ(GetReason(status), "NEGATIVE_VALUE") << status;
  EXPECT_EQ(RowOf(status), "41") << status;
}

TEST(RowNamesTest, TheMedianOfTheTrainingRows) {
  TrainingRecipe recipe = ChiSquareRecipe();
  recipe.kernels[0].rule = BandwidthRule::kMedianMultiples;
  const absl::Status status = TrainExample(recipe, WithValue(LateTraining(), 40, -1)).status();
  EXPECT_NE(status.message().find("row 41, column 'x2'"), std::string::npos) << status;
}

TEST(RowNamesTest, HeldOutRows) {
  const absl::Status status =
      TrainExample(ChiSquareRecipe(), WithValue(HistogramData(60, 40), 52, -1)).status();
  EXPECT_EQ(GetReason(status), "NEGATIVE_VALUE") << status;
  EXPECT_EQ(RowOf(status), "53") << status;
}

TEST(RowNamesTest, RowsOfALaterChunkOfAPrediction) {
  const auto trained = TrainExample(ChiSquareRecipe(), HistogramData(60, 40));
  ASSERT_TRUE(trained.ok()) << trained.status();
  const Dataset rows = WithValue(HistogramData(3000, 10), 2500, -1);
  for (const bool contributions : {false, true}) {
    const absl::Status status = PredictRows(std::make_shared<const Model>(trained->model), rows,
                                            {.contributions = contributions})
                                    .status();
    EXPECT_EQ(GetReason(status), "NEGATIVE_VALUE") << status;
    EXPECT_EQ(RowOf(status), "2501") << status;
  }
}

TEST(RowNamesTest, UnitDiagonalsAndSquaresOfSelectedRows) {
  PreparedData data = Prepared(RowMatrix::Ones(8, 2));
  RowMatrix values = RowMatrix::Ones(8, 2);
  values.row(6).setZero();
  data.blocks[0].values = SharedMatrix(values);
  RowMatrix distances = RowMatrix::Ones(8, 8);
  distances(6, 5) = -1;
  distances(5, 6) = -1;
  data.squares.push_back({"D", SquareKind::kDistance, SharedMatrix(distances)});
  RowMatrix gram = RowMatrix::Identity(8, 8);
  gram(6, 7) = 0.5;
  data.squares.push_back({"K", SquareKind::kKernel, SharedMatrix(gram)});
  const std::vector<Index> rows = {1, 5, 6, 7};
  const auto selected = std::make_shared<const PreparedData>(SelectRows(data, rows, rows));
  KernelSpec unit;
  unit.type = KernelType::kLinear;
  unit.normalization.unit_diagonal = true;
  KernelSpec distance;
  distance.type = KernelType::kDistance;
  KernelSpec given;
  given.type = KernelType::kPrecomputed;
  RunContext context;
  const auto error = [&](const KernelSpec& kernel) {
    return MakeExactKernelFamily(selected, {}, {kernel}, context).status();
  };
  EXPECT_EQ(RowOf(error(unit)), "7") << error(unit);
  EXPECT_EQ(RowOf(error(distance)), "7") << error(distance);
  EXPECT_NE(error(distance).message().find("column 6"), std::string::npos) << error(distance);
  EXPECT_EQ(RowOf(error(given)), "7") << error(given);
}

TEST(RowNamesTest, TargetsAndCostsOfATask) {
  TrainingProblem problem = ToyProblem(TargetKind::kClassification, 6, 2, {1.0});
  TaskData& task = problem.tasks[0];
  task.rows = {2, 3, 5, 8, 13, 21};
  task.targets(3, 0) = 0;
  EXPECT_EQ(RowOf(CheckRowsAndKernels(problem)), "9");
  task.targets(3, 0) = 1;
  task.costs(4) = -1;
  EXPECT_EQ(RowOf(CheckRowsAndKernels(problem)), "14");
}

}  // namespace
}  // namespace mercer
