// Predictions row by row, in the form in which the rows came.
#pragma once

#include <string>

#include "absl/status/statusor.h"

#include "mercer/v1/prediction_service.pb.h"
#include "server/gateway/rows/row_columns.h"

namespace mercer::gateway {

// {"model": "models/spam/versions/1", "predictions": [...]}, an object for each row: "label" and "decisionValues" by output, or of a
// regression "prediction"; on request "probabilities" by class, "contributions" by kernel and output, "gradients" by output and
// column, "projections" by output and direction; "error" says why the row was not predicted. Numbers that JSON has no word for are
// null. Names are written for every row, so memory is asked for first.
// Errors: kInternal: the response contradicts itself; those of the memory check.
absl::StatusOr<std::string> WriteJsonRows(const v1::PredictResponse& response,
                                          const MemoryCheck& memory);

// A header and a line for each row: "label" and "value OUTPUT" for each output, or of a regression "prediction"; on request
// "probability CLASS", for each contribution its name, followed by that of the output where there are several, "gradient COLUMN" and
// "direction N"; "error" if there is any. Errors: the same.
absl::StatusOr<std::string> WriteCsvRows(const v1::PredictResponse& response,
                                         const MemoryCheck& memory);

}  // namespace mercer::gateway
