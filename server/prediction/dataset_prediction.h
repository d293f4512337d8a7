// The predictions of a whole data set as a data set, in its stored form.
//
// Its block kPredictionBlock has a numeric column for each output, of a classification also the predicted class as the categorical
// column kLabelColumn, then the dense features that are kept; its columns with a role are those that are kept.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "core/base/process/run_context.h"
#include "core/data/table/dataset.h"
#include "core/io/store/dataset_file.h"
#include "core/training/model/predictor.h"
#include "server/prediction/row_blocks.h"

namespace mercer::server {

inline constexpr char kPredictionBlock[] = "predictions";
inline constexpr char kPredictionColumn[] = "prediction";  // of a regression
inline constexpr char kLabelColumn[] = "label";

struct DatasetPrediction {
  PredictOptions options;     // contributions, gradients and projections are not asked for
  bool skips_unseen = false;  // rows with a category that training did not know are missing
  std::vector<std::string> kept_columns;
};

// What the first rows have come to.
struct PredictedRows {
  Index rows = 0;
  int64_t unpredicted = 0;  // rows whose values are missing
  int64_t by_mean = 0;      // by the mean over all tasks
};

// Refuses what the prediction would fail on, as far as the first row shows it. Errors: kInvalidArgument naming "keep_columns[i]" (there
// is no such column, or it has the name of a column of predictions, or comes twice), or "model" (two of its classes, or one and the
// column of classes, would be columns of one name, or a name is empty or too long for a column); those of Predictor; kCancelled.
absl::Status CheckPrediction(const Predictor& predictor, const Dataset& source,
                             const DatasetPrediction& asked, RunContext& context);

// Upper bound on the memory of WritePredictions, and of looking through what it has written; model and source not included.
int64_t PredictionBytes(const Model& model, const Dataset& source, const DatasetPrediction& asked);

// What the columns of WritePredictions have, in bytes: a little less than it writes.
int64_t PredictedBytes(const Model& model, const Dataset& source, const DatasetPrediction& asked);

// Goes on behind the rows that are `done`, as far as which the sink has had its bytes before. Errors: those of CheckPrediction about any
// row, and of the sink; kOutOfRange when a value is infinite.
absl::Status WritePredictions(const Predictor& predictor, const Dataset& source,
                              const DatasetPrediction& asked, RunContext& context,
                              const RowsDone& on_block, ByteSink& sink, PredictedRows& done);

}  // namespace mercer::server
