// The sizes of a recipe's training, known before any row is prepared.
#pragma once

#include <vector>

#include "absl/status/statusor.h"

#include "core/base/memory/scratch_space.h"
#include "core/training/recipe/recipe.h"

namespace mercer {

// Upper bounds of the sizes, for a run with that scratch space (null: without). Errors:
// kInvalidArgument naming the field "target" or "validation.folds"; kCancelled.
absl::StatusOr<ProblemShape> ShapeOfRecipe(const LearnerEntry& entry, const TrainingRecipe& recipe,
                                           const Dataset& dataset, const RunContext& context,
                                           const ScratchSpace* scratch = nullptr);

// Whether one run learns all outputs, so that none has a run of its own.
bool HasOneRun(const LearnerEntry& entry, const TrainingRecipe& recipe);

// The feature blocks of the data set that the recipe trains on.
std::vector<const FeatureBlock*> UsedBlocks(const TrainingRecipe& recipe, const Dataset& dataset);

// The number of columns after preprocessing: one per numeric column, one per category.
Index PreparedColumns(const FeatureBlock& block);

// The number of trainings besides that of the model. Errors: kCancelled.
absl::StatusOr<Index> CountFolds(const TrainingRecipe& recipe, const Dataset& dataset,
                                 const RunContext& context);

}  // namespace mercer
