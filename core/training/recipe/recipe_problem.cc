#include "core/training/recipe/recipe_problem.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

#include "core/base/process/paced_check.h"
#include "core/base/status/errors.h"
#include "core/base/status/near_names.h"
#include "core/base/status/status_macros.h"
#include "core/data/preprocess/fitted_data.h"
#include "core/data/table/text_kind.h"
#include "core/data/table/weights.h"
#include "core/training/contract/kernel_sum.h"
#include "core/training/contract/target_unit.h"
#include "core/training/recipe/default_kernels.h"
#include "core/training/terms/basis.h"

namespace mercer {
namespace {

// The targets that the coding gives the classes: rows x outputs of -1, +1, and 0 for rows that a
// pair does not see.
absl::StatusOr<Matrix> CodeTargets(const OutputCoding& coding, const std::vector<int>& classes,
                                   const RunContext& context) {
  const auto rows = static_cast<Index>(classes.size());
  Matrix targets(rows, coding.num_outputs());
  PacedCheck check(context);
  for (Index output = 0; output < targets.cols(); ++output) {
    MERCER_RETURN_IF_ERROR(check.After(rows));
    const auto [first, second] =
        coding.kind() == CodingKind::kOneVsOne ? coding.Pair(output) : std::pair<int, int>(-1, -1);
    for (Index i = 0; i < rows; ++i) {
      const int c = classes[static_cast<size_t>(i)];
      switch (coding.kind()) {
        case CodingKind::kBinary:
          targets(i, output) = c == 1 ? 1 : -1;
          break;
        case CodingKind::kOneVsAll:
          targets(i, output) = c == static_cast<int>(output) ? 1 : -1;
          break;
        case CodingKind::kOneVsOne:
          targets(i, output) = c == first ? 1 : c == second ? -1 : 0;
          break;
        case CodingKind::kRegression:
          targets(i, output) = 0;
          break;
      }
    }
  }
  return targets;
}

absl::StatusOr<Vector> SampleWeights(const Dataset& dataset, const std::vector<Index>& rows) {
  const RoleColumn* column = dataset.FindColumn(ColumnRole::kWeight);
  if (column == nullptr) {
    return Vector(Vector::Ones(static_cast<Index>(rows.size())));
  }
  MERCER_ASSIGN_OR_RETURN(Vector weights, ReadWeights(*column, rows));
  if (weights.maxCoeff() == 0) {
    return absl::InvalidArgumentError(absl::StrCat("weight column '", column->schema.name,
                                                   "': all weights of the training rows are 0"));
  }
  return weights;
}

// The weight of each class of the coding on rows of these classes. Of classes that have none it has
// no meaning.
std::vector<double> ClassWeights(const TrainingRecipe& recipe, const OutputCoding& coding,
                                 const std::vector<int>& classes) {
  std::vector<double> weights(coding.classes().size(), 1.0);
  if (recipe.class_weighting == ClassWeighting::kBalanced) {
    std::vector<double> counts(weights.size(), 0.0);
    for (const int c : classes) {
      counts[static_cast<size_t>(c)] += 1;
    }
    for (size_t c = 0; c < weights.size(); ++c) {
      weights[c] =
          static_cast<double>(classes.size()) / (static_cast<double>(weights.size()) * counts[c]);
    }
  }
  if (recipe.class_weighting == ClassWeighting::kExplicit) {
    for (size_t c = 0; c < weights.size(); ++c) {
      const auto given = recipe.class_weights.find(coding.classes()[c]);
      weights[c] = given == recipe.class_weights.end() ? 1.0 : given->second;
    }
  }
  return weights;
}

// The class of each of the rows.
absl::StatusOr<std::vector<int>> ClassesOf(const OutputCoding& coding, const RoleColumn& target,
                                           const std::vector<Index>& rows,
                                           const RunContext& context) {
  MERCER_ASSIGN_OR_RETURN(const std::vector<int> of_all, coding.Classes(target, context));
  std::vector<int> classes;
  for (const Index row : rows) {
    classes.push_back(of_all[static_cast<size_t>(row)]);
  }
  return classes;
}

// Multiplies the costs of the task's rows by the weights of their classes, which are balanced in
// each task for itself.
absl::Status WeighClasses(const TrainingRecipe& recipe, const RoleColumn& target,
                          const OutputCoding& coding, const RunContext& context, TaskData& task) {
  if (recipe.class_weighting == ClassWeighting::kNone || recipe.kind == TargetKind::kRegression) {
    return absl::OkStatus();
  }
  MERCER_ASSIGN_OR_RETURN(const std::vector<int> classes,
                          ClassesOf(coding, target, task.rows, context));
  const std::vector<double> weights = ClassWeights(recipe, coding, classes);
  if (*std::max_element(weights.begin(), weights.end()) == 0) {
    return FieldError("class_weights", "all classes weigh 0");
  }
  for (size_t i = 0; i < classes.size(); ++i) {
    task.costs(static_cast<Index>(i)) *= weights[static_cast<size_t>(classes[i])];
  }
  return absl::OkStatus();
}

// Makes targets, coding and costs of the training rows, all in one task.
absl::Status AddTargets(const RecipeRun& run, const RoleColumn& target, const RunContext& context,
                        RecipeProblem& made) {
  const TrainingRecipe& recipe = *run.recipe;
  TaskData& task = made.problem.tasks[0];
  MERCER_ASSIGN_OR_RETURN(task.costs, SampleWeights(*run.dataset, task.rows));
  if (recipe.kind == TargetKind::kRegression) {
    made.coding = OutputCoding::Regression();
    task.targets = target.values(task.rows);
    return absl::OkStatus();
  }
  MERCER_ASSIGN_OR_RETURN(made.coding,
                          OutputCoding::FromLabels(target, task.rows, recipe.coding, context));
  MERCER_ASSIGN_OR_RETURN(const std::vector<int> classes,
                          ClassesOf(made.coding, target, task.rows, context));
  MERCER_ASSIGN_OR_RETURN(task.targets, CodeTargets(made.coding, classes, context));
  return absl::OkStatus();
}

// Makes a task of each output of a task, with the rows that it sees, in the order of the model's
// outputs.
absl::Status DivideByOutputs(RecipeProblem& made) {
  std::vector<TaskData> by_output;
  for (const TaskData& task : made.problem.tasks) {
    for (Index output = 0; output < task.targets.cols(); ++output) {
      std::vector<Index> seen;
      for (Index i = 0; i < task.targets.rows(); ++i) {
        if (task.targets(i, output) != 0) {
          seen.push_back(i);
        }
      }
      const std::string name = OutputOfTask(task.name, made.coding.OutputName(output));
      if (seen.empty()) {
        return WithReason(
            absl::InvalidArgumentError(absl::StrCat("task '", name, "' has no training rows")),
            "EMPTY_TASK", {{"column", made.tasks.column()}, {"task", task.name}});
      }
      by_output.push_back(Narrow(task, seen, output));
      by_output.back().name = name;
    }
  }
  made.problem.tasks = std::move(by_output);
  return absl::OkStatus();
}

absl::Status EmptyTaskError(const TaskCoding& tasks, size_t task) {
  return WithReason(
      absl::InvalidArgumentError(absl::StrCat("task '", tasks.names()[task], "' of column '",
                                              tasks.column(), "' has no training rows")),
      "EMPTY_TASK", {{"column", tasks.column()}, {"task", tasks.names()[task]}});
}

// Gives every row of the training its task.
absl::Status DivideByTasks(const RoleColumn& column, const RunContext& context,
                           RecipeProblem& made) {
  MERCER_ASSIGN_OR_RETURN(made.tasks, TaskCoding::FromAllRows(column, context));
  MERCER_ASSIGN_OR_RETURN(const std::vector<int> task_of_row, made.tasks.Tasks(column, context));
  const TaskData together = std::move(made.problem.tasks[0]);
  std::vector<std::vector<Index>> positions(made.tasks.names().size());
  for (size_t i = 0; i < together.rows.size(); ++i) {
    const auto t = static_cast<size_t>(task_of_row[static_cast<size_t>(together.rows[i])]);
    positions[t].push_back(static_cast<Index>(i));
  }
  made.problem.tasks.clear();
  for (size_t t = 0; t < positions.size(); ++t) {
    if (positions[t].empty()) {
      return EmptyTaskError(made.tasks, t);
    }
    made.problem.tasks.push_back(Narrow(together, positions[t]));
    made.problem.tasks.back().name = made.tasks.names()[t];
  }
  return absl::OkStatus();
}

// The column of that role and name, an empty name meaning the only one; null when the data set has
// none of that role. Violations are of the field that the role is called.
absl::StatusOr<const RoleColumn*> FindRole(const Dataset& dataset, ColumnRole role,
                                           const std::string& name) {
  const std::string field(ColumnRoleName(role));
  std::vector<std::string> known;
  const RoleColumn* found = nullptr;
  int count = 0;
  for (const RoleColumn& column : dataset.role_columns) {
    if (column.role != role) {
      continue;
    }
    known.push_back(column.schema.name);
    if (name.empty() || column.schema.name == name) {
      found = &column;
      ++count;
    }
  }
  if (known.empty()) {
    return nullptr;
  }
  const std::string listed = absl::StrCat("'", absl::StrJoin(known, "', '"), "'");
  if (found == nullptr) {
    return FieldError(field, absl::StrCat("no ", field, " column '", name, "'; there are: ", listed,
                                          DidYouMean(name, known)));
  }
  if (count > 1) {
    return FieldError(
        field, absl::StrCat("the data set has several ", field, " columns, name one of: ", listed));
  }
  return found;
}

// The names of the precomputed kernels that the recipe's kernels read.
std::vector<std::string> KernelBlocksRead(const RecipeRun& run) {
  std::vector<std::string> names;
  if (!run.entry->uses_kernels) {
    return names;
  }
  for (const KernelGrid& grid : KernelsOrDefault(*run.entry, *run.recipe, *run.dataset)) {
    if (grid.prototype.type != KernelType::kPrecomputed) {
      continue;
    }
    for (const SquareBlock& square : run.dataset->squares) {
      if (grid.prototype.block.empty() || square.name == grid.prototype.block) {
        names.push_back(square.name);
      }
    }
  }
  return names;
}

// Adds the inputs of all rows.
absl::Status AddInputs(const RecipeRun& run, const std::vector<Index>& rows, RecipeProblem& made,
                       RunContext& context) {
  const DataToFit data{run.dataset, run.dataset_digest, &rows, &run.recipe->preprocessing,
                       KernelBlocksRead(run)};
  MERCER_ASSIGN_OR_RETURN(const std::shared_ptr<const FittedData> fitted, FitData(data, context));
  made.preprocessing = fitted->preprocessing;
  PreparedData prepared = fitted->prepared;
  MERCER_ASSIGN_OR_RETURN(prepared.tasks,
                          made.tasks.ReadTasks(*run.dataset, "", TaskRule::kOwn, context));
  made.inputs = std::make_shared<const PreparedData>(std::move(prepared));
  for (TaskData& task : made.problem.tasks) {
    task.inputs = made.inputs;
  }
  return absl::OkStatus();
}

absl::Status AddKernels(const RecipeRun& run, const std::vector<Index>& rows, RecipeProblem& made,
                        RunContext& context) {
  if (!run.entry->uses_kernels) {
    return absl::OkStatus();
  }
  const std::vector<KernelGrid> grids = KernelsOrDefault(*run.entry, *run.recipe, *run.dataset);
  absl::StatusOr<std::vector<KernelSpec>> kernels =
      ExpandKernels(grids, *made.inputs, rows, run.recipe->seed, context);
  if (!kernels.ok() && absl::IsInvalidArgument(kernels.status()) && run.recipe->kernels.empty()) {
    return WithReason(
        FieldError("kernels", absl::StrCat("none given, and the default cannot be made: ",
                                           kernels.status().message())),
        GetReason(kernels.status()), GetErrorMetadata(kernels.status()));
  }
  MERCER_ASSIGN_OR_RETURN(made.problem.kernels, std::move(kernels));
  return absl::OkStatus();
}

}  // namespace

absl::Status FieldError(std::string_view field, std::string_view description) {
  FieldViolations violations;
  violations.Add(std::string(field), std::string(description));
  return violations.ToStatus();
}

absl::Status CheckOutputsOfTasks(const LearnerEntry& entry, Index outputs) {
  FieldViolations violations;
  violations.Check(outputs == 1 || entry.classes_are_tasks, "task",
                   absl::StrCat("several tasks are learned by '", entry.name,
                                "' for two classes or for numbers; the target has more classes"));
  return violations.ToStatus();
}

absl::StatusOr<const RoleColumn*> FindTaskColumn(const LearnerEntry& entry,
                                                 const TrainingRecipe& recipe,
                                                 const Dataset& dataset) {
  if (!entry.several_tasks || (recipe.task.has_value() && recipe.task->empty())) {
    return nullptr;
  }
  const std::string name = recipe.task.value_or("");
  MERCER_ASSIGN_OR_RETURN(const RoleColumn* found, FindRole(dataset, ColumnRole::kTask, name));
  if (found == nullptr && !name.empty()) {
    return FieldError("task", "the data set has no task column");
  }
  return found;
}

absl::StatusOr<OptionValues> CompleteOptions(const LearnerEntry& entry, const OptionValues& given) {
  OptionValues complete;
  FieldViolations violations;
  for (const OptionField& field : entry.fields) {
    complete[field.name] = field.default_value;
  }
  for (const auto& [name, value] : given) {
    const auto field =
        std::find_if(entry.fields.begin(), entry.fields.end(),
                     [&, &wanted = name](const OptionField& one) { return one.name == wanted; });
    if (field == entry.fields.end()) {
      violations.Add(name, absl::StrCat("unknown option of learner '", entry.name, "'"));
      continue;
    }
    OptionValue converted = value;
    const absl::Status checked = CheckOptionValue(*field, converted);
    if (violations.Check(checked.ok(), name, std::string(checked.message()))) {
      complete[name] = std::move(converted);
    }
  }
  if (!violations.empty()) {
    return violations.ToStatus();
  }
  return complete;
}

absl::StatusOr<const RoleColumn*> FindTarget(const TrainingRecipe& recipe, const Dataset& dataset) {
  MERCER_ASSIGN_OR_RETURN(const RoleColumn* found,
                          FindRole(dataset, ColumnRole::kTarget, recipe.target));
  if (found == nullptr) {
    return FieldError(
        "target", "the data set has no target column: upload it again, and say which one it is");
  }
  if (recipe.kind == TargetKind::kRegression && found->schema.categorical) {
    return FieldError("target", absl::StrCat("column '", found->schema.name,
                                             "' is categorical; regression needs numbers",
                                             WhyTexts(found->schema)));
  }
  return found;
}

absl::StatusOr<RecipeProblem> MakeRecipeProblem(const RecipeRun& run,
                                                const std::vector<Index>& rows,
                                                RunContext& context) {
  MERCER_ASSIGN_OR_RETURN(const RoleColumn* target, FindTarget(*run.recipe, *run.dataset));
  RecipeProblem made;
  made.problem.kernel_sum = std::make_shared<KernelSumCell>();
  made.problem.kind = run.recipe->kind;
  made.problem.seed = run.recipe->seed;
  made.problem.relative_gap = run.recipe->limits.relative_gap;
  made.problem.tasks.emplace_back().rows = rows;
  made.num_rows = static_cast<Index>(rows.size());
  MERCER_RETURN_IF_ERROR(AddTargets(run, *target, context, made));
  MERCER_ASSIGN_OR_RETURN(const RoleColumn* task_column,
                          FindTaskColumn(*run.entry, *run.recipe, *run.dataset));
  if (task_column != nullptr) {
    MERCER_RETURN_IF_ERROR(CheckOutputsOfTasks(*run.entry, made.coding.num_outputs()));
    MERCER_RETURN_IF_ERROR(DivideByTasks(*task_column, context, made));
  }
  for (TaskData& task : made.problem.tasks) {
    MERCER_RETURN_IF_ERROR(WeighClasses(*run.recipe, *target, made.coding, context, task));
  }
  if (task_column != nullptr && made.coding.num_outputs() > 1) {
    MERCER_RETURN_IF_ERROR(DivideByOutputs(made));
  }
  if (run.recipe->kind == TargetKind::kRegression &&
      run.recipe->target_scaling == TargetScaling::kStandardize) {
    StandardizeTargets(made.problem);
  }
  MERCER_RETURN_IF_ERROR(AddInputs(run, rows, made, context));
  MERCER_RETURN_IF_ERROR(context.CheckCancelled());
  MERCER_RETURN_IF_ERROR(AddKernels(run, rows, made, context));
  return made;
}

}  // namespace mercer
