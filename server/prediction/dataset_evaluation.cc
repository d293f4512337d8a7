#include "server/prediction/dataset_evaluation.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"

#include "core/base/numeric/index_range.h"
#include "core/base/status/errors.h"
#include "core/base/status/status_macros.h"
#include "core/data/table/text_kind.h"
#include "core/data/table/weights.h"
#include "core/training/run/evaluation.h"

namespace mercer::server {
namespace {

constexpr Index kMaxBlockRows = 4096;
constexpr int64_t kBlockBytes = int64_t{16} << 20;  // of a block's features and outputs
// What is kept of every row: decision value, class, label and weight with their copies while the metrics
// are made, and its place in the order by value.
constexpr int64_t kBytesPerRow = 128;

// Numbers that a row of a block is: raw, preprocessed, and predicted.
int64_t NumbersPerRow(const Model& model, const Dataset& dataset) {
  int64_t numbers = 1 + model.preprocessing.num_outputs() + model.function.num_outputs();
  for (const FeatureBlock& block : dataset.blocks) {
    numbers += block.num_columns();
  }
  for (const SquareBlock& square : dataset.squares) {
    numbers += 2 * square.values.cols();
  }
  return numbers;
}

Index BlockRows(const Model& model, const Dataset& dataset) {
  const int64_t bytes = NumbersPerRow(model, dataset) * static_cast<int64_t>(sizeof(double));
  return std::clamp<Index>(static_cast<Index>(kBlockBytes / bytes), 1, kMaxBlockRows);
}

absl::StatusOr<const RoleColumn*> FindTarget(const Model& model, const Dataset& dataset) {
  const RoleColumn* const target = dataset.FindColumn(ColumnRole::kTarget, model.target);
  if (target == nullptr) {
    return WithReason(
        absl::InvalidArgumentError(absl::StrCat("the data set has no target column '", model.target,
                                                "', which the model predicts")),
        "MISSING_TARGET", {{"column", model.target}});
  }
  if (model.coding.kind() == CodingKind::kRegression && target->schema.categorical) {
    return WithReason(absl::InvalidArgumentError(absl::StrCat(
                          "column '", model.target, "' is categorical; the model predicts numbers",
                          WhyTexts(target->schema))),
                      "BAD_LABEL", {{"column", model.target}});
  }
  return target;
}

// Rows are named as those of the data set, not of the block that begins at `begin`.
absl::Status CountFrom(Index begin, const absl::Status& status) {
  ErrorMetadata metadata = GetErrorMetadata(status);
  std::string message(status.message());
  bool has_row = false;
  for (auto& [name, value] : metadata) {
    int64_t row = 0;
    if (name == "row" && absl::SimpleAtoi(value, &row)) {
      const std::string shifted = absl::StrCat(row + begin);
      message = absl::StrReplaceAll(message,
                                    {{absl::StrCat("row ", value), absl::StrCat("row ", shifted)}});
      value = shifted;
      has_row = true;
    }
  }
  if (!has_row) {
    return status;
  }
  return WithReason(absl::Status(status.code(), message), GetReason(status), metadata);
}

// Of all rows: the classes and the first decision value.
absl::StatusOr<Prediction> PredictAll(const Predictor& predictor, const Dataset& dataset,
                                      const PredictOptions& options,
                                      const CancellationToken& cancellation) {
  RunContext context(cancellation, 1, nullptr);
  Prediction all;
  all.decision_values.resize(dataset.rows, 1);
  all.classes.reserve(static_cast<size_t>(dataset.rows));
  const Index block_rows = BlockRows(predictor.model(), dataset);
  for (Index begin = 0; begin < dataset.rows; begin += block_rows) {
    MERCER_RETURN_IF_ERROR(context.CheckCancelled());
    const std::vector<Index> rows =
        IndexRange(begin, begin + std::min(block_rows, dataset.rows - begin));
    const absl::StatusOr<Prediction> block =
        predictor.Predict(SelectRows(dataset, rows), options, context);
    if (!block.ok()) {
      return begin > 0 && absl::IsInvalidArgument(block.status()) ? CountFrom(begin, block.status())
                                                                  : block.status();
    }
    all.decision_values.middleRows(begin, static_cast<Index>(rows.size())) =
        block->decision_values.leftCols(1);
    all.classes.insert(all.classes.end(), block->classes.begin(), block->classes.end());
    all.tasks.insert(all.tasks.end(), block->tasks.begin(), block->tasks.end());
  }
  return all;
}

absl::Status CountRows(const Model& model, const RoleColumn& target, const Vector* weights,
                       const RunContext& context, Evaluation& evaluation) {
  std::vector<int> classes;
  if (model.coding.kind() != CodingKind::kRegression) {
    MERCER_ASSIGN_OR_RETURN(classes, model.coding.Classes(target, context));
  }
  for (Index row = 0; row < target.values.size(); ++row) {
    if (!std::isnan(target.values(row)) && (weights == nullptr || (*weights)(row) > 0)) {
      ++evaluation.rows;
      evaluation.unknown_label_rows +=
          !classes.empty() && classes[static_cast<size_t>(row)] < 0 ? 1 : 0;
    }
  }
  return absl::OkStatus();
}

}  // namespace

int64_t EvaluationBytes(const Model& model, const Dataset& dataset) {
  const int64_t block = BlockRows(model, dataset) * NumbersPerRow(model, dataset) *
                        static_cast<int64_t>(sizeof(double));
  // The predictor evaluates the kernels of some rows at a time, within as much.
  return dataset.rows * kBytesPerRow + 2 * block + 2 * kBlockBytes;
}

absl::StatusOr<Evaluation> EvaluateDataset(const Predictor& predictor, const Dataset& dataset,
                                           const PredictOptions& options,
                                           const CancellationToken& cancellation) {
  const Model& model = predictor.model();
  MERCER_ASSIGN_OR_RETURN(const RoleColumn* target, FindTarget(model, dataset));
  Evaluation evaluation;
  Vector weights;
  if (const RoleColumn* column = dataset.FindColumn(ColumnRole::kWeight); column != nullptr) {
    const std::vector<Index> rows = IndexRange(0, dataset.rows);
    MERCER_ASSIGN_OR_RETURN(weights, ReadWeights(*column, rows));
    evaluation.weight_column = column->schema.name;
  }
  const Vector* const counts = evaluation.weight_column.empty() ? nullptr : &weights;
  const RunContext context(cancellation, 1, nullptr);
  MERCER_RETURN_IF_ERROR(CountRows(model, *target, counts, context, evaluation));
  if (evaluation.rows == 0) {
    return WithReason(
        absl::InvalidArgumentError(absl::StrCat("no row has a target in column '", model.target,
                                                "' and a weight above 0")),
        "NO_ROWS", {{"column", model.target}});
  }
  MERCER_ASSIGN_OR_RETURN(const Prediction prediction,
                          PredictAll(predictor, dataset, options, cancellation));
  MERCER_ASSIGN_OR_RETURN(evaluation.metrics,
                          EvaluateWeighted(model.coding, prediction, *target, counts, context));
  evaluation.rows_by_mean = prediction.CountByMean();
  return evaluation;
}

}  // namespace mercer::server
