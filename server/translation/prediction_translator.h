// Rows to predict, and predictions.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

#include "core/base/numeric/hash_table.h"
#include "core/data/table/dataset.h"
#include "core/training/model/predictor.h"
#include "mercer/v1/prediction_service.pb.h"

namespace mercer::server {

// The most numbers of all square blocks of a call that names their columns, which take their places
// among those of all training rows: as many as a message holds by default.
inline constexpr int64_t kMostSquareNumbers = int64_t{8} << 20;

// The rows as a data set with the model's types; named columns among `ignored`, and the model's target, are left out. Errors:
// kInvalidArgument with violations below "rows", or the row and column of a bad value.
absl::StatusOr<Dataset> ReadRows(const v1::Rows& rows, const Predictor& predictor,
                                 const HashSet<std::string>& ignored = {});

// OWN unless it is said. Errors: kInvalidArgument naming the field "task_rule".
absl::StatusOr<TaskRule> ReadTaskRule(v1::TaskRule rule);

// Takes the predictions of those rows back and says why.
void WriteRowErrors(const std::vector<UnseenCell>& cells, v1::PredictResponse* response);

// Everything but the model's name. Errors: those of WriteMatrix.
absl::Status WritePrediction(const Model& model, const Prediction& prediction,
                             v1::PredictResponse* response);

}  // namespace mercer::server
