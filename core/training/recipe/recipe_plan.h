// A recipe resolved for its data: what is decided once, before the first training.
//
// A plan is a list of trainings. Without a path the model comes first and folds after it, so that a
// run that is stopped or out of time has a model. A path trains for several values of an option in
// turn, each from the solution of the one before where the learner can begin with one, and keeps
// the best by validation; a regularisation path is one over the weight of a penalty. With rows held
// out the model is that of the value whose score on them is best. With folds each fold has a path
// of its own, and after them the model is trained on all rows with the value whose mean score over
// the folds is best; a path that keeps all models then trains those of the other values too.
// Trainings on random parts of the model's rows, which tell how stable its selection is, come last:
// with the options of the model, or of the best value. The score is the accuracy, of numbers the
// rmse; of equal ones the first counts.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"

#include "core/base/status/errors.h"
#include "core/base/status/options.h"
#include "core/data/splits/splits.h"
#include "core/training/recipe/recipe.h"

namespace mercer {

struct PlannedTraining {
  std::string name;  // for people: "train", "fold 2 of 5, value 1 of 3"
  // The split whose rows it trains on, and by whose other rows it is scored. None: all rows that
  // the model itself is trained on, without a score.
  std::optional<size_t> split = std::nullopt;
  size_t value = 0;  // of the path, from 0; known for trainings on a split
  // Of models that are trained after folds: the place among them; that of the best value comes
  // first.
  size_t place = 0;
  // The share of a limit of time that may have passed when it ends, in (0, 1]: the rest is kept
  // for those after it.
  double time_share = 1;
  // The part of the model's rows that it trains on, for its selection alone.
  std::optional<size_t> part = std::nullopt;

  // Whether a model comes from it that is trained on all the rows there are for it.
  bool is_of_all_rows() const { return !split.has_value() && !part.has_value(); }
};

// The trainings of `recipe` with so many splits, in the order of the run.
std::vector<PlannedTraining> ListTrainings(const TrainingRecipe& recipe, size_t num_splits);

// The options of `recipe` for each value of its path in turn, or as they are.
std::vector<OptionValues> OptionsOfTrainings(const TrainingRecipe& recipe);

// What a path can be refused for before there is data; violations are named "path.option",
// "path.values[2]".
void CheckPath(const LearnerEntry& entry, const TrainingRecipe& recipe,
               FieldViolations& violations);

// How many outputs of a training of that shape are learned side by side (composite_learner.h): of
// one-vs-one as many as stay within a bound on what they take together, else one. Whatever the
// shape says of files, the number is the same. Errors: those of the learner's estimate.
absl::StatusOr<Index> PartsAtOnce(const LearnerEntry& entry, const TrainingRecipe& recipe,
                                  const ProblemShape& shape);

// Immutable. Recipe and data set must outlive it.
class RecipePlan {
 public:
  // Checks what can be checked before any training and draws the splits. Errors: those of
  // ValidateRecipe and CheckRows.
  static absl::StatusOr<RecipePlan> Resolve(const RecipeRun& run, const RunContext& context);

  const RoleColumn& target() const { return *target_; }
  const std::vector<Split>& splits() const { return splits_; }
  const std::vector<PlannedTraining>& trainings() const { return trainings_; }
  // Of the path; 1 without one.
  size_t num_values() const;
  // Every option of the learner, for that value of the path.
  OptionValues options(size_t value) const;
  // Of every training.
  Index parts_at_once() const { return parts_at_once_; }
  // Splits are folds: trainings on them give scores, and the model is another.
  bool has_folds() const { return recipe_->validation.kind == ValidationKind::kFolds; }

 private:
  RecipePlan(const TrainingRecipe& recipe, OptionValues options, const RoleColumn& target,
             std::vector<Split> splits, Index parts_at_once)
      : recipe_(&recipe),
        options_(std::move(options)),
        target_(&target),
        splits_(std::move(splits)),
        parts_at_once_(parts_at_once),
        trainings_(ListTrainings(recipe, splits_.size())) {}

  const TrainingRecipe* recipe_;
  OptionValues options_;  // without the value of the path
  const RoleColumn* target_;
  std::vector<Split> splits_;
  Index parts_at_once_;
  std::vector<PlannedTraining> trainings_;
};

}  // namespace mercer
