// Names and groups of kernels from the recipe to the model, its file and its predictions.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/training/encoding/encoding.h"
#include "tests/core/training/trained_models.h"
#include "tests/support/model_terms.h"

namespace mercer {
namespace {

using testing::ElementsAre;

KernelGrid Labelled(double bandwidth, const std::string& name, const std::string& group) {
  KernelGrid grid = OneKernel(bandwidth);
  grid.prototype.labels = {name, group};
  return grid;
}

// Three classes, of which each is an output; three kernels in two groups, one of them without name.
TrainingRecipe LabelledRecipe() {
  TrainingRecipe recipe = ExampleRecipe();
  recipe.kernels = {Labelled(1, "fine", "colour"), Labelled(2, "", "colour"),
                    Labelled(4, "coarse", "")};
  return recipe;
}

TEST(KernelLabelsInModelsTest, ModelsOfSeveralOutputsHaveThem) {
  const auto model = ExampleModel(LabelledRecipe(), ClassificationData(36, 2, 3, 1));
  EXPECT_THAT(model->summary.kernel_names, ElementsAre("fine", "gaussian(bandwidth=2)", "coarse"));
  EXPECT_THAT(model->summary.kernel_groups, ElementsAre("colour", "colour", ""));
  EXPECT_EQ(model->summary.kernel_weights.rows(), 3);
  EXPECT_EQ(model->summary.kernel_weights.cols(), 3);
  ASSERT_EQ(model->function.terms.size(), 1u);
  const std::vector<KernelSpec>& kernels = TermAt<KernelTerm>(model->function).kernels;
  ASSERT_EQ(kernels.size(), 3u);
  EXPECT_EQ(kernels[0].labels, (KernelLabels{"fine", "colour"}));
  EXPECT_EQ(kernels[1].labels, (KernelLabels{"", "colour"}));
  EXPECT_EQ(kernels[2].labels, (KernelLabels{"coarse", ""}));
}

TEST(KernelLabelsInModelsTest, FilesHaveThemInVersionFiveAndNoOthersHave) {
  const Dataset data = ClassificationData(36, 2, 3, 1);
  const auto model = ExampleModel(LabelledRecipe(), data);
  const std::string bytes = SaveModel(*model);
  EXPECT_EQ(FormatVersion(bytes), 5u);
  const absl::StatusOr<Model> loaded = LoadModel(bytes);
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  EXPECT_EQ(loaded->summary.kernel_groups, model->summary.kernel_groups);
  EXPECT_EQ(TermAt<KernelTerm>(loaded->function).kernels,
            TermAt<KernelTerm>(model->function).kernels);
  EXPECT_EQ(SaveModel(*loaded), bytes);
  // A name or a group alone is kept as well.
  for (const KernelGrid& grid : {Labelled(1, "fine", ""), Labelled(1, "", "colour")}) {
    TrainingRecipe recipe = ExampleRecipe();
    recipe.kernels = {grid};
    const auto one = ExampleModel(recipe, data);
    EXPECT_TRUE(one->summary.kernel_groups.empty()) << "there is one group";
    const absl::StatusOr<Model> read = LoadModel(SaveModel(*one));
    ASSERT_TRUE(read.ok()) << read.status();
    EXPECT_EQ(TermAt<KernelTerm>(read->function).kernels[0].labels, grid.prototype.labels);
  }
  // The same model without them is the file of before.
  TrainingRecipe plain = LabelledRecipe();
  for (KernelGrid& grid : plain.kernels) {
    grid.prototype.labels = {};
  }
  const std::string without = SaveModel(*ExampleModel(plain, data));
  EXPECT_EQ(FormatVersion(without), 1u);
  Model stripped = *model;
  stripped.summary.kernel_groups.clear();
  stripped.summary.kernel_names = LoadModel(without)->summary.kernel_names;
  ChangeTerm<KernelTerm>(stripped.function, [](KernelTerm& term) {
    for (KernelSpec& kernel : term.kernels) {
      kernel.labels = {};
    }
  });
  EXPECT_TRUE(SaveModel(stripped) == without);
}

TEST(KernelLabelsInModelsTest, EveryTruncationAndGroupsThatDoNotFitAreDataLoss) {
  Model model = *ExampleModel(LabelledRecipe(), ClassificationData(9, 1, 3, 4));
  const std::string bytes = SaveModel(model);
  const absl::StatusOr<std::string_view> payload = UnframePayload("MRCRMODL", 5, "model", bytes);
  ASSERT_TRUE(payload.ok()) << payload.status();
  for (size_t length = payload->size() - 200; length < payload->size(); ++length) {
    const std::string cut = FramePayload("MRCRMODL", 5, payload->substr(0, length));
    EXPECT_EQ(LoadModel(cut).status().code(), absl::StatusCode::kDataLoss) << length;
  }
  model.summary.kernel_groups.pop_back();
  EXPECT_EQ(CheckModel(model).code(), absl::StatusCode::kDataLoss);
}

TEST(KernelLabelsInModelsTest, CheckpointsKeepThem) {
  TrainingRecipe recipe = LabelledRecipe();
  recipe.validation = {ValidationKind::kHoldOut, 0.2, 0};
  ExpectSameBitsFromEveryCheckpoint(recipe, ClassificationData(40, 2, 3, 1));
}

TEST(KernelLabelsInModelsTest, PredictionsTellTheSharesByName) {
  const Dataset data = ClassificationData(36, 2, 3, 1);
  const absl::StatusOr<Prediction> prediction =
      PredictRows(ExampleModel(LabelledRecipe(), data), data, {.contributions = true});
  ASSERT_TRUE(prediction.ok()) << prediction.status();
  EXPECT_THAT(prediction->contribution_names,
              ElementsAre("fine", "gaussian(bandwidth=2)", "coarse", "bias"));
}

// Two kernels that differ in their names alone are two kernels of a model: each output says which
// of them it has.
TEST(KernelLabelsInModelsTest, OutputsAreMergedByKernelsWithTheirNames) {
  const PreparedData inputs = Prepared(NormalMatrix(4, 2, 1));
  std::vector<KernelSpec> kernels(2);
  kernels[0].labels.name = "a";
  kernels[1].labels.name = "b";
  const auto part = [&](const Vector& weights) {
    return MakeKernelFunction(inputs, {0, 1, 2, 3}, kernels, weights, Vector::Ones(4), 0);
  };
  const ModelFunction apart = MergeOutputs({part(Vector{{1, 0}}), part(Vector{{0, 1}})}, inputs);
  ASSERT_EQ(apart.terms.size(), 1u);
  EXPECT_EQ(TermAt<KernelTerm>(apart).kernels, kernels);
  EXPECT_EQ(TermAt<KernelTerm>(apart).weights, (Matrix{{1, 0}, {0, 1}}));
  const ModelFunction same = MergeOutputs({part(Vector{{1, 2}}), part(Vector{{3, 4}})}, inputs);
  ASSERT_EQ(same.terms.size(), 1u);
  EXPECT_THAT(TermAt<KernelTerm>(same).outputs, ElementsAre(0, 1));
}

}  // namespace
}  // namespace mercer
