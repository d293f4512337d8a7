// What a recipe that leaves something open means for its data. Decided here once, before a job is
// stored, for every client; the stored recipe leaves nothing of it open.
#pragma once

#include <optional>
#include <vector>

#include "absl/status/statusor.h"

#include "core/training/recipe/recipe.h"
#include "core/training/recipe/warnings.h"

namespace mercer {

// A numeric target with more different values is taken for a number, not for names of classes.
inline constexpr size_t kMostGuessedClasses = 20;
// Folds of the validation that chooses from a default path, where a request has none.
inline constexpr int kFoldsOfDefaultPath = 3;

struct CompletedRecipe {
  TrainingRecipe recipe;
  // A line for everything that was decided otherwise than before there were rules, and for what the
  // user should know of the data before the training.
  std::vector<TrainingWarning> decisions;
};

// The rules:
// 1. The target, when `kind_is_open`, is a number if its column is numeric and has more than
//    kMostGuessedClasses different values, or more than two that are not all whole; unless the
//    recipe asks for something that only classes have (a coding, class weights, a choice of an
//    option). Else it is a class.
// 2. A learner with a default path goes through it when the recipe has no path, and validates by
//    kFoldsOfDefaultPath folds when it has no validation; by the rows that a column of the role
//    split holds out, if there is one; by one split under a time limit, which folds could not be
//    sure to keep. Data that cannot be divided so go without a path.
// 3. An approximation that is expected to cost more than none stays, but the user is told.
// Errors: those of FindTarget; kInvalidArgument naming the field "learner" when it learns classes
// alone and an open target has more different numbers than there may be classes; kCancelled.
absl::StatusOr<CompletedRecipe> CompleteRecipe(const LearnerEntry& entry,
                                               const TrainingRecipe& recipe, bool kind_is_open,
                                               const Dataset& dataset, const RunContext& context);

}  // namespace mercer
