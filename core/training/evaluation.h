// Metrics of predictions on rows that count more or less often.
#pragma once

#include <vector>

#include "core/training/predictor.h"

namespace mercer {

// EvaluatePrediction, which is this with null weights, where a row counts `weights(row)` times (finite,
// >= 0, one per row). Of the decision values only the first column is read.
std::vector<Metric> EvaluateWeighted(const OutputCoding& coding, const Prediction& prediction,
                                     const RoleColumn& labels, const Vector* weights);

}  // namespace mercer
