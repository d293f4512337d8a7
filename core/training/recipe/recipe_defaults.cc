#include "core/training/recipe/recipe_defaults.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

#include "core/base/numeric/hash_table.h"
#include "core/base/process/paced_check.h"
#include "core/base/status/status_macros.h"
#include "core/data/splits/split_columns.h"
#include "core/training/recipe/recipe_checks.h"
#include "core/training/recipe/recipe_problem.h"
#include "core/training/recipe/warnings.h"
#include "core/training/run/machine_rates.h"
#include "core/training/targets/output_coding.h"

namespace mercer {
namespace {

// Whether something in the recipe makes sense for classes alone.
bool AsksForClasses(const LearnerEntry& entry, const TrainingRecipe& recipe) {
  if (recipe.coding != CodingChoice::kAuto || recipe.class_weighting != ClassWeighting::kNone) {
    return true;
  }
  return std::any_of(entry.fields.begin(), entry.fields.end(), [&](const OptionField& field) {
    const auto given = recipe.options.find(field.name);
    const auto* choice =
        given == recipe.options.end() ? nullptr : std::get_if<std::string>(&given->second);
    return choice != nullptr && !FitsKind(field, *choice, /*regression=*/true);
  });
}

// Different values of a numeric column.
struct ValueCount {
  size_t different = 0;
  bool whole = true;
};

absl::StatusOr<ValueCount> CountValues(const Vector& values, const RunContext& context) {
  constexpr Index kNumbersPerValue = 256;  // to look one up takes as long as to compute so many
  HashSet<double> seen;
  ValueCount count;
  PacedCheck check(context);
  for (const double value : values) {
    MERCER_RETURN_IF_ERROR(check.After(kNumbersPerValue));
    if (!std::isnan(value)) {
      seen.insert(value);
      count.whole = count.whole && value == std::rint(value);
    }
  }
  count.different = seen.size();
  return count;
}

absl::Status DecideKind(const LearnerEntry& entry, const RoleColumn& target,
                        const RunContext& context, CompletedRecipe& completed) {
  if (target.schema.categorical || AsksForClasses(entry, completed.recipe)) {
    return absl::OkStatus();
  }
  MERCER_ASSIGN_OR_RETURN(const ValueCount count, CountValues(target.values, context));
  if (!entry.regression && count.different > OutputCoding::kMaxClasses) {
    return FieldError("learner",
                      absl::StrCat("'", entry.name, "' learns classes alone, and column '",
                                   target.schema.name, "' holds ", count.different,
                                   " different numbers: choose a learner that learns numbers"));
  }
  if (!entry.regression ||
      (count.different <= kMostGuessedClasses && (count.whole || count.different <= 2))) {
    return absl::OkStatus();
  }
  completed.recipe.kind = TargetKind::kRegression;
  const std::string different = absl::StrCat(count.different);
  completed.decisions.push_back(
      {WarningCode::kNumericTarget,
       absl::StrCat("Column '", target.schema.name, "' holds ", different,
                    " different numbers, so it is predicted as a number; ask for classes "
                    "(--classes on the command line) if they are names."),
       {{"column", target.schema.name}, {"different_values", different}}});
  return absl::OkStatus();
}

// How the values of a default path are compared.
ValidationOptions ValidationOfPath(const TrainingRecipe& recipe, const Dataset& dataset,
                                   const RunContext& context) {
  ValidationOptions validation;
  const RoleColumn* const parts = dataset.FindColumn(ColumnRole::kSplit);
  if (parts != nullptr) {
    const bool names_held_out = GivenHoldOut(*parts, context).ok();
    validation.kind = names_held_out ? ValidationKind::kHoldOut : ValidationKind::kFolds;
  } else if (recipe.limits.max_time < absl::InfiniteDuration()) {
    validation.kind = ValidationKind::kHoldOut;
  } else {
    validation.kind = ValidationKind::kFolds;
    validation.folds = kFoldsOfDefaultPath;
  }
  return validation;
}

std::string ByWhat(const ValidationOptions& validation) {
  if (validation.kind == ValidationKind::kHoldOut) {
    return "on the rows held out";
  }
  return validation.folds.has_value() ? absl::StrCat("over ", *validation.folds, " folds")
                                      : "over the folds";
}

// What the training takes on a usual machine, all values of a path and nothing of its validation.
absl::StatusOr<double> UsualSeconds(const LearnerEntry& entry, TrainingRecipe recipe,
                                    const Dataset& dataset, const RunContext& context) {
  recipe.validation = {};
  recipe.stability.reset();
  recipe.ranking_test.reset();
  recipe.limits.max_time = absl::InfiniteDuration();
  return EstimateRecipeSeconds(entry, recipe, dataset, {UsualRates(), /*threads=*/1}, context);
}

// Of few rows an approximation by many landmarks, say, takes longer than what it stands for. What is
// wrong with a recipe the training tells.
absl::Status CheckApproximation(const LearnerEntry& entry, const Dataset& dataset,
                                const RunContext& context, CompletedRecipe& completed) {
  constexpr double kManyTimes = 4;  // estimates are right within a factor of about 3
  TrainingRecipe exact = completed.recipe;
  std::vector<std::string> words;
  for (const auto& [name, value] : entry.exact_options) {
    exact.options[name] = value;
    words.push_back(absl::StrCat(name, "=", FormatOptionValue(value)));
  }
  const auto asked_options = CompleteOptions(entry, completed.recipe.options);
  const auto exact_options = CompleteOptions(entry, exact.options);
  if (!asked_options.ok() || !exact_options.ok() || *asked_options == *exact_options ||
      !entry.create(*exact_options).ok()) {
    return absl::OkStatus();
  }
  const auto asked = UsualSeconds(entry, completed.recipe, dataset, context);
  const auto without = UsualSeconds(entry, exact, dataset, context);
  const auto bytes = EstimateRecipeMemory(entry, exact, dataset, context);
  if (!asked.ok() || !without.ok() || !bytes.ok() || !(*asked > kManyTimes * *without)) {
    return context.CheckCancelled();
  }
  const std::string options = absl::StrJoin(words, ", ");
  const std::string megabytes = absl::StrCat(*bytes / 1'000'000 + 1);
  completed.decisions.push_back(
      {WarningCode::kExactIsCheaper,
       absl::StrCat("This approximation is expected to take longer than none: ", options,
                    " needs at most ", megabytes, " MB and is exact."),
       {{"options", options}, {"megabytes", megabytes}}});
  return absl::OkStatus();
}

absl::Status DecidePath(const LearnerEntry& entry, const Dataset& dataset,
                        const RunContext& context, CompletedRecipe& completed) {
  if (entry.default_path == nullptr || completed.recipe.path.has_value()) {
    return absl::OkStatus();
  }
  const std::optional<DefaultPath> path = entry.default_path(completed.recipe.options);
  if (!path.has_value()) {
    return absl::OkStatus();
  }
  TrainingRecipe recipe = completed.recipe;
  recipe.path = OptionPath{path->option, path->values};
  const bool validates = recipe.validation.kind != ValidationKind::kNone;
  if (!validates) {
    recipe.validation = ValidationOfPath(recipe, dataset, context);
    const bool divides = CheckRows(entry, recipe, dataset, context).ok();
    MERCER_RETURN_IF_ERROR(context.CheckCancelled());
    if (!divides) {  // too few rows to choose by, or an error that the training will tell
      return absl::OkStatus();
    }
  }
  const std::string values = absl::StrJoin(path->values, ", ");
  completed.decisions.push_back(
      {WarningCode::kOptionChosen,
       absl::StrCat("No ", path->option, " was given: the best of ", values, " ",
                    ByWhat(recipe.validation), " is chosen."),
       {{"option", path->option}, {"values", values}}});
  completed.recipe = std::move(recipe);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<CompletedRecipe> CompleteRecipe(const LearnerEntry& entry,
                                               const TrainingRecipe& recipe, bool kind_is_open,
                                               const Dataset& dataset, const RunContext& context) {
  MERCER_ASSIGN_OR_RETURN(const RoleColumn* target, FindTarget(recipe, dataset));
  CompletedRecipe completed{recipe, {}};
  if (kind_is_open) {
    MERCER_RETURN_IF_ERROR(DecideKind(entry, *target, context, completed));
  }
  MERCER_RETURN_IF_ERROR(DecidePath(entry, dataset, context, completed));
  MERCER_RETURN_IF_ERROR(CheckApproximation(entry, dataset, context, completed));
  MERCER_ASSIGN_OR_RETURN(std::vector<TrainingWarning> warnings,
                          FindDataWarnings(completed.recipe, dataset, *target, context));
  completed.decisions.insert(completed.decisions.end(), std::make_move_iterator(warnings.begin()),
                             std::make_move_iterator(warnings.end()));
  return completed;
}

}  // namespace mercer
