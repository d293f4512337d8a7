// The sizes of a recipe's training, known before any row is prepared.
#pragma once

#include "absl/status/statusor.h"

#include "core/training/recipe.h"

namespace mercer {

// Upper bounds. Errors: kInvalidArgument naming the field "target" or "validation.folds".
absl::StatusOr<ProblemShape> ShapeOfRecipe(const LearnerEntry& entry, const TrainingRecipe& recipe,
                                           const Dataset& dataset);

// Trainings besides that of the model.
Index CountFolds(const TrainingRecipe& recipe, const Dataset& dataset);

}  // namespace mercer
