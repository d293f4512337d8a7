#include "core/training/recipe/recipe_checks.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"

#include "core/base/numeric/all_finite.h"
#include "core/base/numeric/hash_table.h"
#include "core/base/status/errors.h"
#include "core/base/status/near_names.h"
#include "core/base/status/status_macros.h"
#include "core/data/table/reader_errors.h"
#include "core/kernels/gram/kernel_source.h"
#include "core/kernels/spec/kernel_errors.h"
#include "core/training/model/task_rows.h"
#include "core/training/recipe/recipe_problem.h"
#include "core/training/recipe/recipe_shape.h"
#include "core/training/recipe/recipe_splits.h"
#include "core/training/targets/label_counts.h"
#include "core/training/targets/label_names.h"
#include "core/training/targets/output_coding.h"

namespace mercer {
namespace {

constexpr Index kRowsPerCheck = 4096;
constexpr size_t kMostSuggestions = 10;  // of one answer: each looks at all names

absl::Status CheckClassWeightLabels(const TrainingRecipe& recipe, const RoleColumn& target,
                                    const RunContext& context) {
  if (recipe.class_weighting != ClassWeighting::kExplicit) {
    return absl::OkStatus();
  }
  const std::vector<Index> known = LabelledRows(target);
  MERCER_ASSIGN_OR_RETURN(const OutputCoding coding,
                          OutputCoding::FromLabels(target, known, recipe.coding, context));
  FieldViolations violations;
  for (const auto& [label, weight] : recipe.class_weights) {
    const auto& classes = coding.classes();
    violations.Check(std::find(classes.begin(), classes.end(), label) != classes.end(),
                     absl::StrCat("class_weights[", label, "]"),
                     absl::StrCat("no row of column '", target.schema.name, "' has this label"));
  }
  return violations.ToStatus();
}

absl::Status CheckTasksOfFolds(const TrainingRecipe& recipe, const RoleColumn& target,
                               const RoleColumn& column, const std::vector<Split>& splits,
                               const RunContext& context) {
  MERCER_ASSIGN_OR_RETURN(const TaskCoding tasks, TaskCoding::FromAllRows(column, context));
  const bool by_class = recipe.kind == TargetKind::kClassification;
  MERCER_ASSIGN_OR_RETURN(const TaskCounts counts,
                          TaskCounts::Make(tasks, column, target, by_class, context));
  for (size_t fold = 0; fold < splits.size(); ++fold) {
    const absl::Status status = counts.CheckWithout(splits[fold].held_out, context);
    if (!status.ok()) {
      return ErrorOfFold(fold + 1, splits.size(), status);
    }
  }
  return absl::OkStatus();
}

// A fold whose training rows hold one class is refused before any training; a fold that lacks one
// of several classes is not.
absl::Status CheckClassesOfFolds(const TrainingRecipe& recipe, const RoleColumn& target,
                                 const std::vector<Split>& splits, const RunContext& context) {
  MERCER_ASSIGN_OR_RETURN(LabelCounts counts, LabelCounts::Make(target, context));
  for (size_t fold = 0; fold < splits.size(); ++fold) {
    MERCER_RETURN_IF_ERROR(context.CheckCancelled());
    if (counts.TrainableWithout(splits[fold].held_out)) {
      continue;
    }
    const absl::Status coded =
        OutputCoding::FromLabels(target, splits[fold].training, recipe.coding, context).status();
    if (!coded.ok()) {
      return ErrorOfFold(fold + 1, splits.size(), coded);
    }
  }
  return absl::OkStatus();
}

bool IsInUse(const TrainingRecipe& recipe, const std::string& block) {
  const std::vector<std::string>& used = recipe.preprocessing.blocks;
  return used.empty() || std::find(used.begin(), used.end(), block) != used.end();
}

// The columns that a kernel of that block (an empty name: of any block) may name; `all_known`
// becomes false where columns have no names.
std::vector<std::string> ColumnsOf(const TrainingRecipe& recipe, const Dataset& dataset,
                                   const std::string& block_name, bool& all_known) {
  std::vector<std::string> names;
  for (const FeatureBlock& block : dataset.blocks) {
    if (IsInUse(recipe, block.name) && (block_name.empty() || block.name == block_name)) {
      all_known = all_known && !block.columns.empty();
      for (const ColumnSchema& column : block.columns) {
        names.push_back(column.name);
      }
    }
  }
  return names;
}

void CheckKernelColumns(const TrainingRecipe& recipe, const Dataset& dataset, size_t number,
                        FieldViolations& violations) {
  const KernelSpec& kernel = recipe.kernels[number].prototype;
  if (IsSquareType(kernel.type)) {
    return;  // its block may go without a name
  }
  const std::string field = KernelField(number);
  const bool has_block = kernel.block.empty() || (dataset.FindBlock(kernel.block) != nullptr &&
                                                  IsInUse(recipe, kernel.block));
  if (!violations.Check(has_block, absl::StrCat(field, ".block"),
                        absl::StrCat("the training uses no block ", Quoted(kernel.block)))) {
    return;
  }
  bool all_known = true;
  const std::vector<std::string> known = ColumnsOf(recipe, dataset, kernel.block, all_known);
  const HashSet<std::string> names(known.begin(), known.end());
  for (size_t c = 0; all_known && c < kernel.columns.size(); ++c) {
    const std::string& name = kernel.columns[c];
    if (names.count(name) == 0) {
      const bool suggests = violations.violations().size() < kMostSuggestions;
      violations.Add(absl::StrCat(field, ".columns[", c, "]"),
                     absl::StrCat("there is no feature column ", Quoted(name),
                                  suggests ? DidYouMean(name, known) : ""));
    }
  }
}

absl::Status MissingValue(const FeatureBlock& block, Index row, Index column) {
  const auto c = static_cast<size_t>(column);
  const std::string name = c < block.columns.size()
                               ? block.columns[c].name
                               : absl::StrCat(block.name, "[", column + 1, "]");
  return CellError(row + 1, name, "the value is missing", "preprocessing.imputation");
}

absl::Status CheckDenseBlock(const FeatureBlock& block, const RunContext& context) {
  for (Index begin = 0; begin < block.values.rows(); begin += kRowsPerCheck) {
    MERCER_RETURN_IF_ERROR(context.CheckCancelled());
    const Index end = std::min(begin + kRowsPerCheck, block.values.rows());
    const auto values = block.values.view().middleRows(begin, end - begin);
    if (AllFinite(values.data(), values.size())) {
      continue;
    }
    for (Index row = begin; row < end; ++row) {
      for (Index column = 0; column < block.values.cols(); ++column) {
        if (std::isnan(block.values.view()(row, column))) {
          return MissingValue(block, row, column);
        }
      }
    }
  }
  return absl::OkStatus();
}

absl::Status CheckSparseBlock(const FeatureBlock& block) {
  const std::vector<double>& values = block.sparse.values;
  const auto missing =
      std::find_if(values.begin(), values.end(), [](double value) { return std::isnan(value); });
  if (missing == values.end()) {
    return absl::OkStatus();
  }
  const auto entry = missing - values.begin();
  const std::vector<int64_t>& starts = block.sparse.row_starts;
  const auto row = std::upper_bound(starts.begin(), starts.end(), entry) - starts.begin() - 1;
  return MissingValue(block, row, block.sparse.column_indices[static_cast<size_t>(entry)]);
}

}  // namespace

absl::StatusOr<std::vector<Split>> CheckRows(const LearnerEntry& entry,
                                             const TrainingRecipe& recipe, const Dataset& dataset,
                                             const RunContext& context) {
  MERCER_ASSIGN_OR_RETURN(const RoleColumn* target, FindTarget(recipe, dataset));
  if (dataset.rows < 1) {
    return absl::InvalidArgumentError("the data set has no rows");
  }
  MERCER_RETURN_IF_ERROR(CheckClassWeightLabels(recipe, *target, context));
  MERCER_ASSIGN_OR_RETURN(std::vector<Split> splits,
                          MakeSplits(entry, recipe, dataset, *target, context));
  const bool has_classes = recipe.kind == TargetKind::kClassification;
  if (recipe.validation.kind == ValidationKind::kFolds) {
    MERCER_ASSIGN_OR_RETURN(const RoleColumn* tasks, FindTaskColumn(entry, recipe, dataset));
    if (tasks != nullptr) {
      MERCER_RETURN_IF_ERROR(CheckTasksOfFolds(recipe, *target, *tasks, splits, context));
    }
    if (has_classes) {
      MERCER_RETURN_IF_ERROR(CheckClassesOfFolds(recipe, *target, splits, context));
    }
  }
  if (has_classes) {
    MERCER_RETURN_IF_ERROR(OutputCoding::FromLabels(*target,
                                                    FinalTrainingRows(recipe, dataset, splits),
                                                    recipe.coding, context)
                               .status());
  }
  return splits;
}

absl::Status CheckNamedColumns(const TrainingRecipe& recipe, const Dataset& dataset) {
  FieldViolations violations;
  const std::vector<std::string>& blocks = recipe.preprocessing.blocks;
  for (size_t i = 0; i < blocks.size(); ++i) {
    violations.Check(
        dataset.FindBlock(blocks[i]) != nullptr || dataset.FindSquare(blocks[i]) != nullptr,
        absl::StrCat("preprocessing.blocks[", i, "]"),
        absl::StrCat("the data set has no block ", Quoted(blocks[i])));
  }
  for (size_t i = 0; violations.empty() && i < recipe.kernels.size(); ++i) {
    CheckKernelColumns(recipe, dataset, i, violations);
  }
  if (recipe.ranking_test.has_value()) {
    Index columns = 0;
    for (const FeatureBlock* block : UsedBlocks(recipe, dataset)) {
      columns += PreparedColumns(*block);
    }
    const std::vector<int64_t>& counts = recipe.ranking_test->columns;
    for (size_t i = 0; i < counts.size(); ++i) {
      violations.Check(counts[i] <= columns, absl::StrCat("ranking_test.columns[", i, "]"),
                       absl::StrCat("is ", counts[i], "; the data have ", columns, " columns"));
    }
  }
  return violations.ToStatus();
}

absl::Status CheckMissingValues(const TrainingRecipe& recipe, const Dataset& dataset,
                                const RunContext& context) {
  if (recipe.preprocessing.imputation != Imputation::kRefuse) {
    return absl::OkStatus();
  }
  for (const FeatureBlock& block : dataset.blocks) {
    if (IsInUse(recipe, block.name)) {
      MERCER_RETURN_IF_ERROR(block.is_sparse ? CheckSparseBlock(block)
                                             : CheckDenseBlock(block, context));
    }
  }
  return absl::OkStatus();
}

absl::Status ErrorOfFold(size_t fold, size_t num_folds, const absl::Status& status) {
  if (!absl::IsInvalidArgument(status)) {
    return status;
  }
  FieldViolations violations;
  violations.Add("validation.folds", absl::StrCat("fold ", fold, " of ", num_folds,
                                                  " cannot be trained: ", status.message()));
  return WithReason(violations.ToStatus(), GetReason(status), GetErrorMetadata(status));
}

}  // namespace mercer
