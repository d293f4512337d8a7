// What a recipe must fail on with its data, whatever the training does: found before a job is
// queued, and again when it runs.
#pragma once

#include <vector>

#include "absl/status/statusor.h"

#include "core/training/recipe/recipe.h"

namespace mercer {

// Target, tasks, class weights and splits. Returns the splits of MakeSplits. Errors: those of
// FindTarget, MakeSplits and OutputCoding::FromLabels; kInvalidArgument with the field
// "class_weights[label]" (no such class) or "validation.folds" (a fold cannot be trained);
// kCancelled.
absl::StatusOr<std::vector<Split>> CheckRows(const LearnerEntry& entry,
                                             const TrainingRecipe& recipe, const Dataset& dataset,
                                             const RunContext& context);

// Whether there are the blocks and columns that the recipe names. Errors: kInvalidArgument with the
// fields "preprocessing.blocks[i]", "kernels[i].block", "kernels[i].columns[j]".
absl::Status CheckNamedColumns(const TrainingRecipe& recipe, const Dataset& dataset);

// A missing value of the features in use that the recipe does not fill in. Time O(cells). Errors:
// BAD_CELL with row and column, and "preprocessing.imputation" as the remedy; kCancelled.
absl::Status CheckMissingValues(const TrainingRecipe& recipe, const Dataset& dataset,
                                const RunContext& context);

// `status` of data that cannot be trained on as a violation of "validation.folds" that names the
// fold, from 1; others as they are.
absl::Status ErrorOfFold(size_t fold, size_t num_folds, const absl::Status& status);

}  // namespace mercer
