#include "core/training/recipe/recipe_plan.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

#include "core/base/status/status_macros.h"
#include "core/training/recipe/recipe_checks.h"
#include "core/training/recipe/recipe_problem.h"
#include "core/training/recipe/recipe_shape.h"

namespace mercer {
namespace {

constexpr size_t kMaxPathValues = 1000;
constexpr size_t kMaxKeptValues = 100;

void CheckValues(const LearnerEntry& entry, const TrainingRecipe& recipe,
                 FieldViolations& violations) {
  size_t number = 0;
  for (const OptionValues& given : OptionsOfTrainings(recipe)) {
    const absl::StatusOr<OptionValues> options = CompleteOptions(entry, given);
    const absl::Status status = options.ok() ? entry.create(*options).status() : options.status();
    const std::vector<FieldViolation> found = GetFieldViolations(status);
    violations.Check(status.ok(), absl::StrCat("path.values[", number++, "]"),
                     found.empty() ? std::string(status.message()) : found.front().description);
  }
}

// The trainings on the splits of a path: split by split, and in each value by value. With folds,
// models on all rows follow, which are left as much time as each fold has.
std::vector<PlannedTraining> ListPath(const TrainingRecipe& recipe, size_t num_splits) {
  const bool has_folds = recipe.validation.kind == ValidationKind::kFolds;
  const size_t values = recipe.path->values.size();
  const auto splits = static_cast<double>(num_splits);
  const double share = has_folds ? splits / (splits + 1) : 1;
  std::vector<PlannedTraining> trainings;
  for (size_t split = 0; split < num_splits; ++split) {
    const std::string fold =
        has_folds ? absl::StrCat("fold ", split + 1, " of ", num_splits, ", ") : "";
    for (size_t value = 0; value < values; ++value) {
      trainings.push_back(
          {absl::StrCat(fold, "value ", value + 1, " of ", values), split, value, 0, share});
    }
  }
  const size_t models = !has_folds ? 0 : recipe.path->keep_all ? values : 1;
  for (size_t place = 0; place < models; ++place) {
    const std::string name =
        recipe.path->keep_all ? absl::StrCat("train, model ", place + 1, " of ", models) : "train";
    trainings.push_back({name, std::nullopt, 0, place, 1});
  }
  return trainings;
}

}  // namespace

std::vector<PlannedTraining> ListTrainings(const TrainingRecipe& recipe, size_t num_splits) {
  const ValidationKind validation = recipe.validation.kind;
  std::vector<PlannedTraining> trainings;
  if (recipe.path.has_value()) {
    trainings = ListPath(recipe, num_splits);
  } else {
    PlannedTraining& model = trainings.emplace_back();
    model.name = "train";
    if (validation == ValidationKind::kHoldOut) {
      model.split = 0;
    }
    for (size_t fold = 0; validation == ValidationKind::kFolds && fold < num_splits; ++fold) {
      trainings.push_back({absl::StrCat("fold ", fold + 1, " of ", num_splits), fold});
    }
  }
  const auto parts =
      static_cast<size_t>(recipe.stability.has_value() ? recipe.stability->resamples : 0);
  for (size_t part = 0; part < parts; ++part) {
    PlannedTraining& training = trainings.emplace_back();
    training.name = absl::StrCat("part ", part + 1, " of ", parts);
    training.part = part;
  }
  return trainings;
}

std::vector<OptionValues> OptionsOfTrainings(const TrainingRecipe& recipe) {
  if (!recipe.path.has_value()) {
    return {recipe.options};
  }
  std::vector<OptionValues> all;
  for (const double value : recipe.path->values) {
    all.push_back(recipe.options);
    all.back()[recipe.path->option] = value;
  }
  return all;
}

void CheckPath(const LearnerEntry& entry, const TrainingRecipe& recipe,
               FieldViolations& violations) {
  if (!recipe.path.has_value()) {
    return;
  }
  const OptionPath& path = *recipe.path;
  const auto field = std::find_if(entry.fields.begin(), entry.fields.end(),
                                  [&](const OptionField& one) { return one.name == path.option; });
  if (!violations.Check(field != entry.fields.end() && field->type == OptionType::kReal,
                        "path.option",
                        absl::StrCat("must be an option of '", entry.name,
                                     "' that is a real number, is '", path.option, "'"))) {
    return;
  }
  violations.Check(recipe.options.count(path.option) == 0, "path.option",
                   absl::StrCat("'", path.option, "' is given among the options too"));
  const size_t most = path.keep_all ? kMaxKeptValues : kMaxPathValues;
  if (violations.Check(
          !path.values.empty() && path.values.size() <= most, "path.values",
          absl::StrCat("must be 1 to ", most, path.keep_all ? " when all models are kept" : "",
                       ", are ", path.values.size()))) {
    CheckValues(entry, recipe, violations);
  }
  violations.Check(recipe.validation.kind != ValidationKind::kNone, "validation",
                   "is missing: the best value of a path is that of the best score on rows that "
                   "are held out, or over folds");
}

absl::StatusOr<RecipePlan> RecipePlan::Resolve(const RecipeRun& run, const RunContext& context) {
  const TrainingRecipe& recipe = *run.recipe;
  MERCER_RETURN_IF_ERROR(ValidateRecipe(*run.entry, recipe));
  MERCER_ASSIGN_OR_RETURN(OptionValues options, CompleteOptions(*run.entry, recipe.options));
  MERCER_ASSIGN_OR_RETURN(const RoleColumn* target, FindTarget(recipe, *run.dataset));
  MERCER_ASSIGN_OR_RETURN(std::vector<Split> splits,
                          CheckRows(*run.entry, recipe, *run.dataset, context));
  MERCER_ASSIGN_OR_RETURN(const ProblemShape shape,
                          ShapeOfRecipe(*run.entry, recipe, *run.dataset, context));
  MERCER_ASSIGN_OR_RETURN(const Index parts_at_once, PartsAtOnce(*run.entry, recipe, shape));
  return RecipePlan(recipe, std::move(options), *target, std::move(splits), parts_at_once);
}

size_t RecipePlan::num_values() const {
  return recipe_->path.has_value() ? recipe_->path->values.size() : 1;
}

OptionValues RecipePlan::options(size_t value) const {
  OptionValues options = options_;
  if (recipe_->path.has_value()) {
    options[recipe_->path->option] = recipe_->path->values[value];
  }
  return options;
}

}  // namespace mercer
