// Predictions for rows with known labels, and metrics of them on rows that count more or less
// often.
#pragma once

#include <vector>

#include "core/training/model/predictor.h"

namespace mercer {

// EvaluatePrediction, which is this with null weights, where a row counts `weights(row)` times
// (finite, >= 0, one per row). Of the decision values only the first column is read.
// Errors: kCancelled.
absl::StatusOr<std::vector<Metric>> EvaluateWeighted(const OutputCoding& coding,
                                                     const Prediction& prediction,
                                                     const RoleColumn& labels,
                                                     const Vector* weights,
                                                     const RunContext& context);

// What a predictor that looks at no column scores on `labels`: one that always answers the most
// frequent class of `training` (of equally frequent ones the first), or its mean. Row i of
// `training` counts `weights(i)` times (null: once). Metrics as above, but for auc, which says
// nothing of a constant. Errors: kCancelled.
absl::StatusOr<std::vector<Metric>> EvaluateConstant(const OutputCoding& coding,
                                                     const RoleColumn& training,
                                                     const Vector* weights,
                                                     const RoleColumn& labels,
                                                     const RunContext& context);

// The names of metrics of the best constant answer begin with this: "baseline.accuracy".
inline constexpr char kBaselinePrefix[] = "baseline.";
inline bool IsOfBaseline(const Metric& metric) {
  return metric.name.rfind(kBaselinePrefix, 0) == 0;
}

// Predictions for the rows `rows` of `inputs`, in blocks: of all at once there would be a table
// more. Errors: those of Predictor::PredictPrepared.
absl::StatusOr<Prediction> PredictRows(const Predictor& predictor, const PreparedData& inputs,
                                       const std::vector<Index>& rows, RunContext& context);

}  // namespace mercer
