// The scales by which feature columns are divided: from sums over the training rows, kept with the
// model, never taken from new rows.
#pragma once

#include <cstdint>
#include <optional>

#include "absl/types/span.h"

#include "core/base/numeric/types.h"
#include "core/features/candidate_scan.h"

namespace mercer {

enum class FeatureNormalization : uint8_t {
  kColumn = 0,  // each column to Euclidean norm 1
  // All columns of a group are divided by one scale, after which their norms have the root mean
  // square 1. For a pair of cosine and sine this scale is sqrt(rows / 2) whatever the frequency, so
  // that a shift of the phase changes nothing.
  kGroup = 1,
  kNone = 2,
};

// Which rows decide a scale when tasks have rows of their own.
enum class ScaleScope : uint8_t {
  kPerTask = 0,
  // The scale is the root mean square of the tasks' scales, so that a weight means the same
  // function in every task.
  kPooled = 1,
};

// The columns of one group over the rows of one task.
struct TaskColumns {
  absl::Span<const ColumnSums> columns;
  Index rows = 0;
};

// The scales of a group, columns x tasks. Nothing when the group must not be used: a value that is
// not finite, or a scale of at most 1e-10 sqrt(rows) max|value|.
std::optional<Matrix> GroupScales(FeatureNormalization normalization, ScaleScope scope,
                                  absl::Span<const TaskColumns> tasks);

}  // namespace mercer
