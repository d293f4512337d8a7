// Small trainings that several targets start from.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/training/recipe/recipe.h"

namespace mercer::fuzz {

// Every learner of the build, and the template.
const std::vector<const LearnerEntry*>& Learners();

inline constexpr char kCodeVersion[] = "fuzz";

// Ends every run after a few steps, and keeps the last checkpoint.
class ShortRun final : public RunObserver {
 public:
  explicit ShortRun(int max_steps) : steps_left_(max_steps) {}

  void OnProgress(const ProgressEvent& /*event*/) override { --steps_left_; }
  bool WantsCheckpoint() override { return true; }
  void OnCheckpoint(std::string state) override { checkpoints_.push_back(std::move(state)); }
  bool StopRequested() override { return steps_left_ <= 0; }
  const std::vector<std::string>& checkpoints() const { return checkpoints_; }

 private:
  int steps_left_;
  std::vector<std::string> checkpoints_;
};

// A data set with a numeric and a categorical column, a square block "gram" and a target "label" of three classes.
Dataset MixedData();
// Classification on MixedData with two kernels.
TrainingRecipe MixedRecipe(const LearnerEntry& entry);
// The same with two folds.
TrainingRecipe FoldsRecipe(const LearnerEntry& entry);

RecipeRun RunOf(const LearnerEntry& entry, const TrainingRecipe& recipe, const Dataset& dataset);
// Trains a model; it works, or the process ends.
TrainedModel Train(const LearnerEntry& entry, const TrainingRecipe& recipe, const Dataset& dataset);

}  // namespace mercer::fuzz
