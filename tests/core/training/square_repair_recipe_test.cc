// Recipes whose precomputed kernels are not positive semidefinite.
#include <algorithm>

#include <Eigen/Eigenvalues>
#include <gtest/gtest.h>

#include "core/base/status/errors.h"
#include "core/training/encoding/encoding.h"
#include "core/training/recipe/recipe.h"
#include "tests/core/training/trained_models.h"

namespace mercer {
namespace {

constexpr Index kRows = 80;

constexpr SquareRepairRule kRepairs[] = {SquareRepairRule::kShift, SquareRepairRule::kClip,
                                         SquareRepairRule::kFlip};

// tanh(x'z - 1), a sigmoid "kernel" that is none.
Dataset SigmoidData() {
  Dataset data = ClassificationData(kRows, 3, 2, 7);
  const RowMatrix x = data.blocks[0].values.view();
  const RowMatrix k = ((x * x.transpose()).array() - 1).tanh();
  data.squares.push_back({"sigmoid", SquareKind::kKernel, SharedMatrix(k)});
  data.squares.push_back({"unused", SquareKind::kKernel, SharedMatrix(RowMatrix(-k))});
  return data;
}

TrainingRecipe SigmoidRecipe(SquareRepairRule rule) {
  TrainingRecipe recipe = ExampleRecipe();
  KernelGrid grid;
  grid.prototype.type = KernelType::kPrecomputed;
  grid.prototype.block = "sigmoid";
  recipe.kernels = {grid};
  recipe.preprocessing.square_repair = rule;
  return recipe;
}

TEST(SquareRepairRecipeTest, TheCheckRefusesWithTheSizeOfTheViolation) {
  const absl::Status status =
      TrainExample(SigmoidRecipe(SquareRepairRule::kCheck), SigmoidData()).status();
  EXPECT_EQ(GetReason(status), "NOT_PSD") << status;
  EXPECT_NE(status.message().find("block 'sigmoid'"), absl::string_view::npos) << status;
  EXPECT_NE(status.message().find("the smallest is -"), absl::string_view::npos) << status;
}

TEST(SquareRepairRecipeTest, RepairedKernelsTrainAndAreVerified) {
  const Dataset data = SigmoidData();
  const RowMatrix k = data.squares[0].values.view();
  const Eigen::SelfAdjointEigenSolver<Matrix> eigen{Matrix(k)};
  for (const SquareRepairRule rule : kRepairs) {
    const TrainingRecipe recipe = SigmoidRecipe(rule);
    const absl::StatusOr<TrainedModel> trained = TrainExample(recipe, data);
    ASSERT_TRUE(trained.ok()) << trained.status();
    const Model& model = trained->model;
    EXPECT_LE(model.certificate.accuracy, 1e-3);
    RunContext context;
    const absl::StatusOr<Certificate> verified =
        VerifyModel(ExampleRun(recipe, data), model, trained->witness, context);
    ASSERT_TRUE(verified.ok()) << verified.status();

    ASSERT_EQ(model.preprocessing.repairs().size(), 1u);
    EXPECT_EQ(model.preprocessing.repairs()[0].block, "sigmoid");
    EXPECT_NEAR(model.preprocessing.repairs()[0].smallest(), eigen.eigenvalues()(0), 1e-11);
    const ModelTable& table = model.summary.tables.back();
    EXPECT_EQ(table.name, kRepairsTable);
    EXPECT_EQ(table.rows, std::vector<std::string>{"sigmoid"});
    EXPECT_NEAR(table.values(0, 0), eigen.eigenvalues()(0), 1e-11);

    // Training rows that are predicted get the values that they had in training, but for the
    // diagonal of a shift.
    const auto prediction = PredictRows(std::make_shared<const Model>(model), data);
    ASSERT_TRUE(prediction.ok()) << prediction.status();
    Vector values = eigen.eigenvalues();
    if (rule == SquareRepairRule::kClip) {
      values = values.cwiseMax(0);
    } else if (rule == SquareRepairRule::kFlip) {
      values = values.cwiseAbs();
    }
    const Matrix repaired =
        eigen.eigenvectors() * values.asDiagonal() * eigen.eigenvectors().transpose();
    const TaskWitness& task = trained->witness.tasks[0];
    const Matrix scores = (repaired * task.dual).rowwise() + task.bias.transpose();
    EXPECT_LT((prediction->decision_values - scores).cwiseAbs().maxCoeff(),
              1e-11 * task.dual.cwiseAbs().sum());
  }
}

TEST(SquareRepairRecipeTest, HeldOutRowsAreNotLookedAt) {
  const Dataset data = SigmoidData();
  TrainingRecipe recipe = SigmoidRecipe(SquareRepairRule::kClip);
  recipe.validation = {ValidationKind::kHoldOut, 0.25, {}};
  const absl::StatusOr<TrainedModel> trained = TrainExample(recipe, data);
  ASSERT_TRUE(trained.ok()) << trained.status();
  const std::vector<Index>& rows = trained->model.preprocessing.repairs()[0].rows;
  EXPECT_EQ(static_cast<Index>(rows.size()), trained->model.num_training_rows);
  EXPECT_LT(rows.size(), static_cast<size_t>(kRows));
  Dataset other = data;  // what held-out rows have among themselves does not matter
  RowMatrix k = data.squares[0].values.view();
  for (Index i = 0; i < kRows; ++i) {
    for (Index j = 0; j < kRows; ++j) {
      if (!std::binary_search(rows.begin(), rows.end(), i) &&
          !std::binary_search(rows.begin(), rows.end(), j)) {
        k(i, j) = 1000;
      }
    }
  }
  other.squares[0].values = SharedMatrix(k);
  const absl::StatusOr<TrainedModel> again = TrainExample(recipe, other);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(SaveModel(again->model), SaveModel(trained->model));
}

TEST(SquareRepairRecipeTest, ModelsKeepTheRepair) {
  const Dataset data = SigmoidData();
  for (const SquareRepairRule rule : kRepairs) {
    const auto model = ExampleModel(SigmoidRecipe(rule), data);
    const std::string bytes = SaveModel(*model);
    EXPECT_EQ(FormatVersion(bytes), 6u);
    absl::StatusOr<Model> loaded = LoadModel(bytes);
    ASSERT_TRUE(loaded.ok()) << loaded.status();
    EXPECT_EQ(SaveModel(*loaded), bytes);
    EXPECT_EQ(loaded->preprocessing.options().square_repair, rule);
    const auto before = PredictRows(model, data);
    const auto after = PredictRows(std::make_shared<const Model>(*std::move(loaded)), data);
    ASSERT_TRUE(before.ok() && after.ok()) << before.status() << after.status();
    EXPECT_EQ(before->decision_values, after->decision_values);
  }
}

TEST(SquareRepairRecipeTest, NothingIsKeptOfKernelsThatAreOnes) {
  Dataset data = SigmoidData();
  const RowMatrix x = data.blocks[0].values.view();
  data.squares[0].values = SharedMatrix(RowMatrix(x * x.transpose()));
  const std::string plain = SaveModel(*ExampleModel(SigmoidRecipe(SquareRepairRule::kNone), data));
  for (const SquareRepairRule rule : {SquareRepairRule::kCheck, SquareRepairRule::kClip}) {
    EXPECT_EQ(SaveModel(*ExampleModel(SigmoidRecipe(rule), data)), plain);
  }
}

TEST(SquareRepairRecipeTest, FoldsHaveRepairsOfTheirOwn) {
  TrainingRecipe recipe = SigmoidRecipe(SquareRepairRule::kFlip);
  recipe.validation = {ValidationKind::kFolds, {}, 4};
  recipe.path = OptionPath{"C", {0.1, 1.0}};
  const Dataset data = SigmoidData();
  ExpectSameBitsFromEveryCheckpoint(ExampleRun(recipe, data));
}

TEST(SquareRepairRecipeTest, TheMemoryIsCounted) {
  const Dataset data = SigmoidData();
  const auto bytes = [&](SquareRepairRule rule) {
    const TrainingRecipe recipe = SigmoidRecipe(rule);
    return *EstimateRecipeMemory(ExampleEntry(), recipe, data, RunContext());
  };
  EXPECT_GE(bytes(SquareRepairRule::kClip),
            bytes(SquareRepairRule::kNone) + 3 * kRows * kRows * sizeof(double));
}

}  // namespace
}  // namespace mercer
