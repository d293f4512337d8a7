#include <cmath>

#include "absl/strings/str_cat.h"

#include "core/base/numeric/hash_table.h"
#include "core/base/status/errors.h"
#include "core/kernels/gram/kernel_grid.h"
#include "core/kernels/spec/kernel_errors.h"
#include "core/kernels/spec/kernel_labels.h"
#include "core/training/recipe/recipe.h"
#include "core/training/recipe/recipe_plan.h"
#include "core/training/recipe/recipe_problem.h"

namespace mercer {
namespace {

// As far as the names do not depend on the data: of families of one kernel (ExpandKernels has all).
void CheckKernelNames(const std::vector<KernelGrid>& grids, FieldViolations& violations) {
  HashMap<std::string, size_t> grid_of_name;
  for (size_t g = 0; g < grids.size(); ++g) {
    const std::string& name = grids[g].prototype.labels.name;
    if (name.empty() || grids[g].per_column || NumBandwidths(grids[g]) != 1 ||
        !ValidateKernelLabels({name, ""}).ok()) {
      continue;
    }
    const auto [first, is_new] = grid_of_name.try_emplace(name, g);
    violations.Check(is_new, KernelField(g) + ".name", SameNameText(name, first->second, g));
  }
}

void CheckKernels(const LearnerEntry& entry, const TrainingRecipe& recipe,
                  FieldViolations& violations) {
  if (!entry.uses_kernels) {
    violations.Check(recipe.kernels.empty(), "kernels",
                     absl::StrCat("learner '", entry.name, "' takes no kernels"));
    return;
  }
  size_t count = 0;
  for (size_t i = 0; i < recipe.kernels.size(); ++i) {
    CheckKernelGrid(i, recipe.kernels[i], violations);
    count += NumBandwidths(recipe.kernels[i]);
  }
  CheckKernelNames(recipe.kernels, violations);
  violations.Check(
      count <= kMaxKernels, "kernels",
      absl::StrCat("at most ", kMaxKernels, " kernels are allowed, these are ", count));
}

void CheckTarget(const LearnerEntry& entry, const TrainingRecipe& recipe,
                 FieldViolations& violations) {
  const bool regression = recipe.kind == TargetKind::kRegression;
  violations.Check(regression ? entry.regression : entry.classification, "kind",
                   absl::StrCat("learner '", entry.name, "' does not do ",
                                regression ? "regression" : "classification"));
  if (regression) {
    violations.Check(recipe.coding == CodingChoice::kAuto, "coding",
                     "is for classification; this is regression");
    violations.Check(recipe.class_weighting == ClassWeighting::kNone, "class_weighting",
                     "is for classification; this is regression");
  }
  if (!recipe.task.value_or("").empty()) {
    violations.Check(entry.several_tasks, "task",
                     absl::StrCat("learner '", entry.name, "' learns one task; leave it out"));
  }
  if (recipe.class_weighting == ClassWeighting::kExplicit) {
    violations.Check(!recipe.class_weights.empty(), "class_weights",
                     "explicit weights are asked for, none is given");
  }
  for (const auto& [label, weight] : recipe.class_weights) {
    violations.Check(weight >= 0 && std::isfinite(weight),
                     absl::StrCat("class_weights[", label, "]"),
                     absl::StrCat("must be >= 0 and finite, is ", weight));
  }
}

// Refuses an option that a classifier would not read, and a choice that does not fit the target.
void CheckOptionsOfKind(const LearnerEntry& entry, const TrainingRecipe& recipe,
                        FieldViolations& violations) {
  const bool regression = recipe.kind == TargetKind::kRegression;
  for (const OptionField& field : entry.fields) {
    const auto given = recipe.options.find(field.name);
    if (given == recipe.options.end()) {
      continue;
    }
    const std::string name = absl::StrCat("options.", field.name);
    violations.Check(!field.doc.regression_only || regression, name,
                     "is for regression; this is classification");
    if (const auto* choice = std::get_if<std::string>(&given->second)) {
      violations.Check(FitsKind(field, *choice, regression), name,
                       absl::StrCat(*choice, " is for ",
                                    regression ? "classification; this is regression"
                                               : "regression; this is classification"));
    }
  }
}

void CheckValidation(const TrainingRecipe& recipe, FieldViolations& violations) {
  const ValidationOptions& validation = recipe.validation;
  if (validation.kind == ValidationKind::kHoldOut && validation.fraction.has_value()) {
    violations.Check(*validation.fraction > 0 && *validation.fraction < 1, "validation.fraction",
                     absl::StrCat("must be in (0, 1), is ", *validation.fraction));
  }
  if (validation.kind == ValidationKind::kFolds && validation.folds.has_value()) {
    violations.Check(*validation.folds >= 2, "validation.folds",
                     absl::StrCat("must be >= 2, is ", *validation.folds));
  }
}

void CheckStability(const LearnerEntry& entry, const TrainingRecipe& recipe,
                    FieldViolations& violations) {
  constexpr int kMostTrainings = 1000;
  if (!recipe.stability.has_value()) {
    return;
  }
  const auto& [resamples, fraction] = *recipe.stability;
  violations.Check(entry.uses_kernels, "stability",
                   absl::StrCat("learner '", entry.name, "' has no kernels to select from"));
  violations.Check(resamples >= 1 && resamples <= kMostTrainings, "stability.resamples",
                   absl::StrCat("must be in [1, ", kMostTrainings, "], is ", resamples));
  violations.Check(fraction > 0 && fraction < 1, "stability.fraction",
                   absl::StrCat("must be in (0, 1), is ", fraction));
}

void CheckRankingTest(const LearnerEntry& entry, const TrainingRecipe& recipe,
                      FieldViolations& violations) {
  constexpr size_t kMostMachines = 1000;
  constexpr double kMostCost = 1e12;
  if (!recipe.ranking_test.has_value()) {
    return;
  }
  const auto& [columns, C] = *recipe.ranking_test;
  violations.Check(entry.ranks_columns, "ranking_test",
                   absl::StrCat("learner '", entry.name, "' makes no ranking of columns"));
  violations.Check(recipe.kind == TargetKind::kClassification, "ranking_test",
                   "its machines are for classification; this is regression");
  violations.Check(recipe.validation.kind != ValidationKind::kNone, "validation",
                   "is missing: a ranking is tested on rows that are held out, or over folds");
  violations.Check(columns.size() <= kMostMachines, "ranking_test.columns",
                   absl::StrCat("must be at most ", kMostMachines, ", are ", columns.size()));
  for (size_t i = 0; i < columns.size(); ++i) {
    violations.Check(columns[i] >= 1, absl::StrCat("ranking_test.columns[", i, "]"),
                     absl::StrCat("must be >= 1, is ", columns[i]));
  }
  violations.Check(C > 0 && C <= kMostCost, "ranking_test.C",
                   absl::StrCat("must be in (0, ", kMostCost, "], is ", C));
}

}  // namespace

absl::Status ValidateRecipe(const LearnerEntry& entry, const TrainingRecipe& recipe) {
  FieldViolations violations;
  const absl::StatusOr<OptionValues> options = CompleteOptions(entry, recipe.options);
  // The learner itself is asked: it knows more of its options than their ranges.
  violations.AddAll("options", options.ok() ? entry.create(*options).status() : options.status());
  CheckOptionsOfKind(entry, recipe, violations);
  CheckTarget(entry, recipe, violations);
  CheckKernels(entry, recipe, violations);
  CheckValidation(recipe, violations);
  CheckPath(entry, recipe, violations);
  CheckStability(entry, recipe, violations);
  CheckRankingTest(entry, recipe, violations);
  const RunLimits& limits = recipe.limits;
  violations.Check(limits.relative_gap > 0 && limits.relative_gap < 1, "limits.relative_gap",
                   absl::StrCat("must be in (0, 1), is ", limits.relative_gap));
  violations.Check(limits.max_iterations >= 1, "limits.max_iterations",
                   absl::StrCat("must be >= 1, is ", limits.max_iterations));
  violations.Check(limits.max_time > absl::ZeroDuration(), "limits.max_time", "must be > 0");
  return violations.ToStatus();
}

}  // namespace mercer
