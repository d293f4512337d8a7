#include "core/training/recipe/recipe_shape.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "core/base/process/paced_check.h"
#include "core/base/status/byte_count.h"
#include "core/base/status/status_macros.h"
#include "core/kernels/gram/kernel_grid.h"
#include "core/kernels/gram/kernel_source.h"
#include "core/kernels/spec/kernel_formula.h"
#include "core/training/recipe/default_kernels.h"
#include "core/training/recipe/recipe_problem.h"
#include "core/training/recipe/recipe_splits.h"

namespace mercer {
namespace {

// Adds a b to `sum`, up to what an index can hold.
void AddProduct(Index a, Index b, Index& sum) {
  constexpr size_t kMost = std::numeric_limits<Index>::max();
  sum = static_cast<Index>(std::min((ByteCount(sum) + ByteCount(a) * ByteCount(b)).value(), kMost));
}

// The columns that may have to be kept in files. Training knows one category of each column at the
// least, and all at the most: how large the table becomes is not known before.
Index ColumnsInFiles(const FeatureBlock& block, Index rows, Index columns,
                     const ScratchSpace& scratch) {
  const ByteCount column = ByteCount(rows) * ByteCount(sizeof(double));
  if (scratch.Takes((column * ByteCount(block.num_columns())).value())) {
    return columns;
  }
  const size_t most = scratch.largest_in_memory() / std::max<size_t>(column.value(), 1);
  return columns - static_cast<Index>(std::min(static_cast<size_t>(columns), most));
}

void CountColumns(const TrainingRecipe& recipe, const Dataset& dataset, const ScratchSpace* scratch,
                  ProblemShape& shape) {
  for (const FeatureBlock* used : UsedBlocks(recipe, dataset)) {
    const FeatureBlock& block = *used;
    const Index columns = PreparedColumns(block);
    AddProduct(columns, 1, shape.columns);
    if (scratch != nullptr) {
      AddProduct(ColumnsInFiles(block, dataset.rows, columns, *scratch), 1, shape.columns_in_files);
    }
  }
}

// Columns of the data set that a kernel with this prototype reads.
struct KernelColumns {
  Index count = 0;
  Index width = 0;  // after preprocessing
  Index wide = 0;   // those whose own width is worth storing distances for
};

void AddColumns(Index count, Index width, KernelColumns& columns) {
  AddProduct(count, 1, columns.count);
  AddProduct(count, width, columns.width);
  AddProduct(width > kMaxRecomputedColumns ? count : 0, 1, columns.wide);
}

KernelColumns CountKernelColumns(const KernelSpec& prototype, const Dataset& dataset) {
  KernelColumns columns;
  if (IsSquareType(prototype.type)) {
    return columns;
  }
  const std::vector<std::string>& names = prototype.columns;
  for (const FeatureBlock& block : dataset.blocks) {
    if (!prototype.block.empty() && prototype.block != block.name) {
      continue;
    }
    if (block.columns.empty()) {
      AddColumns(names.empty() ? block.num_columns() : 0, 1, columns);
    }
    for (const ColumnSchema& column : block.columns) {
      if (names.empty() || std::find(names.begin(), names.end(), column.name) != names.end()) {
        AddColumns(1, column.categorical ? static_cast<Index>(column.categories.size()) : 1,
                   columns);
      }
    }
  }
  return columns;
}

// What a column of pairs costs a kernel on features; one on a square block has none.
WorkKind ColumnWork(KernelType type) {
  const auto* value = std::get_if<PairValue>(&FormulaOf(type).reads);
  switch (value != nullptr ? *value : PairValue::kDotProduct) {
    case PairValue::kManhattan:
    case PairValue::kMinimum:
      return WorkKind::kAbsoluteColumns;
    case PairValue::kChiSquare:  // its division takes about what the roots of the other take
    case PairValue::kHellinger:
      return WorkKind::kChiSquareColumns;
    case PairValue::kDotProduct:
    case PairValue::kSquaredDistance:
      return WorkKind::kProductColumns;
  }
  return WorkKind::kProductColumns;
}

void CountKernels(const std::vector<KernelGrid>& grids, const Dataset& dataset,
                  ProblemShape& shape) {
  std::set<std::string> sources;
  for (const KernelGrid& grid : grids) {
    const auto per_set = static_cast<Index>(std::max<size_t>(NumBandwidths(grid), 1));
    const KernelColumns columns = CountKernelColumns(grid.prototype, dataset);
    const Index sets = grid.per_column ? std::max<Index>(columns.count, 1) : 1;
    AddProduct(per_set, sets, shape.kernels);
    AddProduct(per_set == 1 ? 1 : 0, sets, shape.lone_kernels);
    AddProduct(grid.prototype.normalization.unit_diagonal ? per_set : 0, sets,
               shape.unit_diagonals);
    // Kernels of different types on equal columns may share a source; counting them apart errs
    // upwards.
    KernelSpec source = grid.prototype;
    source.bandwidth = 1;
    source.normalization = {};
    if (sources.insert(DescribeKernel(source) + (grid.per_column ? " per column" : "")).second) {
      const bool stored =
          IsSquareType(grid.prototype.type) || columns.width > kMaxRecomputedColumns;
      const Index kept = grid.per_column ? columns.wide : static_cast<Index>(stored);
      AddProduct(kept, 1, shape.sources);
      AddProduct(std::max<Index>(sets - kept, 0), 1, shape.recomputed_sources);
      AddProduct(columns.width, 1, shape.source_columns);
      shape.pair_columns[ColumnWork(grid.prototype.type)] += static_cast<double>(columns.width);
    }
  }
}

// By the names of columns: those of two blocks that are called alike count as one.
bool AreDisjointColumns(const std::vector<KernelGrid>& grids, const TrainingRecipe& recipe,
                        const Dataset& dataset) {
  std::set<std::string_view> seen;
  const auto is_new = [&](const std::string& name) { return seen.insert(name).second; };
  for (const KernelGrid& grid : grids) {
    const KernelSpec& kernel = grid.prototype;
    if (kernel.type != KernelType::kLinear || kernel.normalization.unit_diagonal) {
      return false;
    }
    if (!std::all_of(kernel.columns.begin(), kernel.columns.end(), is_new)) {
      return false;
    }
    for (const FeatureBlock* block : UsedBlocks(recipe, dataset)) {
      const bool reads_all =
          kernel.columns.empty() && (kernel.block.empty() || kernel.block == block->name);
      if (reads_all && !std::all_of(block->columns.begin(), block->columns.end(),
                                    [&](const ColumnSchema& one) { return is_new(one.name); })) {
        return false;
      }
    }
  }
  return true;
}

// Counts the outputs and the rows of the largest sub-problem.
absl::Status CountOutputs(const LearnerEntry& entry, const TrainingRecipe& recipe,
                          const RoleColumn& target, const RunContext& context,
                          ProblemShape& shape) {
  constexpr Index kNumbersPerRow = 256;
  if (recipe.kind == TargetKind::kRegression) {
    return absl::OkStatus();
  }
  std::map<double, Index> counts;
  PacedCheck check(context);
  for (Index row = 0; row < target.values.size(); ++row) {
    MERCER_RETURN_IF_ERROR(check.After(kNumbersPerRow));
    if (!std::isnan(target.values(row))) {
      ++counts[target.values(row)];
    }
    if (counts.size() > OutputCoding::kMaxClasses) {
      return absl::OkStatus();  // more than a coding takes
    }
  }
  const auto classes = static_cast<Index>(counts.size());
  if (classes <= 2) {
    return absl::OkStatus();
  }
  shape.outputs = classes;
  if (recipe.coding == CodingChoice::kOneVsOne) {
    shape.outputs = classes * (classes - 1) / 2;
    std::vector<Index> sizes;
    for (const auto& [label, count] : counts) {
      sizes.push_back(count);
    }
    std::sort(sizes.rbegin(), sizes.rend());
    if (HasOneRun(entry, recipe)) {
      Index left = shape.rows;
      for (Index& size : sizes) {
        size = std::min(size, left);
        left -= size;
      }
      shape.rows_of_classes = std::move(sizes);
      return absl::OkStatus();
    }
    shape.rows = std::min(shape.rows, sizes[0] + sizes[1]);
  }
  return absl::OkStatus();
}

// Upper bound on the rows that the model or a fold is trained on.
absl::StatusOr<Index> TrainingRows(const LearnerEntry& entry, const TrainingRecipe& recipe,
                                   const Dataset& dataset, const RoleColumn& target,
                                   const RunContext& context) {
  if (recipe.validation.kind != ValidationKind::kHoldOut) {
    return dataset.rows;
  }
  // Where columns of the data divide the rows, they say how many are left for training; when they
  // cannot be read, the run will say why.
  if (dataset.FindColumn(ColumnRole::kGroup) != nullptr ||
      dataset.FindColumn(ColumnRole::kSplit) != nullptr) {
    const absl::StatusOr<std::vector<Split>> splits =
        MakeSplits(entry, recipe, dataset, target, context);
    MERCER_RETURN_IF_ERROR(context.CheckCancelled());
    return splits.ok() ? static_cast<Index>((*splits)[0].training.size()) : dataset.rows;
  }
  const double fraction = recipe.validation.fraction.value_or(kDefaultHoldOutFraction);
  const double kept = (1 - fraction) * static_cast<double>(dataset.rows);
  return std::clamp<Index>(static_cast<Index>(std::ceil(kept)) + 1, 1, dataset.rows);
}

}  // namespace

bool HasOneRun(const LearnerEntry& entry, const TrainingRecipe& recipe) {
  const absl::StatusOr<OptionValues> options = CompleteOptions(entry, recipe.options);
  const bool shared = entry.shares_outputs && options.ok() && entry.shares_outputs(*options);
  return shared || (entry.joint_outputs && recipe.coding != CodingChoice::kOneVsOne);
}

std::vector<const FeatureBlock*> UsedBlocks(const TrainingRecipe& recipe, const Dataset& dataset) {
  const std::vector<std::string>& names = recipe.preprocessing.blocks;
  std::vector<const FeatureBlock*> used;
  for (const FeatureBlock& block : dataset.blocks) {
    if (names.empty() || std::find(names.begin(), names.end(), block.name) != names.end()) {
      used.push_back(&block);
    }
  }
  return used;
}

Index PreparedColumns(const FeatureBlock& block) {
  Index count = block.columns.empty() ? block.num_columns() : 0;
  for (const ColumnSchema& column : block.columns) {
    count += column.categorical ? static_cast<Index>(column.categories.size()) : 1;
  }
  return count;
}

absl::StatusOr<ProblemShape> ShapeOfRecipe(const LearnerEntry& entry, const TrainingRecipe& recipe,
                                           const Dataset& dataset, const RunContext& context,
                                           const ScratchSpace* scratch) {
  MERCER_ASSIGN_OR_RETURN(const RoleColumn* target, FindTarget(recipe, dataset));
  MERCER_RETURN_IF_ERROR(CheckFoldCount(recipe, dataset, context));
  ProblemShape shape;
  MERCER_ASSIGN_OR_RETURN(shape.rows, TrainingRows(entry, recipe, dataset, *target, context));
  CountColumns(recipe, dataset, scratch, shape);
  shape.relative_gap = recipe.limits.relative_gap;
  if (entry.uses_kernels) {
    const std::vector<KernelGrid> grids = KernelsOrDefault(entry, recipe, dataset);
    CountKernels(grids, dataset, shape);
    shape.disjoint_columns = AreDisjointColumns(grids, recipe, dataset);
  }
  MERCER_RETURN_IF_ERROR(CountOutputs(entry, recipe, *target, context, shape));
  MERCER_ASSIGN_OR_RETURN(const RoleColumn* tasks, FindTaskColumn(entry, recipe, dataset));
  if (tasks != nullptr) {
    MERCER_ASSIGN_OR_RETURN(const TaskCoding coding, TaskCoding::FromAllRows(*tasks, context));
    MERCER_RETURN_IF_ERROR(CheckOutputsOfTasks(entry, shape.outputs));
    shape.classes_of_task = shape.outputs;
    shape.rows *= shape.outputs;
    shape.tasks = coding.num_tasks() * shape.outputs;
    shape.outputs = shape.tasks;
  } else if (recipe.coding != CodingChoice::kOneVsOne) {
    shape.classes_against_rest = shape.outputs;
  }
  return shape;
}

absl::StatusOr<Index> CountFolds(const TrainingRecipe& recipe, const Dataset& dataset,
                                 const RunContext& context) {
  if (recipe.validation.kind != ValidationKind::kFolds) {
    return Index{0};
  }
  const RoleColumn* parts = dataset.FindColumn(ColumnRole::kSplit);
  if (parts == nullptr) {
    return Index{std::max(1, recipe.validation.folds.value_or(kDefaultFolds))};
  }
  MERCER_ASSIGN_OR_RETURN(const size_t folds, CountDifferent(parts->values, context));
  const bool some_missing = parts->values.array().isNaN().any();
  return static_cast<Index>(folds) + (some_missing ? 1 : 0);
}

}  // namespace mercer
