// Predictions for rows with known labels, and metrics of them on rows that count more or less often.
#pragma once

#include <vector>

#include "core/training/predictor.h"

namespace mercer {

// EvaluatePrediction, which is this with null weights, where a row counts `weights(row)` times (finite,
// >= 0, one per row). Of the decision values only the first column is read.
std::vector<Metric> EvaluateWeighted(const OutputCoding& coding, const Prediction& prediction,
                                     const RoleColumn& labels, const Vector* weights);

// Predictions for the rows `rows` of `inputs`, in blocks: of all at once there would be a table more.
// Errors: those of Predictor::PredictPrepared.
absl::StatusOr<Prediction> PredictRows(const Predictor& predictor, const PreparedData& inputs,
                                       const std::vector<Index>& rows, RunContext& context);

}  // namespace mercer
