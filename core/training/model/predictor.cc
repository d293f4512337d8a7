#include "core/training/model/predictor.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"

#include "core/base/status/errors.h"
#include "core/base/status/status_macros.h"
#include "core/kernels/spec/kernel_labels.h"
#include "core/training/terms/learned_gradient.h"

namespace mercer {
namespace {

// The terms of a function, which must be consistent (CheckModel) and outlive them. Errors:
// kDataLoss.
absl::StatusOr<std::vector<std::unique_ptr<const TermValues>>> MakeTermValues(
    const ModelFunction& function) {
  std::vector<std::unique_ptr<const TermValues>> values;
  for (const std::shared_ptr<const Term>& term : function.terms) {
    MERCER_ASSIGN_OR_RETURN(values.emplace_back(),
                            term->MakeValues(function.place(), RunContext()));
  }
  return values;
}

// Whether an output has several terms on one basis, as with kernels of low rank, which all read the
// same landmarks. The values of a term are then no share of the kernel that it evaluates.
bool HasTermsOnOneBasis(const ModelFunction& function) {
  std::set<std::pair<int, int>> seen;
  for (const std::shared_ptr<const Term>& term : function.terms) {
    const std::optional<int> basis = term->BasisOfShares();
    for (const int output : term->outputs) {
      if (basis.has_value() && !seen.insert({*basis, output}).second) {
        return true;
      }
    }
  }
  return false;
}

absl::Status CheckOptions(const ModelFunction& function, const PredictOptions& options) {
  FieldViolations violations;
  violations.Check(
      !options.contributions || !HasTermsOnOneBasis(function), "contributions",
      "must be false for a model of kernels of low rank: they share one basis, and its "
      "values are no shares of single kernels");
  const std::vector<const Term*> gradients = WithGradients(function.terms);
  const bool has_directions = std::any_of(gradients.begin(), gradients.end(), [](const Term* term) {
    return term->gradient()->directions.cols() > 0;
  });
  violations.Check(!options.gradients || !gradients.empty(), "gradients",
                   "must be false for a model that has learned no gradient");
  violations.Check(!options.projections || has_directions, "projections",
                   "must be false for a model without directions of a gradient");
  return violations.ToStatus();
}

// Keeps of the outputs of all tasks, so many for each, those of the row's task, or takes their means
// over all tasks, added up one after the other so that they are the same whatever other rows.
Matrix OfOwnTasks(const Matrix& values, const std::vector<int>& tasks, Index outputs) {
  Matrix own(values.rows(), outputs);
  const Index num_tasks = values.cols() / outputs;
  for (Index row = 0; row < values.rows(); ++row) {
    const int task = tasks[static_cast<size_t>(row)];
    if (task != TaskCoding::kMeanOfAll) {
      own.row(row) = values.row(row).segment(task * outputs, outputs);
      continue;
    }
    for (Index output = 0; output < outputs; ++output) {
      double total = 0;
      for (Index t = 0; t < num_tasks; ++t) {
        total += values(row, t * outputs + output);
      }
      own(row, output) = total / static_cast<double>(num_tasks);
    }
  }
  return own;
}

void KeepOwnTasks(const std::vector<int>& tasks, Index outputs, Prediction& prediction) {
  prediction.tasks = tasks;
  prediction.decision_values = OfOwnTasks(prediction.decision_values, tasks, outputs);
  for (Matrix& contribution : prediction.contributions) {
    contribution = OfOwnTasks(contribution, tasks, outputs);
  }
}

}  // namespace

Index Prediction::CountByMean() const {
  Index count = 0;
  for (size_t row = 0; row < tasks.size(); ++row) {
    const bool taken_back = std::isnan(decision_values(static_cast<Index>(row), 0));
    count += tasks[row] == TaskCoding::kMeanOfAll && !taken_back ? 1 : 0;
  }
  return count;
}

void Prediction::TakeBack(Index row) {
  decision_values.row(row).setConstant(std::nan(""));
  for (Matrix& contribution : contributions) {
    contribution.row(row).setConstant(std::nan(""));
  }
  for (LearnedGradient& gradient : gradients) {
    for (Matrix* numbers : {&gradient.values, &gradient.projections}) {
      if (numbers->size() > 0) {
        numbers->row(row).setConstant(std::nan(""));
      }
    }
  }
}

absl::StatusOr<std::unique_ptr<Predictor>> Predictor::Make(std::shared_ptr<const Model> model) {
  MERCER_RETURN_IF_ERROR(CheckModel(*model));
  std::unique_ptr<Predictor> predictor(new Predictor(model));
  MERCER_ASSIGN_OR_RETURN(predictor->terms_, MakeTermValues(model->function));
  predictor->squares_ = SquaresInUse(*model);
  predictor->reads_unnamed_ = ReadsUnnamedSquare(*model);
  std::vector<std::string> names;
  for (const SquareUse& use : predictor->squares_) {
    names.push_back(use.name);
  }
  predictor->preprocessing_ =
      predictor->reads_unnamed_ ? model->preprocessing : model->preprocessing.WithSquares(names);
  return predictor;
}

// The square blocks that kernels read must be there, with one column for each row of the training
// data set; where the model does not say which they are, all that are there must.
absl::Status Predictor::CheckSquares(const PreparedData& rows) const {
  for (const SquareUse& use : squares_) {
    if (rows.FindSquare(use.name) == nullptr) {
      return WithReason(
          absl::InvalidArgumentError(absl::StrCat("the rows have no square block '", use.name,
                                                  "', which the model reads")),
          "BAD_HEADER", {{"block", use.name}});
    }
  }
  for (const SquareBlock& square : rows.squares) {
    const bool is_read = reads_unnamed_ ||
                         std::any_of(squares_.begin(), squares_.end(),
                                     [&](const SquareUse& use) { return use.name == square.name; });
    if (is_read && square.values.cols() != model_->num_square_columns) {
      return WithReason(absl::InvalidArgumentError(absl::StrCat(
                            "square block '", square.name, "': has ", square.values.cols(),
                            " columns, must have ", model_->num_square_columns,
                            ", one for each row of the training data set")),
                        "COLUMN_MISMATCH", {{"block", square.name}});
    }
  }
  return absl::OkStatus();
}

size_t Predictor::MemoryBytes() const {
  size_t values =
      static_cast<size_t>(model_->function.bias.size() + model_->summary.kernel_weights.size());
  size_t bytes = sizeof(Model);
  for (const Basis& basis : model_->function.bases) {
    values += basis.training_rows.size();
    for (const PreparedBlock& block : basis.data->blocks) {
      values += static_cast<size_t>(block.values.rows() * block.values.cols());
    }
  }
  for (const auto& term : terms_) {
    bytes += term->MemoryBytes();
  }
  for (const SquareUse& use : squares_) {
    values += use.columns.size();
  }
  for (const SquareRepair& repair : model_->preprocessing.repairs()) {
    values += static_cast<size_t>(repair.vectors.size()) + repair.rows.size();
  }
  for (const auto* names : {&model_->summary.kernel_names, &model_->summary.kernel_groups}) {
    for (const std::string& name : *names) {
      bytes += name.size() + sizeof(std::string);
    }
  }
  for (const ModelTable& table : model_->summary.tables) {
    values += static_cast<size_t>(table.values.size());
    bytes += (table.rows.size() + table.columns.size()) * 2 * sizeof(std::string);
  }
  return bytes + values * sizeof(double);
}

absl::StatusOr<Prediction> Predictor::Predict(const Dataset& rows, const PredictOptions& options,
                                              RunContext& context) const {
  MERCER_ASSIGN_OR_RETURN(const PreparedData prepared, Prepare(rows, options, context));
  return PredictPrepared(prepared, options, context);
}

absl::StatusOr<PreparedData> Predictor::Prepare(const Dataset& rows, const PredictOptions& options,
                                                RunContext& context) const {
  const Preprocessing& own = preprocessing_;
  const UnseenCategory rule = options.unseen_category.value_or(own.options().unseen_category);
  MERCER_ASSIGN_OR_RETURN(PreparedData prepared,
                          rule == own.options().unseen_category
                              ? own.Apply(rows, context)
                              : own.WithUnseenCategory(rule).Apply(rows, context));
  MERCER_RETURN_IF_ERROR(CheckSquares(prepared));
  MERCER_ASSIGN_OR_RETURN(prepared.tasks,
                          model_->tasks.ReadTasks(rows, options.task, options.task_rule, context));
  return prepared;
}

absl::StatusOr<Prediction> Predictor::PredictPrepared(const PreparedData& rows,
                                                      const PredictOptions& options,
                                                      RunContext& context) const {
  MERCER_RETURN_IF_ERROR(CheckSquares(rows));
  MERCER_RETURN_IF_ERROR(CheckOptions(model_->function, options));
  if (model_->tasks.has_column() && static_cast<Index>(rows.tasks.size()) != rows.rows) {
    return absl::InternalError("rows without their tasks");
  }
  Prediction prediction;
  prediction.decision_values = model_->function.bias.transpose().replicate(rows.rows, 1);
  for (const auto& term : terms_) {
    MERCER_RETURN_IF_ERROR(term->Add(rows, prediction.decision_values, context));
  }
  if (options.contributions) {
    MERCER_RETURN_IF_ERROR(Contribute(rows, prediction, context));
  }
  if (options.gradients || options.projections) {
    MERCER_RETURN_IF_ERROR(AddGradients(rows, options, prediction, context));
  }
  if (model_->tasks.has_column()) {
    KeepOwnTasks(rows.tasks, model_->coding.num_outputs(), prediction);
  }
  prediction.classes = model_->coding.Decide(prediction.decision_values);
  return prediction;
}

absl::Status Predictor::Contribute(const PreparedData& rows, Prediction& prediction,
                                   RunContext& context) const {
  std::vector<std::string>& names = prediction.contribution_names;
  // Where the shares of each term are among the names.
  std::vector<std::vector<size_t>> positions;
  for (const std::shared_ptr<const Term>& term : model_->function.terms) {
    std::vector<size_t>& of_term = positions.emplace_back();
    for (const TermShare& share : term->Shares(rows)) {
      const auto known =
          share.joins_its_name ? std::find(names.begin(), names.end(), share.name) : names.end();
      of_term.push_back(static_cast<size_t>(known - names.begin()));
      if (known == names.end()) {
        names.push_back(share.name);
      }
    }
  }
  prediction.contributions.assign(names.size(),
                                  Matrix::Zero(rows.rows, model_->function.num_outputs()));
  for (size_t t = 0; t < terms_.size(); ++t) {
    std::vector<Matrix*> shares;
    for (const size_t position : positions[t]) {
      shares.push_back(&prediction.contributions[position]);
    }
    MERCER_RETURN_IF_ERROR(terms_[t]->AddByShare(rows, shares, context));
  }
  names.emplace_back(kNameOfBias);
  prediction.contributions.push_back(model_->function.bias.transpose().replicate(rows.rows, 1));
  return absl::OkStatus();
}

absl::Status Predictor::AddGradients(const PreparedData& rows, const PredictOptions& options,
                                     Prediction& prediction, RunContext& context) const {
  const Terms& terms = model_->function.terms;
  const std::vector<std::string> input_names = model_->preprocessing.OutputNames();
  for (size_t t = 0; t < terms.size(); ++t) {
    const GradientShape* const shape = terms[t]->gradient();
    if (shape == nullptr) {
      continue;
    }
    LearnedGradient& gradient = prediction.gradients.emplace_back();
    gradient.output = terms[t]->outputs.front();
    gradient.columns = shape->names;
    for (size_t c = 0; c < gradient.columns.size() && !input_names.empty(); ++c) {
      gradient.columns[c] = input_names[static_cast<size_t>(shape->columns[c])];
    }
    if (options.gradients) {
      const auto& values = static_cast<const GradientTermValues&>(*terms_[t]);
      MERCER_ASSIGN_OR_RETURN(gradient.values, values.Gradients(rows, context));
    }
    if (options.projections) {
      MERCER_ASSIGN_OR_RETURN(gradient.projections, shape->Project(rows, context));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<Matrix> EvaluateFunction(const ModelFunction& function, const PreparedData& rows,
                                        RunContext& context) {
  // One term at a time: kernels of low rank have a term each, which gathers its columns of the
  // landmarks.
  Matrix values = function.bias.transpose().replicate(rows.rows, 1);
  for (const std::shared_ptr<const Term>& term : function.terms) {
    MERCER_ASSIGN_OR_RETURN(const std::unique_ptr<const TermValues> of_term,
                            term->MakeValues(function.place(), context));
    MERCER_RETURN_IF_ERROR(of_term->Add(rows, values, context));
  }
  return values;
}

absl::StatusOr<Matrix> EvaluateGradients(const ModelFunction& function, int output,
                                         const PreparedData& rows, RunContext& context) {
  Index columns = 0;
  for (const PreparedBlock& block : rows.blocks) {
    columns += block.values.cols();
  }
  Matrix gradients = Matrix::Zero(rows.rows, columns);
  for (const std::shared_ptr<const Term>& term : function.terms) {
    MERCER_ASSIGN_OR_RETURN(const std::unique_ptr<const TermValues> of_term,
                            term->MakeValues(function.place(), context));
    MERCER_RETURN_IF_ERROR(of_term->AddGradients(rows, output, gradients, context));
  }
  return gradients;
}

}  // namespace mercer
