// Metrics of a model on a data set of any size, block of rows by block.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

#include "core/base/process/run_context.h"
#include "core/data/table/dataset.h"
#include "core/training/model/predictor.h"
#include "server/prediction/row_blocks.h"

namespace mercer::server {

struct Evaluation {
  std::vector<Metric> metrics;     // not empty
  int64_t rows = 0;                // that count: with a target and a weight > 0
  int64_t unknown_label_rows = 0;  // of these, with a label that the model does not know
  int64_t rows_by_mean = 0;        // of all rows, that the mean over all tasks has predicted
  std::string weight_column;       // empty: none
};

// What is computed of the rows before there are metrics of them.
struct RowsToEvaluate {
  Index done = 0;     // the first ones
  Prediction values;  // of these, but that the first decision value has room for all
};

// Refuses what EvaluateDataset would fail on, as far as the columns and the first row show it. Errors: those of EvaluateDataset.
absl::Status CheckEvaluation(const Predictor& predictor, const Dataset& dataset,
                             const PredictOptions& options, RunContext& context);

// Upper bound on the memory of EvaluateDataset, the data set and the model not included.
int64_t EvaluationBytes(const Model& model, const Dataset& dataset);

// Goes on behind the rows that are done. Errors: kInvalidArgument naming the column: no target column of the model's name (MISSING_TARGET), one
// that a regression cannot use (BAD_LABEL), a bad weight (BAD_WEIGHT), no row that counts (NO_ROWS), and
// those of Predictor; kCancelled.
absl::StatusOr<Evaluation> EvaluateDataset(const Predictor& predictor, const Dataset& dataset,
                                           const PredictOptions& options, RunContext& context,
                                           const RowsDone& on_block, RowsToEvaluate& rows);

}  // namespace mercer::server
