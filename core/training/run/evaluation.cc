#include "core/training/run/evaluation.h"

#include <algorithm>
#include <cmath>

#include "core/base/process/row_vectors.h"
#include "core/base/status/status_macros.h"
#include "core/data/metrics/weighted_metrics.h"

namespace mercer {
namespace {

// How many rows of such data take about 16 MiB.
Index RowsOfEvaluation(const PreparedData& data, Index outputs) {
  constexpr Index kNumbers = Index{2} << 20;
  Index width = outputs;
  for (const PreparedBlock& block : data.blocks) {
    width += block.values.cols();
  }
  for (const SquareBlock& square : data.squares) {
    width += square.values.cols();
  }
  return std::max<Index>(64, kNumbers / width);
}

}  // namespace

absl::StatusOr<Prediction> PredictRows(const Predictor& predictor, const PreparedData& inputs,
                                       const std::vector<Index>& rows, RunContext& context) {
  const auto count = static_cast<Index>(rows.size());
  const Index most = RowsOfEvaluation(inputs, predictor.model().function.num_outputs());
  Prediction all;
  all.decision_values.resize(count, predictor.model().coding.num_outputs());
  for (Index begin = 0; begin < count; begin += most) {
    const Index size = std::min(most, count - begin);
    const std::vector<Index> block(rows.begin() + begin, rows.begin() + begin + size);
    MERCER_ASSIGN_OR_RETURN(
        const Prediction part,
        predictor.PredictPrepared(SelectRows(inputs, block), PredictOptions(), context));
    all.decision_values.middleRows(begin, size) = part.decision_values;
    all.classes.insert(all.classes.end(), part.classes.begin(), part.classes.end());
  }
  return all;
}

// The best constant answer is the weighted mean, or the class of the largest weight. It ranks no
// row above another, so that an area under the curve says nothing of it.
absl::StatusOr<std::vector<Metric>> EvaluateConstant(const OutputCoding& coding,
                                                     const RoleColumn& training,
                                                     const Vector* weights,
                                                     const RoleColumn& labels,
                                                     const RunContext& context) {
  const Vector counts =
      weights == nullptr ? Vector(Vector::Ones(training.values.size())) : *weights;
  const Index rows = labels.values.size();
  Prediction constant;
  if (coding.kind() == CodingKind::kRegression) {
    constant.decision_values =
        Matrix::Constant(rows, 1, DotOfRows(counts, training.values) / SumOfRows(counts));
  } else {
    Vector weight_of_class = Vector::Zero(static_cast<Index>(coding.classes().size()));
    MERCER_ASSIGN_OR_RETURN(const std::vector<int> classes, coding.Classes(training, context));
    for (size_t i = 0; i < classes.size(); ++i) {
      if (classes[i] >= 0) {
        weight_of_class(classes[i]) += counts(static_cast<Index>(i));
      }
    }
    Index most_frequent = 0;
    weight_of_class.maxCoeff(&most_frequent);  // of equal ones the first
    constant.decision_values = Matrix::Zero(rows, coding.num_outputs());
    constant.classes.assign(static_cast<size_t>(rows), static_cast<int>(most_frequent));
  }
  MERCER_ASSIGN_OR_RETURN(std::vector<Metric> metrics,
                          EvaluatePrediction(coding, constant, labels, context));
  const auto is_auc = [](const Metric& metric) { return metric.name == "auc"; };
  metrics.erase(std::remove_if(metrics.begin(), metrics.end(), is_auc), metrics.end());
  return metrics;
}

absl::StatusOr<std::vector<Metric>> EvaluatePrediction(const OutputCoding& coding,
                                                       const Prediction& prediction,
                                                       const RoleColumn& labels,
                                                       const RunContext& context) {
  return EvaluateWeighted(coding, prediction, labels, nullptr, context);
}

absl::StatusOr<std::vector<Metric>> EvaluateWeighted(const OutputCoding& coding,
                                                     const Prediction& prediction,
                                                     const RoleColumn& labels,
                                                     const Vector* weights,
                                                     const RunContext& context) {
  std::vector<Index> known;  // rows that count
  for (Index row = 0; row < labels.values.size(); ++row) {
    if (!std::isnan(labels.values(row)) && (weights == nullptr || (*weights)(row) > 0)) {
      known.push_back(row);
    }
  }
  if (known.empty()) {
    return std::vector<Metric>();
  }
  const Vector known_weights = weights == nullptr ? Vector() : Vector((*weights)(known));
  const Vector* const counts = weights == nullptr ? nullptr : &known_weights;
  if (coding.kind() == CodingKind::kRegression) {
    const Vector predicted = prediction.decision_values.col(0)(known);
    const Vector actual = labels.values(known);
    return std::vector<Metric>{{"rmse", WeightedRootMeanSquaredError(predicted, actual, counts)},
                               {"r2", WeightedRSquared(predicted, actual, counts)}};
  }
  MERCER_ASSIGN_OR_RETURN(const std::vector<int> classes, coding.Classes(labels, context));
  std::vector<int> predicted;
  std::vector<int> actual;
  std::vector<bool> positive;  // of the rows whose label the coding knows
  std::vector<Index> labelled;
  for (const Index row : known) {
    predicted.push_back(prediction.classes[static_cast<size_t>(row)]);
    actual.push_back(classes[static_cast<size_t>(row)]);
    if (actual.back() >= 0) {
      positive.push_back(actual.back() == 1);
      labelled.push_back(row);
    }
  }
  MERCER_RETURN_IF_ERROR(context.CheckCancelled());
  std::vector<Metric> metrics = {
      {"accuracy", WeightedAccuracy(predicted, actual, counts)},
      {"balanced_accuracy", WeightedBalancedAccuracy(predicted, actual, counts)}};
  if (coding.kind() == CodingKind::kBinary && !labelled.empty()) {
    const Vector values = prediction.decision_values.col(0)(labelled);
    const Vector labelled_weights = weights == nullptr ? Vector() : Vector((*weights)(labelled));
    MERCER_ASSIGN_OR_RETURN(
        const double auc,
        WeightedAreaUnderRoc(values, positive, weights == nullptr ? nullptr : &labelled_weights,
                             context));
    if (!std::isnan(auc)) {
      metrics.push_back({"auc", auc});
    }
  }
  return metrics;
}

}  // namespace mercer
