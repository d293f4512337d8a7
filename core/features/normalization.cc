#include "core/features/normalization.h"

#include <algorithm>
#include <cmath>

namespace mercer {
namespace {

constexpr double kSmallestScale = 1e-10;

bool AllFinite(absl::Span<const TaskColumns> tasks) {
  for (const TaskColumns& task : tasks) {
    for (const ColumnSums& column : task.columns) {
      if (!column.finite || !std::isfinite(column.squares)) {
        return false;
      }
    }
  }
  return true;
}

// The squares of the scales, before the tasks are pooled.
Matrix SquaredScales(FeatureNormalization normalization, absl::Span<const TaskColumns> tasks) {
  const auto num_columns = static_cast<Index>(tasks[0].columns.size());
  Matrix squares(num_columns, static_cast<Index>(tasks.size()));
  for (Index t = 0; t < squares.cols(); ++t) {
    for (Index c = 0; c < num_columns; ++c) {
      squares(c, t) = tasks[static_cast<size_t>(t)].columns[static_cast<size_t>(c)].squares;
    }
  }
  if (normalization == FeatureNormalization::kGroup) {
    squares = squares.colwise().mean().replicate(num_columns, 1).eval();
  }
  return squares;
}

// The largest |value| of what column c of a task shares its scale with.
double Largest(FeatureNormalization normalization, const TaskColumns& task, Index c) {
  if (normalization == FeatureNormalization::kColumn) {
    return task.columns[static_cast<size_t>(c)].largest;
  }
  double largest = 0;
  for (const ColumnSums& column : task.columns) {
    largest = std::max(largest, column.largest);
  }
  return largest;
}

}  // namespace

std::optional<Matrix> GroupScales(FeatureNormalization normalization, ScaleScope scope,
                                  absl::Span<const TaskColumns> tasks) {
  if (!AllFinite(tasks)) {
    return std::nullopt;
  }
  if (normalization == FeatureNormalization::kNone) {
    return Matrix::Ones(static_cast<Index>(tasks[0].columns.size()),
                        static_cast<Index>(tasks.size()));
  }
  Matrix scales = SquaredScales(normalization, tasks);
  if (scope == ScaleScope::kPooled) {
    scales = scales.rowwise().mean().replicate(1, scales.cols()).eval();
  }
  scales = scales.cwiseSqrt();
  for (Index t = 0; t < scales.cols(); ++t) {
    const TaskColumns& task = tasks[static_cast<size_t>(t)];
    const double root = std::sqrt(static_cast<double>(task.rows));
    for (Index c = 0; c < scales.rows(); ++c) {
      const double scale = scales(c, t);
      if (scale == 0 || !std::isfinite(scale) ||
          scale <= kSmallestScale * root * Largest(normalization, task, c)) {
        return std::nullopt;
      }
    }
  }
  return scales;
}

}  // namespace mercer
