// Metrics of a model on a data set of any size, block of rows by block.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

#include "core/base/process/cancellation.h"
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

// Refuses what EvaluateDataset would fail on, as far as the columns and the first row show it. Errors: those of EvaluateDataset.
absl::Status CheckEvaluation(const Predictor& predictor, const Dataset& dataset,
                             const PredictOptions& options, RunContext& context);

// Upper bound on the memory of EvaluateDataset, the data set and the model not included.
int64_t EvaluationBytes(const Model& model, const Dataset& dataset);

// Errors: kInvalidArgument naming the column: no target column of the model's name (MISSING_TARGET), one
// that a regression cannot use (BAD_LABEL), a bad weight (BAD_WEIGHT), no row that counts (NO_ROWS), and
// those of Predictor; kCancelled.
absl::StatusOr<Evaluation> EvaluateDataset(const Predictor& predictor, const Dataset& dataset,
                                           const PredictOptions& options,
                                           const CancellationToken& cancellation, int threads = 1,
                                           const RowsDone& on_block = nullptr);

}  // namespace mercer::server
