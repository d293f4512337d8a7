#include "tests/fuzz/support/training/training.h"

#include <cstdio>
#include <utility>

#include "core/learners/_template/template_learner.h"
#include "core/learners/registry.h"
#include "tests/fuzz/support/checks.h"
#include "tests/support/toy_data.h"

namespace mercer::fuzz {

const std::vector<const LearnerEntry*>& Learners() {
  static const auto& learners = *[] {
    auto* all = new std::vector<const LearnerEntry*>(AllLearners());
    all->push_back(new LearnerEntry(template_learner::Entry()));
    return all;
  }();
  return learners;
}

Dataset MixedData() {
  constexpr Index kRows = 12;
  Dataset dataset = ClassificationData(kRows, 2, 3, 1);
  FeatureBlock& block = dataset.blocks[0];
  RowMatrix values(kRows, 3);
  values.leftCols(2) = block.values.view();
  for (Index row = 0; row < kRows; ++row) {
    values(row, 2) = static_cast<double>(row % 2);
  }
  block.values = SharedMatrix(std::move(values));
  block.columns.push_back({"colour", true, {"red", "blue"}});
  RowMatrix gram = RowMatrix::Identity(kRows, kRows);
  dataset.squares.push_back({"gram", SquareKind::kKernel, SharedMatrix(std::move(gram))});
  return dataset;
}

TrainingRecipe MixedRecipe(const LearnerEntry& entry) {
  TrainingRecipe recipe;
  recipe.learner = entry.name;
  recipe.target = "label";
  recipe.kind = entry.classification ? TargetKind::kClassification : TargetKind::kRegression;
  KernelGrid gaussian;
  gaussian.prototype.bandwidth = 2;
  KernelGrid precomputed;
  precomputed.prototype.type = KernelType::kPrecomputed;
  precomputed.prototype.block = "gram";
  if (entry.uses_kernels) {
    recipe.kernels = {gaussian, precomputed};
  }
  recipe.seed = 3;
  return recipe;
}

TrainingRecipe FoldsRecipe(const LearnerEntry& entry) {
  TrainingRecipe recipe = MixedRecipe(entry);
  recipe.validation.kind = ValidationKind::kFolds;
  recipe.validation.folds = 2;
  return recipe;
}

RecipeRun RunOf(const LearnerEntry& entry, const TrainingRecipe& recipe, const Dataset& dataset) {
  return {&entry, &recipe, &dataset, "digest", kCodeVersion};
}

TrainedModel Train(const LearnerEntry& entry, const TrainingRecipe& recipe,
                   const Dataset& dataset) {
  RunContext context;
  ShortRun observer(1000);
  absl::StatusOr<TrainedModel> trained =
      RunRecipe(RunOf(entry, recipe, dataset), {}, context, observer);
  if (!trained.ok()) {
    std::fprintf(stderr, "%s\n", trained.status().ToString().c_str());
  }
  Require(trained.ok(), "a small training works");
  return *std::move(trained);
}

}  // namespace mercer::fuzz
