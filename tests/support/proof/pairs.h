// What learner and verifier of the proof agree on: the rows of all tasks, the pairs of them that a
// witness has coefficients of, and the weights of the kernels.
#pragma once

#include <vector>

#include "core/base/numeric/types.h"
#include "core/training/contract/problem.h"

namespace mercer::pair_ridge {

// The rows of all tasks together, as the one table has them.
struct AllRows {
  explicit AllRows(const TrainingProblem& problem);

  Index size() const { return targets.size(); }
  Index num_tasks() const { return static_cast<Index>(places.size()); }

  std::vector<Index> rows;                 // of the table, ascending
  std::vector<Index> task;                 // of each
  std::vector<std::vector<Index>> places;  // of the rows of each task among `rows`, in their order
  Vector targets;
  Vector costs;
};

// A row of weight > 0 and the next one of its task, by their places.
struct Pair {
  Index first;
  Index second;
};
// Task by task, in the order of the rows.
std::vector<Pair> MakePairs(const AllRows& all);

// a(i), the sum of the coefficients of the pairs that begin with row i less that of those that end
// with it: the dual variables of a function of pairs, whose sum is 0 in every task.
Vector DualOfPairs(const std::vector<Pair>& pairs, ConstVectorRef coefficients, Index num_rows);
// The coefficients that have these dual variables.
Vector PairsOfDual(const std::vector<Pair>& pairs, ConstVectorRef dual);

// The weight of each kernel: all groups weigh alike, however many kernels each has; with one group
// every kernel weighs 1.
Vector KernelWeights(const std::vector<KernelSpec>& kernels);
// That of the scalar product of rows of so many columns: as much as all kernels together.
double PlaneWeight(const std::vector<KernelSpec>& kernels, Index num_inputs);

}  // namespace mercer::pair_ridge
