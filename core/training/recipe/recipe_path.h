// A path: one run that trains for several values of an option in turn, each from the solution of
// the one before where the learner can begin with one, and keeps the best by validation. A
// regularisation path is one over the weight of a penalty.
#pragma once

#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "core/base/status/errors.h"
#include "core/base/status/options.h"
#include "core/training/recipe/recipe.h"

namespace mercer {

// The options of `recipe` for each training in it: with each value of its path in turn, or as they
// are.
std::vector<OptionValues> OptionsOfTrainings(const TrainingRecipe& recipe);

// What a path can be refused for before there is data; violations are named "path.option",
// "path.values[2]".
void CheckPath(const LearnerEntry& entry, const TrainingRecipe& recipe,
               FieldViolations& violations);

// RunRecipe for a recipe with a path.
//
// With rows held out the model is that of the value whose score on them is best. With folds each
// fold has a path of its own, and the model is trained on all rows with the value whose mean score
// over the folds is best. The score is the accuracy, of numbers the rmse; of equal ones the first
// counts. Metrics of the model: "path.best" (from 1) and of each value "path.2.value",
// "path.2.accuracy", "path.2.active_terms" (kernels or features with a weight),
// "path.2.relative_gap".
//
// A run that is stopped or out of time ends with the best so far, and its metrics kFoldsLeftOut or
// kValuesLeftOut say so. With folds it then trains the model with the value that is best by the
// folds that are through, or, when none is, by what there is of the first. It has as much of a
// limit of time for that as each fold has, and after a stop kTimeAfterStop; when that is too short,
// the model is constant. NO_MODEL when nothing was trained.
//
// A path that keeps all answers the models of the other values too, each with the metrics of the
// path and "path.number", which value it is; with folds all of them are trained on all rows, after
// the best.
absl::StatusOr<TrainedModel> RunRecipePath(const RecipeRun& run, std::string_view state,
                                           RunContext& context, RunObserver& observer);

}  // namespace mercer
