// Evaluates a model on new rows.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

#include "core/base/process/run_context.h"
#include "core/data/table/dataset.h"
#include "core/training/model/model.h"
#include "core/training/model/square_use.h"
#include "core/training/terms/term_values.h"

namespace mercer {

struct PredictOptions {
  // True: each kernel's share of each decision value is wanted too, which costs one kernel
  // evaluation per kernel instead of one per term. Not for kernels of low rank, which share one
  // basis.
  bool contributions = false;
  // For models of several tasks, the task of all rows. Empty: the column of the tasks says it.
  // PredictPrepared takes no notice.
  std::string task = {};
  // For the same: by which of their outputs rows are predicted. PredictPrepared takes no notice.
  TaskRule task_rule = TaskRule::kOwn;
  // What holds in place of the model's own rule for categories that training did not know.
  // PredictPrepared takes no notice.
  std::optional<UnseenCategory> unseen_category = {};
  // True: the gradients that were learned beside the values are wanted too; or the rows in the
  // coordinates of their leading directions.
  bool gradients = false;
  bool projections = false;
};

// What was learned of the gradient of one output (Term::gradient).
struct LearnedGradient {
  int output = 0;
  std::vector<std::string> columns;
  Matrix values;       // rows x columns, when gradients were asked for
  Matrix projections;  // rows x directions, when these were
};

struct Prediction {
  Matrix decision_values;    // rows x outputs of the coding: of several tasks by the TaskRule
  std::vector<int> classes;  // classification: index into coding.classes(), one per row
  std::vector<int> tasks;    // of several: each row's, or TaskCoding::kMeanOfAll
  std::vector<std::string> contribution_names;  // kernels, groups of features, then "bias"
  // The contributions, when they were asked for: for each name a matrix of rows x outputs, which
  // add up to the decision values.
  std::vector<Matrix> contributions;
  std::vector<LearnedGradient> gradients;  // by output, when they or projections were asked for

  // How many rows the mean over all tasks has predicted; those that are taken back are not.
  Index CountByMean() const;
  // Makes all numbers of that row NaN.
  void TakeBack(Index row);
};

// Immutable and safe for concurrent use.
class Predictor {
 public:
  // Makes a predictor. Errors: kDataLoss when the model is inconsistent.
  static absl::StatusOr<std::unique_ptr<Predictor>> Make(std::shared_ptr<const Model> model);

  const Model& model() const { return *model_; }
  // What rows to predict need of square blocks (square_use.h).
  const std::vector<SquareUse>& squares() const { return squares_; }
  // Bytes that the model occupies in memory.
  size_t MemoryBytes() const;

  // Errors: kInvalidArgument naming block, column or row (column mismatch, unseen category, missing
  // value, unknown task), "contributions", "gradients", "projections", "task" or "task_rule"; kCancelled.
  absl::StatusOr<Prediction> Predict(const Dataset& rows, const PredictOptions& options,
                                     RunContext& context) const;
  // The preprocessed rows, which fit the model: what PredictPrepared takes. Errors: those of
  // Predict.
  absl::StatusOr<PreparedData> Prepare(const Dataset& rows, const PredictOptions& options,
                                       RunContext& context) const;
  // The same for rows that are already preprocessed. What it says of a row depends on that row
  // alone, bit for bit.
  absl::StatusOr<Prediction> PredictPrepared(const PreparedData& rows,
                                             const PredictOptions& options,
                                             RunContext& context) const;

 private:
  explicit Predictor(std::shared_ptr<const Model> model) : model_(std::move(model)) {}

  absl::Status CheckSquares(const PreparedData& rows) const;
  absl::Status Contribute(const PreparedData& rows, Prediction& prediction,
                          RunContext& context) const;
  absl::Status AddGradients(const PreparedData& rows, const PredictOptions& options,
                            Prediction& prediction, RunContext& context) const;

  std::shared_ptr<const Model> model_;
  std::vector<std::unique_ptr<const TermValues>> terms_;
  Preprocessing preprocessing_;  // the model's, of the square blocks that are read
  std::vector<SquareUse> squares_;
  bool reads_unnamed_ = false;  // some square block, of which the model does not say the name
};

// Values of `function`, which must be consistent (CheckModel), at rows that are already
// preprocessed: rows x outputs. Errors: those of Predictor.
absl::StatusOr<Matrix> EvaluateFunction(const ModelFunction& function, const PreparedData& rows,
                                        RunContext& context);

// The gradients of an output of `function` at these rows, by the columns of all feature blocks side
// by side: rows x columns. Errors: those of Predictor; kUnimplemented when a term has no gradients.
absl::StatusOr<Matrix> EvaluateGradients(const ModelFunction& function, int output,
                                         const PreparedData& rows, RunContext& context);

// Metrics of predictions against the known targets `labels` (a column of the same rows): accuracy,
// balanced_accuracy, auc (binary, when both classes occur) or rmse, r2. Rows with labels that the
// coding does not know count as wrong (auc leaves them out); rows whose target is missing are left
// out; without any other row there is no metric. Errors: kCancelled.
absl::StatusOr<std::vector<Metric>> EvaluatePrediction(const OutputCoding& coding,
                                                       const Prediction& prediction,
                                                       const RoleColumn& labels,
                                                       const RunContext& context);

}  // namespace mercer
