#include "core/training/recipe/default_kernels.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "core/training/recipe/recipe_shape.h"

namespace mercer {
namespace {

// Standardised columns are at a mean squared distance of 2 each, so that scikit-learn's width
// sqrt(columns / 2) is about half the median distance. The narrowest Gaussian is there or, for
// classes, a little below, since one output for each class asks for more than one for each pair.
// The wide ones let a sum of all three follow a smooth function too, and give a learner of weights
// a choice.
std::vector<double> MedianMultiples(TargetKind kind) {
  return {kind == TargetKind::kRegression ? 0.5 : 0.4, 1.0, 2.5};
}

KernelGrid OfMultiples(KernelType type, TargetKind kind) {
  KernelGrid grid;
  grid.prototype.type = type;
  grid.rule = BandwidthRule::kMedianMultiples;
  grid.bandwidths = MedianMultiples(kind);
  return grid;
}

// The diagonal of a Gaussian is 1; a linear kernel of many columns would outweigh it by their
// number.
KernelGrid ScaledLinear() {
  KernelGrid grid;
  grid.prototype.type = KernelType::kLinear;
  grid.prototype.normalization.scaling = KernelScaling::kMeanDiagonal;
  return grid;
}

Index CountColumns(const TrainingRecipe& recipe, const Dataset& dataset) {
  Index columns = 0;
  for (const FeatureBlock* block : UsedBlocks(recipe, dataset)) {
    columns += PreparedColumns(*block);
  }
  return columns;
}

void AddSquares(const TrainingRecipe& recipe, const Dataset& dataset,
                std::vector<KernelGrid>& grids) {
  const std::vector<std::string>& blocks = recipe.preprocessing.blocks;
  for (const SquareBlock& square : dataset.squares) {
    if (!blocks.empty() && std::find(blocks.begin(), blocks.end(), square.name) == blocks.end()) {
      continue;
    }
    KernelGrid grid;
    grid.prototype.type = KernelType::kPrecomputed;
    if (square.kind == SquareKind::kDistance) {
      grid = OfMultiples(KernelType::kDistance, recipe.kind);
    }
    grid.prototype.block = square.name;
    grids.push_back(std::move(grid));
  }
}

std::vector<KernelGrid> KernelsOfColumns(const TrainingRecipe& recipe, const Dataset& dataset) {
  std::vector<KernelGrid> grids;
  if (CountColumns(recipe, dataset) > 0) {
    KernelGrid& grid = grids.emplace_back();
    grid.prototype.type = KernelType::kLinear;
    grid.per_column = true;
  }
  AddSquares(recipe, dataset, grids);
  return grids;
}

}  // namespace

std::vector<KernelGrid> DefaultKernels(const TrainingRecipe& recipe, const Dataset& dataset) {
  const Index columns = CountColumns(recipe, dataset);
  std::vector<KernelGrid> grids;
  if (columns > 0) {
    grids.push_back(OfMultiples(KernelType::kGaussian, recipe.kind));
  }
  if (columns > 0 && columns >= dataset.rows) {
    grids.push_back(ScaledLinear());
  }
  AddSquares(recipe, dataset, grids);
  return grids;
}

std::vector<KernelGrid> DefaultKernels(const LearnerEntry& entry, const TrainingRecipe& recipe,
                                       const Dataset& dataset) {
  std::vector<KernelGrid> grids =
      entry.selects_columns ? KernelsOfColumns(recipe, dataset) : DefaultKernels(recipe, dataset);
  if (entry.one_kernel && !grids.empty()) {
    grids.resize(1);
    if (grids[0].rule == BandwidthRule::kMedianMultiples) {
      grids[0].bandwidths = {1.0};
    }
  }
  return grids;
}

std::vector<KernelGrid> KernelsOrDefault(const LearnerEntry& entry, const TrainingRecipe& recipe,
                                         const Dataset& dataset) {
  const bool open = entry.uses_kernels && recipe.kernels.empty();
  return open ? DefaultKernels(entry, recipe, dataset) : recipe.kernels;
}

}  // namespace mercer
