// Which rows a recipe trains on and which it holds out.
#pragma once

#include <vector>

#include "absl/status/statusor.h"

#include "core/training/recipe/recipe.h"

namespace mercer {

// The splits of the recipe: none, one, or one per fold. A column with the role split says which
// they are; else they are drawn with the recipe's seed, and the rows of one group of a column with
// the role group stay together. Tasks and classes are divided in the same proportions, as far as
// groups let them be. Errors: kInvalidArgument (a row without a target, group or part; fields
// "validation", "validation.*"); kCancelled.
absl::StatusOr<std::vector<Split>> MakeSplits(const LearnerEntry& entry,
                                              const TrainingRecipe& recipe, const Dataset& dataset,
                                              const RoleColumn& target, const RunContext& context);

// Refuses a number of folds that the rows or groups cannot fill, before anything is made of it. The
// violation is that of MakeSplits. Errors besides: kCancelled.
absl::Status CheckFoldCount(const TrainingRecipe& recipe, const Dataset& dataset,
                            const RunContext& context);

// The numbers that are not missing, in ascending order. Errors: kCancelled.
absl::StatusOr<std::vector<double>> SortedKnown(const Vector& values, const RunContext& context);

// How many different numbers there are; missing ones do not count. Errors: kCancelled.
absl::StatusOr<size_t> CountDifferent(const Vector& values, const RunContext& context);

// The rows that the model itself is trained on.
std::vector<Index> FinalTrainingRows(const TrainingRecipe& recipe, const Dataset& dataset,
                                     const std::vector<Split>& splits);

}  // namespace mercer
