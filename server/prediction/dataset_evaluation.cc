#include "server/prediction/dataset_evaluation.h"

#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"

#include "core/base/numeric/index_range.h"
#include "core/base/status/errors.h"
#include "core/base/status/status_macros.h"
#include "core/data/table/text_kind.h"
#include "core/data/table/weights.h"
#include "core/training/run/evaluation.h"

namespace mercer::server {
namespace {

// What is kept of every row: decision value, class, label and weight with their copies while the metrics
// are made, and its place in the order by value.
constexpr int64_t kBytesPerRow = 128;

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

// Of all rows: the classes and the first decision value.
absl::Status PredictAll(const Predictor& predictor, const Dataset& dataset,
                        const PredictOptions& options, RunContext& context,
                        const RowsDone& on_block, RowsToEvaluate& all) {
  Prediction& values = all.values;
  values.decision_values.conservativeResize(dataset.rows, 1);
  values.classes.reserve(static_cast<size_t>(dataset.rows));
  const auto predict = [&](Index begin, const Dataset& rows) -> absl::Status {
    MERCER_ASSIGN_OR_RETURN(const Prediction block, predictor.Predict(rows, options, context));
    values.decision_values.middleRows(begin, rows.rows) = block.decision_values.leftCols(1);
    values.classes.insert(values.classes.end(), block.classes.begin(), block.classes.end());
    values.tasks.insert(values.tasks.end(), block.tasks.begin(), block.tasks.end());
    all.done = begin + rows.rows;
    return absl::OkStatus();
  };
  return ForEachRowBlock(predictor.model(), dataset, all.done, context, on_block, predict);
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
  return dataset.rows * kBytesPerRow + BytesOfBlock(model, dataset);
}

absl::Status CheckEvaluation(const Predictor& predictor, const Dataset& dataset,
                             const PredictOptions& options, RunContext& context) {
  MERCER_RETURN_IF_ERROR(FindTarget(predictor.model(), dataset).status());
  return predictor.Predict(SelectRows(dataset, {0}), options, context).status();
}

absl::StatusOr<Evaluation> EvaluateDataset(const Predictor& predictor, const Dataset& dataset,
                                           const PredictOptions& options, RunContext& context,
                                           const RowsDone& on_block, RowsToEvaluate& rows) {
  const Model& model = predictor.model();
  MERCER_ASSIGN_OR_RETURN(const RoleColumn* target, FindTarget(model, dataset));
  Evaluation evaluation;
  Vector weights;
  if (const RoleColumn* column = dataset.FindColumn(ColumnRole::kWeight); column != nullptr) {
    MERCER_ASSIGN_OR_RETURN(weights, ReadWeights(*column, IndexRange(0, dataset.rows)));
    evaluation.weight_column = column->schema.name;
  }
  const Vector* const counts = evaluation.weight_column.empty() ? nullptr : &weights;
  MERCER_RETURN_IF_ERROR(CountRows(model, *target, counts, context, evaluation));
  if (evaluation.rows == 0) {
    return WithReason(
        absl::InvalidArgumentError(absl::StrCat("no row has a target in column '", model.target,
                                                "' and a weight above 0")),
        "NO_ROWS", {{"column", model.target}});
  }
  MERCER_RETURN_IF_ERROR(PredictAll(predictor, dataset, options, context, on_block, rows));
  MERCER_ASSIGN_OR_RETURN(evaluation.metrics,
                          EvaluateWeighted(model.coding, rows.values, *target, counts, context));
  evaluation.rows_by_mean = rows.values.CountByMean();
  return evaluation;
}

}  // namespace mercer::server
