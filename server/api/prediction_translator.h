// Rows to predict, and predictions.
#pragma once

#include "absl/status/statusor.h"

#include "core/data/dataset.h"
#include "core/training/predictor.h"
#include "mercer/v1/prediction_service.pb.h"

namespace mercer::server {

// The rows as a data set with the model's types. Errors: kInvalidArgument with violations below
// "rows", or the row and column of a bad value.
absl::StatusOr<Dataset> ReadRows(const v1::Rows& rows, const Model& model);

// Everything but the model's name. Errors: those of WriteMatrix.
absl::Status WritePrediction(const Model& model, const Prediction& prediction,
                             v1::PredictResponse* response);

}  // namespace mercer::server
