// Sums of feature columns with weights: what a model of features predicts.
#pragma once

#include "absl/status/status.h"

#include "core/base/numeric/types.h"
#include "core/base/process/run_context.h"
#include "core/features/feature_family.h"
#include "core/features/feature_rows.h"

namespace mercer {

// out(i, t) += sum_c weights(c, t) column c at row i, in double precision, column after column: a
// row's bits depend on the row alone. rows: any table with map.num_inputs() columns; weights:
// map.num_columns() x outputs; out: rows x outputs. NaN where a column is.
void AddWeightedColumns(const FeatureMap& map, const ConstRowMatrixRef& rows,
                        const ConstMatrixRef& weights, MatrixRef out);

// The same for all rows of a task, on the threads of `context`. Errors: kCancelled.
absl::Status AddWeightedColumns(const FeatureMap& map, const FeatureRows& rows,
                                const ConstMatrixRef& weights, MatrixRef out,
                                const RunContext& context);

}  // namespace mercer
