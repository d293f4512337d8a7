#include "core/training/model/predictor.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"

#include "core/base/status/errors.h"
#include "core/base/status/status_macros.h"
#include "core/training/model/basis.h"

namespace mercer {
namespace {

// How many rows are evaluated at a time: a multiple of 8, so that every chunk begins at a multiple
// of 64 bytes, and few enough that rows x basis stays below 16 MB.
Index ChunkRows(Index num_basis) {
  return std::clamp<Index>((Index{1} << 21) / std::max<Index>(num_basis, 1) / 8 * 8, 8, 1024);
}

SharedMatrix RowRange(const SharedMatrix& matrix, Index begin, Index count) {
  auto owner = std::make_shared<SharedMatrix>(matrix);
  const double* first = owner->view().data() + begin * matrix.cols();
  return {std::move(owner), first, count, matrix.cols()};
}

// The rows begin .. begin + count - 1, sharing memory.
PreparedData RowRange(const PreparedData& data, Index begin, Index count) {
  PreparedData range;
  range.rows = count;
  range.row_numbers.reserve(static_cast<size_t>(count));
  for (Index row = begin; row < begin + count; ++row) {
    range.row_numbers.push_back(data.RowNumber(row));
  }
  if (!data.tasks.empty()) {
    range.tasks.assign(data.tasks.begin() + begin, data.tasks.begin() + begin + count);
  }
  for (const PreparedBlock& block : data.blocks) {
    range.blocks.push_back({block.name, block.sources, RowRange(block.values, begin, count)});
  }
  for (const SquareBlock& square : data.squares) {
    range.squares.push_back({square.name, square.kind, RowRange(square.values, begin, count)});
  }
  return range;
}

// values(:, j) += factor * cross * coefficients(:, j), element by element, so that a row's value
// does not depend on its neighbours.
void AddProduct(const Matrix& cross, const Eigen::SparseMatrix<double>& coefficients, Index j,
                double factor, Eigen::Ref<Vector> values) {
  for (Eigen::SparseMatrix<double>::InnerIterator entry(coefficients, j); entry; ++entry) {
    values += (factor * entry.value()) * cross.col(entry.row());
  }
}

// Outputs of a term that have the same kernel weights share one combination of kernels.
std::vector<std::vector<Index>> EqualWeightGroups(const Matrix& weights) {
  std::vector<std::vector<Index>> groups;
  for (Index j = 0; j < weights.cols(); ++j) {
    const auto same =
        std::find_if(groups.begin(), groups.end(), [&](const std::vector<Index>& group) {
          return weights.col(group.front()) == weights.col(j);
        });
    if (same == groups.end()) {
      groups.push_back({j});
    } else {
      same->push_back(j);
    }
  }
  return groups;
}

// Adds one term at one chunk of rows. Combining all kernels of a group of outputs costs one pass
// over the kernels per group; evaluating kernel by kernel costs as much as one group and the
// products.
absl::Status AddTerm(const KernelTerm& term, const CrossKernels& cross_kernels,
                     const PreparedData& rows, MatrixRef values, RunContext& context) {
  Matrix cross(rows.rows, cross_kernels.num_basis());
  const auto output = [&](Index j) { return term.outputs[static_cast<size_t>(j)]; };
  const std::vector<std::vector<Index>> groups = EqualWeightGroups(term.weights);
  if (groups.size() == 1 || static_cast<Index>(groups.size()) * 4 <= term.weights.rows()) {
    for (const std::vector<Index>& group : groups) {
      MERCER_RETURN_IF_ERROR(
          cross_kernels.Combine(rows, term.weights.col(group.front()), cross, context));
      for (const Index j : group) {
        AddProduct(cross, term.coefficients, j, 1.0, values.col(output(j)));
      }
    }
    return absl::OkStatus();
  }
  for (Index k = 0; k < term.weights.rows(); ++k) {
    MERCER_RETURN_IF_ERROR(
        cross_kernels.Combine(rows, Vector::Unit(term.weights.rows(), k), cross, context));
    for (Index j = 0; j < term.weights.cols(); ++j) {
      if (term.weights(k, j) != 0) {
        AddProduct(cross, term.coefficients, j, term.weights(k, j), values.col(output(j)));
      }
    }
  }
  return absl::OkStatus();
}

absl::Status AddContributions(const KernelTerm& term, const CrossKernels& cross_kernels,
                              const PreparedData& rows, const std::vector<Matrix*>& contributions,
                              Index begin, RunContext& context) {
  Matrix cross(rows.rows, cross_kernels.num_basis());
  for (Index k = 0; k < term.weights.rows(); ++k) {
    MERCER_RETURN_IF_ERROR(
        cross_kernels.Combine(rows, Vector::Unit(term.weights.rows(), k), cross, context));
    for (Index j = 0; j < term.weights.cols(); ++j) {
      Matrix& contribution = *contributions[static_cast<size_t>(k)];
      AddProduct(cross, term.coefficients, j, term.weights(k, j),
                 contribution.col(term.outputs[static_cast<size_t>(j)]).segment(begin, rows.rows));
    }
  }
  return absl::OkStatus();
}

// Whether an output has several terms on one basis, as with kernels of low rank, which all read the
// same landmarks. The values of a term are then no share of the kernel that it evaluates.
bool HasTermsOnOneBasis(const ModelFunction& function) {
  std::set<std::pair<int, int>> seen;
  for (const KernelTerm& term : function.kernel_terms) {
    for (const int output : term.outputs) {
      if (!seen.insert({term.basis, output}).second) {
        return true;
      }
    }
  }
  return false;
}

absl::Status CheckContributions(const ModelFunction& function, const PredictOptions& options) {
  FieldViolations violations;
  violations.Check(
      !options.contributions || !HasTermsOnOneBasis(function), "contributions",
      "must be false for a model of kernels of low rank: they share one basis, and its "
      "values are no shares of single kernels");
  return violations.ToStatus();
}

// Square blocks must have one column for each row of the training data set.
absl::Status CheckSquares(const Model& model, const PreparedData& rows) {
  if (model.num_square_columns == 0) {
    return absl::OkStatus();
  }
  for (const SquareBlock& square : rows.squares) {
    if (square.values.cols() != model.num_square_columns) {
      return WithReason(absl::InvalidArgumentError(absl::StrCat(
                            "square block '", square.name, "': has ", square.values.cols(),
                            " columns, must have ", model.num_square_columns,
                            ", one for each row of the training data set")),
                        "COLUMN_MISMATCH", {{"block", square.name}});
    }
  }
  return absl::OkStatus();
}

// Makes one column of one for each task: what is said of a row is said by the output of its task.
Matrix OfOwnTasks(const Matrix& values, const std::vector<int>& tasks) {
  Matrix own(values.rows(), 1);
  for (Index row = 0; row < values.rows(); ++row) {
    own(row, 0) = values(row, tasks[static_cast<size_t>(row)]);
  }
  return own;
}

void KeepOwnTasks(const std::vector<int>& tasks, Prediction& prediction) {
  prediction.decision_values = OfOwnTasks(prediction.decision_values, tasks);
  for (Matrix& contribution : prediction.contributions) {
    contribution = OfOwnTasks(contribution, tasks);
  }
}

}  // namespace

void Prediction::TakeBack(Index row) {
  decision_values.row(row).setConstant(std::nan(""));
  for (Matrix& contribution : contributions) {
    contribution.row(row).setConstant(std::nan(""));
  }
}

absl::StatusOr<std::unique_ptr<Predictor>> Predictor::Make(std::shared_ptr<const Model> model) {
  MERCER_RETURN_IF_ERROR(CheckModel(*model));
  std::unique_ptr<Predictor> predictor(new Predictor(model));
  for (const KernelTerm& term : model->function.kernel_terms) {
    const Basis& basis = model->function.bases[static_cast<size_t>(term.basis)];
    absl::StatusOr<CrossKernels> cross =
        CrossKernels::Make(basis.data, term.kernels, basis.training_rows);
    if (!cross.ok()) {
      return absl::DataLossError(absl::StrCat("not a readable model: ", cross.status().message()));
    }
    predictor->cross_kernels_.push_back(*std::move(cross));
    predictor->chunk_rows_ = std::min(predictor->chunk_rows_, ChunkRows(basis.data->rows));
  }
  for (const FeatureTerm& term : model->function.feature_terms) {
    MERCER_ASSIGN_OR_RETURN(FeatureTermValues values,
                            FeatureTermValues::Make(term, model->function.num_outputs()));
    predictor->feature_values_.push_back(std::move(values));
  }
  return predictor;
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
  for (const KernelTerm& term : model_->function.kernel_terms) {
    values += static_cast<size_t>(term.weights.size());
    bytes += term.kernels.size() * 2 * sizeof(KernelSpec);
    bytes += static_cast<size_t>(term.coefficients.nonZeros()) * (sizeof(double) + sizeof(int));
  }
  for (const CrossKernels& cross_kernels : cross_kernels_) {
    bytes += cross_kernels.MemoryBytes();
  }
  for (const FeatureTermValues& features : feature_values_) {
    bytes += 2 * features.MemoryBytes();  // the term itself, and what it is evaluated by
  }
  for (const std::string& name : model_->summary.kernel_names) {
    bytes += name.size() + sizeof(std::string);
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
  const Preprocessing& own = model_->preprocessing;
  const UnseenCategory rule = options.unseen_category.value_or(own.options().unseen_category);
  MERCER_ASSIGN_OR_RETURN(PreparedData prepared,
                          rule == own.options().unseen_category
                              ? own.Apply(rows, context)
                              : own.WithUnseenCategory(rule).Apply(rows, context));
  MERCER_RETURN_IF_ERROR(CheckSquares(*model_, prepared));
  MERCER_ASSIGN_OR_RETURN(prepared.tasks, model_->tasks.ReadTasks(rows, options.task, context));
  return prepared;
}

absl::StatusOr<Prediction> Predictor::PredictPrepared(const PreparedData& rows,
                                                      const PredictOptions& options,
                                                      RunContext& context) const {
  MERCER_RETURN_IF_ERROR(CheckSquares(*model_, rows));
  MERCER_RETURN_IF_ERROR(CheckContributions(model_->function, options));
  if (model_->tasks.has_column() && static_cast<Index>(rows.tasks.size()) != rows.rows) {
    return absl::InternalError("rows without their tasks");
  }
  Prediction prediction;
  prediction.decision_values = model_->function.bias.transpose().replicate(rows.rows, 1);
  for (Index begin = 0; begin < rows.rows; begin += chunk_rows_) {
    MERCER_RETURN_IF_ERROR(context.CheckCancelled());
    const Index count = std::min(chunk_rows_, rows.rows - begin);
    const bool whole = count == rows.rows;
    const PreparedData range = whole ? PreparedData() : RowRange(rows, begin, count);
    for (size_t t = 0; t < cross_kernels_.size(); ++t) {
      MERCER_RETURN_IF_ERROR(AddTerm(model_->function.kernel_terms[t], cross_kernels_[t],
                                     whole ? rows : range,
                                     prediction.decision_values.middleRows(begin, count), context));
    }
  }
  for (const FeatureTermValues& features : feature_values_) {
    MERCER_RETURN_IF_ERROR(features.Add(rows, prediction.decision_values, context));
  }
  if (options.contributions) {
    MERCER_RETURN_IF_ERROR(ContributeKernels(rows, prediction, context));
    MERCER_RETURN_IF_ERROR(ContributeFeatures(rows, prediction, context));
    prediction.contribution_names.emplace_back("bias");
    prediction.contributions.push_back(model_->function.bias.transpose().replicate(rows.rows, 1));
  }
  if (model_->tasks.has_column()) {
    KeepOwnTasks(rows.tasks, prediction);
  }
  prediction.classes = model_->coding.Decide(prediction.decision_values);
  return prediction;
}

absl::Status Predictor::ContributeKernels(const PreparedData& rows, Prediction& prediction,
                                          RunContext& context) const {
  const Index num_outputs = model_->function.num_outputs();
  // The contribution that each kernel of each term adds to.
  std::vector<std::vector<size_t>> position;
  for (const KernelTerm& term : model_->function.kernel_terms) {
    std::vector<size_t>& of_term = position.emplace_back();
    for (const KernelSpec& kernel : term.kernels) {
      const std::string name = KernelName(kernel);
      auto& names = prediction.contribution_names;
      of_term.push_back(
          static_cast<size_t>(std::find(names.begin(), names.end(), name) - names.begin()));
      if (of_term.back() == names.size()) {
        names.push_back(name);
      }
    }
  }
  prediction.contributions.assign(prediction.contribution_names.size(),
                                  Matrix::Zero(rows.rows, num_outputs));
  for (Index begin = 0; begin < rows.rows; begin += chunk_rows_) {
    MERCER_RETURN_IF_ERROR(context.CheckCancelled());
    const PreparedData range = RowRange(rows, begin, std::min(chunk_rows_, rows.rows - begin));
    for (size_t t = 0; t < cross_kernels_.size(); ++t) {
      std::vector<Matrix*> targets;
      for (const size_t p : position[t]) {
        targets.push_back(&prediction.contributions[p]);
      }
      MERCER_RETURN_IF_ERROR(AddContributions(model_->function.kernel_terms[t], cross_kernels_[t],
                                              range, targets, begin, context));
    }
  }
  return absl::OkStatus();
}

absl::Status Predictor::ContributeFeatures(const PreparedData& rows, Prediction& prediction,
                                           RunContext& context) const {
  const Index num_outputs = model_->function.num_outputs();
  for (size_t t = 0; t < feature_values_.size(); ++t) {
    const size_t first = prediction.contributions.size();
    for (std::string& name : FeatureGroupNames(model_->function.feature_terms[t], rows)) {
      prediction.contribution_names.push_back(std::move(name));
      prediction.contributions.push_back(Matrix::Zero(rows.rows, num_outputs));
    }
    std::vector<Matrix*> shares;
    for (size_t c = first; c < prediction.contributions.size(); ++c) {
      shares.push_back(&prediction.contributions[c]);
    }
    MERCER_RETURN_IF_ERROR(feature_values_[t].AddByGroup(rows, shares, context));
  }
  return absl::OkStatus();
}

absl::StatusOr<Matrix> EvaluateFunction(const ModelFunction& function, const PreparedData& rows,
                                        RunContext& context) {
  Matrix values = function.bias.transpose().replicate(rows.rows, 1);
  for (const KernelTerm& term : function.kernel_terms) {
    const Basis& basis = function.bases[static_cast<size_t>(term.basis)];
    MERCER_ASSIGN_OR_RETURN(
        const CrossKernels cross,
        CrossKernels::Make(basis.data, term.kernels, basis.training_rows, context));
    const Index chunk = ChunkRows(basis.data->rows);
    for (Index begin = 0; begin < rows.rows; begin += chunk) {
      const Index count = std::min(chunk, rows.rows - begin);
      MERCER_RETURN_IF_ERROR(AddTerm(term, cross, RowRange(rows, begin, count),
                                     values.middleRows(begin, count), context));
    }
  }
  for (const FeatureTerm& term : function.feature_terms) {
    MERCER_ASSIGN_OR_RETURN(const FeatureTermValues features,
                            FeatureTermValues::Make(term, function.num_outputs()));
    MERCER_RETURN_IF_ERROR(features.Add(rows, values, context));
  }
  return values;
}

}  // namespace mercer
