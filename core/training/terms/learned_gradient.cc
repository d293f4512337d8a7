#include "core/training/terms/learned_gradient.h"

#include <algorithm>
#include <functional>
#include <memory>

#include "absl/strings/str_cat.h"

#include "core/base/status/status_macros.h"
#include "core/features/feature_rows.h"
#include "core/training/terms/term.h"

namespace mercer {

absl::Status GradientShape::CheckParts() const {
  const bool ascend =
      std::adjacent_find(columns.begin(), columns.end(), std::greater_equal<>()) == columns.end();
  if (columns.empty() || !ascend || columns.front() < 0 || columns.back() >= num_inputs ||
      names.size() != columns.size()) {
    return UnreadableModel("the columns of a gradient do not fit its output");
  }
  const auto count = static_cast<Index>(columns.size());
  if (center.size() != count || directions.rows() != (directions.cols() > 0 ? count : 0)) {
    return UnreadableModel("the directions of a gradient do not fit its columns");
  }
  return absl::OkStatus();
}

absl::Status GradientShape::CheckNumbers() const {
  return center.allFinite() && directions.allFinite()
             ? absl::OkStatus()
             : UnreadableModel("a gradient has a number that is not finite");
}

// Term by term, so that what it says of a row does not depend on its neighbours.
absl::StatusOr<Matrix> GradientShape::Project(const PreparedData& rows, RunContext& context) const {
  // A pointer without an owner: the rows outlive what is made of them here.
  const FeatureRows inputs(std::shared_ptr<const PreparedData>(std::shared_ptr<void>(), &rows));
  if (inputs.num_inputs() != num_inputs) {
    return absl::InvalidArgumentError(absl::StrCat("the rows have ", inputs.num_inputs(),
                                                   " columns, the directions have ", num_inputs));
  }
  Matrix projections = Matrix::Zero(rows.rows, directions.cols());
  RowMatrix buffer;
  for (Index begin = 0; begin < rows.rows; begin += inputs.chunk_rows()) {
    MERCER_RETURN_IF_ERROR(context.CheckCancelled());
    const Index end = std::min(begin + inputs.chunk_rows(), rows.rows);
    const auto values = inputs.Read(begin, end, buffer);
    for (size_t c = 0; c < columns.size(); ++c) {
      const auto place = static_cast<Index>(c);
      const Vector moved = values.col(columns[c]).array() - center(place);
      for (Index k = 0; k < projections.cols(); ++k) {
        projections.col(k).segment(begin, end - begin) += directions(place, k) * moved;
      }
    }
  }
  return projections;
}

absl::Status GradientTermValues::AddGradients(const PreparedData& rows, int output,
                                              MatrixRef gradients, RunContext& context) const {
  if (output != output_) {
    return absl::OkStatus();
  }
  if (gradients.cols() != shape_.num_inputs) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the rows have ", gradients.cols(), " columns, the gradient has ", shape_.num_inputs));
  }
  MERCER_ASSIGN_OR_RETURN(const Matrix of_columns, Gradients(rows, context));
  for (size_t c = 0; c < shape_.columns.size(); ++c) {
    gradients.col(shape_.columns[c]) += of_columns.col(static_cast<Index>(c));
  }
  return absl::OkStatus();
}

size_t GradientTermValues::ShapeBytes() const {
  const Index numbers = shape_.directions.size() + 2 * shape_.center.size();
  return static_cast<size_t>(numbers) * sizeof(double);
}

}  // namespace mercer
