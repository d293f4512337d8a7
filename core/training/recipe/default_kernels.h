// What a learner that takes kernels trains on when a recipe names none: one list for all of them,
// chosen by the shape of the data. docs/results/default-kernels.md measures it.
#pragma once

#include <vector>

#include "core/data/table/dataset.h"
#include "core/kernels/spec/kernel_spec.h"
#include "core/training/contract/learner.h"
#include "core/training/recipe/recipe.h"

namespace mercer {

// The default list in words, for lists of learners and documents.
inline constexpr char kDefaultKernelsText[] =
    "Gaussians whose bandwidths are 0.4 (for numbers 0.5), 1 and 2.5 times the median distance of "
    "the training rows; where there are at least as many columns as rows, also a linear kernel "
    "whose diagonal has the mean 1; and of each square block the kernel itself, or "
    "exp(-d / bandwidth) of its distances d with the same multiples of their median";

// The default list. Looks at the numbers of rows and columns (of the blocks in use, one for each
// category) and at the kinds of the target and of square blocks, never at values: all folds of a
// data set get the same list. Empty when the data set has no column and no square block.
std::vector<KernelGrid> DefaultKernels(const TrainingRecipe& recipe, const Dataset& dataset);

// For learners with one kernel.
inline constexpr char kOneKernelText[] =
    "a Gaussian whose bandwidth is the median distance of the training rows";

// For learners that select columns: a linear kernel of each column, and square blocks as above.
inline constexpr char kKernelsOfColumnsText[] =
    "a linear kernel of each column, and of each square block the kernel itself, or "
    "exp(-d / bandwidth) of its distances d with 0.4, 1 and 2.5 times their median as bandwidths";

// The default list of a learner that takes kernels.
std::vector<KernelGrid> DefaultKernels(const LearnerEntry& entry, const TrainingRecipe& recipe,
                                       const Dataset& dataset);

// The kernels to expand: the recipe's, or the learner's default list when it takes kernels and the
// recipe has none.
std::vector<KernelGrid> KernelsOrDefault(const LearnerEntry& entry, const TrainingRecipe& recipe,
                                         const Dataset& dataset);

}  // namespace mercer
