// Pairs of rows that gradient learning compares, and their weights. A pair (i, j) says what the
// functions at the anchor x_j, f_0(x_j) + f(x_j)'(x_i - x_j), should be: y_i.
//
// Source       docs/mathematics: learning gradients with coordinate weights.
//
// Distances between rows are sums of squared differences, all in the order of the columns: equal
// rows have the same bits of distance to every other one, so that ties fall to the lower index.
#pragma once

#include <optional>
#include <vector>

#include "absl/status/statusor.h"

#include "core/base/numeric/types.h"
#include "core/base/process/run_context.h"

namespace mercer {

enum class PairWeighting { kNeighbors, kGaussian, kUniform };

struct PairWeights {
  PairWeighting kind = PairWeighting::kNeighbors;
  // kNeighbors: the nearest rows of each row, by distance and then by index, all pairs of the same
  // weight, of the sum 1. With itself a row is its own first neighbour. Symmetric: with a pair also
  // its reverse, behind those of its target.
  Index neighbors = 8;
  bool include_self = true;
  bool symmetric = false;
  // kGaussian: weights proportional to exp(-|x_i - x_j|^2 / (2 width^2)), of the sum 1; pairs below
  // `drop` times the largest are left out. Without a width the median distance.
  std::optional<double> width = {};
  double drop = 1e-12;
  // Of each row the nearest anchors alone, itself among them, by distance and then by index.
  std::optional<Index> most_anchors = {};
  // kUniform: 1 / m for all pairs.
};

struct GradientPairs {
  std::vector<Index> targets;  // i
  std::vector<Index> anchors;  // j
  Vector weights;              // > 0

  Index size() const { return weights.size(); }
};

// Of all rows, m x m and symmetric. Errors: kCancelled.
absl::StatusOr<Matrix> SquaredRowDistances(const ConstMatrixRef& rows, RunContext& context);

// The median of the positive distances of rows i < j, of an even number the mean of the middle two.
// Errors: kInvalidArgument when all rows are equal.
absl::StatusOr<double> MedianRowDistance(const ConstMatrixRef& squared_distances);

// By target, then by distance or index. Errors: kInvalidArgument, naming weights.k or weights.s,
// also when every difference is 0; kCancelled.
absl::StatusOr<GradientPairs> MakeGradientPairs(const PairWeights& weights,
                                                const ConstMatrixRef& squared_distances,
                                                const RunContext& context);

}  // namespace mercer
