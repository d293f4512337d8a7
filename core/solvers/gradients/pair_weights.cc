#include "core/solvers/gradients/pair_weights.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "absl/strings/str_cat.h"

#include "core/base/status/errors.h"
#include "core/base/status/status_macros.h"

namespace mercer {
namespace {

constexpr Index kDistanceRows = 8;  // for one task

absl::Status BadPairs(const char* field, const std::string& what) {
  FieldViolations violations;
  violations.Add(field, what);
  return violations.ToStatus();
}

// Pairs of these anchors of each row, all of the same weight.
GradientPairs EvenPairs(const std::vector<std::vector<Index>>& anchors) {
  GradientPairs pairs;
  for (size_t i = 0; i < anchors.size(); ++i) {
    pairs.anchors.insert(pairs.anchors.end(), anchors[i].begin(), anchors[i].end());
    pairs.targets.insert(pairs.targets.end(), anchors[i].size(), static_cast<Index>(i));
  }
  const auto count = static_cast<Index>(pairs.anchors.size());
  pairs.weights = Vector::Constant(count, 1.0 / static_cast<double>(count));
  return pairs;
}

// Adds the reverse of each pair that lacks it.
void AddReverses(std::vector<std::vector<Index>>& anchors) {
  std::vector<std::vector<Index>> reverses(anchors.size());
  for (size_t i = 0; i < anchors.size(); ++i) {
    for (const Index j : anchors[i]) {
      const std::vector<Index>& of_j = anchors[static_cast<size_t>(j)];
      if (std::find(of_j.begin(), of_j.end(), static_cast<Index>(i)) == of_j.end()) {
        reverses[static_cast<size_t>(j)].push_back(static_cast<Index>(i));
      }
    }
  }
  for (size_t i = 0; i < anchors.size(); ++i) {
    anchors[i].insert(anchors[i].end(), reverses[i].begin(), reverses[i].end());
  }
}

absl::StatusOr<GradientPairs> NeighborPairs(const PairWeights& weights,
                                            const ConstMatrixRef& squared,
                                            const RunContext& context) {
  const Index rows = squared.rows();
  const Index k = weights.neighbors;
  const Index least = weights.include_self ? 2 : 1;
  const Index most = weights.include_self ? rows : rows - 1;
  if (k < least || k > most) {
    return BadPairs("weights.k", absl::StrCat("must be ", least, " to ", most, ", is ", k));
  }
  std::vector<std::vector<Index>> anchors;
  std::vector<Index> order(static_cast<size_t>(rows));
  for (Index i = 0; i < rows; ++i) {
    MERCER_RETURN_IF_ERROR(context.CheckCancelled());
    std::iota(order.begin(), order.end(), Index{0});
    std::swap(order[0], order[static_cast<size_t>(i)]);  // itself first, then the others
    const auto others = order.begin() + 1;
    const Index count = weights.include_self ? k - 1 : k;
    std::partial_sort(others, others + count, order.end(), [&](Index a, Index b) {
      return squared(a, i) != squared(b, i) ? squared(a, i) < squared(b, i) : a < b;
    });
    const auto first = weights.include_self ? order.begin() : others;
    anchors.emplace_back(first, first + k);
  }
  if (weights.symmetric) {
    AddReverses(anchors);
  }
  return EvenPairs(anchors);
}

// Exponents are relative to that of the pairs of a row with itself, 0, which is the largest.
absl::StatusOr<GradientPairs> GaussianPairs(const PairWeights& weights,
                                            const ConstMatrixRef& squared,
                                            const RunContext& context) {
  double width = 0;
  if (weights.width.has_value()) {
    width = *weights.width;
  } else {
    MERCER_ASSIGN_OR_RETURN(width, MedianRowDistance(squared));
  }
  if (!(width > 0) || !std::isfinite(width)) {
    return BadPairs("weights.s", absl::StrCat("must be > 0, is ", width));
  }
  GradientPairs pairs;
  std::vector<double> values;
  double sum = 0;
  bool differ = false;
  std::vector<Index> anchors(static_cast<size_t>(squared.rows()));
  const auto most = std::min(weights.most_anchors.value_or(squared.rows()), squared.rows());
  for (Index i = 0; i < squared.rows(); ++i) {
    MERCER_RETURN_IF_ERROR(context.CheckCancelled());
    std::iota(anchors.begin(), anchors.end(), Index{0});
    if (most < squared.rows()) {
      std::nth_element(anchors.begin(), anchors.begin() + most, anchors.end(),
                       [&](Index a, Index b) {
                         const double of_a = a == i ? -1 : squared(a, i);
                         const double of_b = b == i ? -1 : squared(b, i);
                         return of_a != of_b ? of_a < of_b : a < b;
                       });
      std::sort(anchors.begin(), anchors.begin() + most);
    }
    for (Index n = 0; n < most; ++n) {
      const Index j = anchors[static_cast<size_t>(n)];
      const double distance = std::sqrt(squared(i, j)) / width;
      const double value = std::exp(-0.5 * distance * distance);
      if (value > 0 && value >= weights.drop) {
        pairs.targets.push_back(i);
        pairs.anchors.push_back(j);
        values.push_back(value);
        sum += value;
        differ = differ || squared(i, j) > 0;
      }
    }
  }
  if (!differ) {
    return BadPairs("weights.s",
                    absl::StrCat("is too small: at ", width, " no row has a weight beside itself"));
  }
  pairs.weights = Vector::Map(values.data(), static_cast<Index>(values.size())) / sum;
  return pairs;
}

absl::StatusOr<GradientPairs> UniformPairs(Index rows, const RunContext& context) {
  GradientPairs pairs;
  pairs.weights = Vector::Constant(rows * rows, 1.0 / static_cast<double>(rows));
  pairs.targets.reserve(static_cast<size_t>(rows * rows));
  pairs.anchors.reserve(static_cast<size_t>(rows * rows));
  for (Index i = 0; i < rows; ++i) {
    MERCER_RETURN_IF_ERROR(context.CheckCancelled());
    for (Index j = 0; j < rows; ++j) {
      pairs.targets.push_back(i);
      pairs.anchors.push_back(j);
    }
  }
  return pairs;
}

}  // namespace

absl::StatusOr<Matrix> SquaredRowDistances(const ConstMatrixRef& rows, RunContext& context) {
  const Index count = rows.rows();
  Matrix squared = Matrix::Zero(count, count);
  context.parallel().ForBlocks(count, kDistanceRows, [&](Index begin, Index end) {
    for (Index column = 0; column < rows.cols(); ++column) {
      if (column % 64 == 0 && context.cancelled()) {
        return;
      }
      for (Index j = begin; j < end; ++j) {
        squared.col(j).tail(count - j).array() +=
            (rows.col(column).tail(count - j).array() - rows(j, column)).square();
      }
    }
  });
  MERCER_RETURN_IF_ERROR(context.CheckCancelled());
  squared.triangularView<Eigen::StrictlyUpper>() = squared.transpose();
  return squared;
}

absl::StatusOr<double> MedianRowDistance(const ConstMatrixRef& squared_distances) {
  std::vector<double> values;
  for (Index j = 0; j < squared_distances.cols(); ++j) {
    for (Index i = j + 1; i < squared_distances.rows(); ++i) {
      if (squared_distances(i, j) > 0) {
        values.push_back(squared_distances(i, j));
      }
    }
  }
  if (values.empty()) {
    return absl::InvalidArgumentError("all rows are equal: there is no median distance");
  }
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  const double high = std::sqrt(*middle);
  if (values.size() % 2 == 1) {
    return high;
  }
  return 0.5 * (high + std::sqrt(*std::max_element(values.begin(), middle)));
}

absl::StatusOr<GradientPairs> MakeGradientPairs(const PairWeights& weights,
                                                const ConstMatrixRef& squared_distances,
                                                const RunContext& context) {
  switch (weights.kind) {
    case PairWeighting::kNeighbors:
      return NeighborPairs(weights, squared_distances, context);
    case PairWeighting::kGaussian:
      return GaussianPairs(weights, squared_distances, context);
    case PairWeighting::kUniform:
      break;
  }
  return UniformPairs(squared_distances.rows(), context);
}

}  // namespace mercer
