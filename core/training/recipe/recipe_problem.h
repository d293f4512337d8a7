// The training problem of a recipe on some rows of its data set: what RunRecipe trains on and
// VerifyModel checks against.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

#include "core/training/recipe/recipe.h"

namespace mercer {

// Error about one field of a recipe.
absl::Status FieldError(std::string_view field, std::string_view description);

// The value of every option of `entry`: those that are given, else their defaults. Errors:
// kInvalidArgument naming each bad option.
absl::StatusOr<OptionValues> CompleteOptions(const LearnerEntry& entry, const OptionValues& given);

// The target's column. Errors: kInvalidArgument naming the field "target" (no such column, several,
// text for regression).
absl::StatusOr<const RoleColumn*> FindTarget(const TrainingRecipe& recipe, const Dataset& dataset);

// The column that says which task a row is of; null when the rows are of one. Errors:
// kInvalidArgument naming the field "task" (no such column, several).
absl::StatusOr<const RoleColumn*> FindTaskColumn(const LearnerEntry& entry,
                                                 const TrainingRecipe& recipe,
                                                 const Dataset& dataset);

// Refuses several outputs for several tasks unless the learner takes them for tasks. Errors:
// kInvalidArgument naming the field "task".
absl::Status CheckOutputsOfTasks(const LearnerEntry& entry, Index outputs);

struct RecipeProblem {
  OutputCoding coding;
  TaskCoding tasks;
  Preprocessing preprocessing;
  std::shared_ptr<const PreparedData> inputs;  // all rows of the data set
  TrainingProblem problem;                     // the training rows, by tasks
  Index num_rows = 0;                          // of the data set, that are trained on
};

// Makes the problem. Everything is learned from `rows` alone: classes, statistics, class weights,
// median distances. Errors: kInvalidArgument, kCancelled.
absl::StatusOr<RecipeProblem> MakeRecipeProblem(const RecipeRun& run,
                                                const std::vector<Index>& rows,
                                                RunContext& context);

}  // namespace mercer
