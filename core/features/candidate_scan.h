// One pass over the rows for all candidates of a round: what decides which of them enters the model. Columns of candidates that are
// drawn anew in each round are not stored; those of a winner are computed again.
//
// Sums over rows are cut and added as row_blocks.h says: they have the same bits for every number of
// threads, and for hosts that own whole blocks of rows.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"

#include "core/base/numeric/types.h"
#include "core/base/process/run_context.h"
#include "core/features/column_sums.h"
#include "core/features/feature_family.h"
#include "core/features/feature_rows.h"

namespace mercer {

struct CandidateSums {
  Matrix products;  // columns x slopes: the column's product with each vector of slopes
  std::vector<ColumnSums> columns;  // group by group
};

// The precision of the columns' values.
enum class FeaturePrecision : uint8_t { kSingle = 0, kDouble = 1 };

// The sums of all columns of `candidates`; slopes: rows.size() x at least 1. Errors: kCancelled.
absl::StatusOr<CandidateSums> ScanCandidates(const FeatureFamily& family, const FeatureRows& rows,
                                             absl::Span<const FeatureParameters> candidates,
                                             ConstMatrixRef slopes, FeaturePrecision precision,
                                             const RunContext& context);

// The columns of `candidates` side by side in single precision, for candidates that are the same in every round. Errors: kCancelled.
absl::StatusOr<SingleMatrix> EvaluateCandidates(const FeatureFamily& family,
                                                const FeatureRows& rows,
                                                absl::Span<const FeatureParameters> candidates,
                                                const RunContext& context);
// What ScanCandidates finds in single precision, with the same bits, from the columns at the same rows.
absl::StatusOr<CandidateSums> ScanColumns(const SingleMatrix& columns, const FeatureRows& rows,
                                          ConstMatrixRef slopes, const RunContext& context);

// out = the columns of the groups side by side, rows.size() x columns_per_group() for each, computed in double precision. Those of a group
// do not depend on the others. Errors: kCancelled.
absl::Status EvaluateColumns(const FeatureFamily& family, const FeatureRows& rows,
                             absl::Span<const FeatureParameters> groups, MatrixRef out,
                             const RunContext& context);

}  // namespace mercer
