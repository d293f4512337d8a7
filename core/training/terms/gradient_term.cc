#include "core/training/terms/gradient_term.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "absl/strings/str_cat.h"

#include "core/base/status/status_macros.h"
#include "core/features/feature_rows.h"
#include "core/training/terms/term_kinds.h"

namespace mercer {

namespace terms {
TermKind Gradient() { return MakeTermKind<GradientTerm>(); }
}  // namespace terms

absl::Status GradientTerm::CheckOwnShape(const TermPlace& place) const {
  const bool ascend =
      std::adjacent_find(columns.begin(), columns.end(), std::greater_equal<>()) == columns.end();
  if (outputs.size() != 1 || columns.empty() || !ascend || columns.front() < 0 ||
      columns.back() >= num_inputs || names.size() != columns.size()) {
    return UnreadableModel("the columns of a gradient do not fit its output");
  }
  const auto count = static_cast<Index>(columns.size());
  if (center.size() != count || directions.rows() != (directions.cols() > 0 ? count : 0)) {
    return UnreadableModel("the directions of a gradient do not fit its columns");
  }
  return functions.CheckShape(PlaceOfFunctions(place));
}

absl::Status GradientTerm::CheckValues(const TermPlace& place, Index num_square_columns) const {
  if (!center.allFinite() || !directions.allFinite()) {
    return UnreadableModel("a gradient has a number that is not finite");
  }
  return functions.CheckValues(PlaceOfFunctions(place), num_square_columns);
}

absl::StatusOr<std::unique_ptr<const TermValues>> GradientTerm::MakeValues(
    const TermPlace& place, const RunContext& context) const {
  MERCER_ASSIGN_OR_RETURN(std::unique_ptr<const TermValues> values,
                          functions.MakeValues(PlaceOfFunctions(place), context));
  return std::make_unique<GradientTermValues>(*this, std::move(values));
}

size_t GradientTermValues::MemoryBytes() const {
  const Index numbers = term_.directions.size() + 2 * term_.center.size();
  return functions_->MemoryBytes() + static_cast<size_t>(numbers) * sizeof(double);
}

absl::StatusOr<Matrix> GradientTermValues::Gradients(const PreparedData& rows,
                                                     RunContext& context) const {
  Matrix gradients = Matrix::Zero(rows.rows, static_cast<Index>(term_.columns.size()));
  MERCER_RETURN_IF_ERROR(functions_->Add(rows, gradients, context));
  return gradients;
}

absl::Status GradientTermValues::AddGradients(const PreparedData& rows, int output,
                                              MatrixRef gradients, RunContext& context) const {
  if (output != term_.outputs.front()) {
    return absl::OkStatus();
  }
  if (gradients.cols() != term_.num_inputs) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the rows have ", gradients.cols(), " columns, the gradient has ", term_.num_inputs));
  }
  MERCER_ASSIGN_OR_RETURN(const Matrix of_columns, Gradients(rows, context));
  for (size_t c = 0; c < term_.columns.size(); ++c) {
    gradients.col(term_.columns[c]) += of_columns.col(static_cast<Index>(c));
  }
  return absl::OkStatus();
}

// Term by term, so that what it says of a row does not depend on its neighbours.
absl::StatusOr<Matrix> GradientTermValues::Project(const PreparedData& rows,
                                                   RunContext& context) const {
  // A pointer without an owner: the rows outlive what is made of them here.
  const FeatureRows inputs(std::shared_ptr<const PreparedData>(std::shared_ptr<void>(), &rows));
  if (inputs.num_inputs() != term_.num_inputs) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the rows have ", inputs.num_inputs(), " columns, the directions have ", term_.num_inputs));
  }
  Matrix projections = Matrix::Zero(rows.rows, term_.directions.cols());
  RowMatrix buffer;
  for (Index begin = 0; begin < rows.rows; begin += inputs.chunk_rows()) {
    MERCER_RETURN_IF_ERROR(context.CheckCancelled());
    const Index end = std::min(begin + inputs.chunk_rows(), rows.rows);
    const auto values = inputs.Read(begin, end, buffer);
    for (size_t c = 0; c < term_.columns.size(); ++c) {
      const auto place = static_cast<Index>(c);
      const Vector moved = values.col(term_.columns[c]).array() - term_.center(place);
      for (Index k = 0; k < projections.cols(); ++k) {
        projections.col(k).segment(begin, end - begin) += term_.directions(place, k) * moved;
      }
    }
  }
  return projections;
}

}  // namespace mercer
