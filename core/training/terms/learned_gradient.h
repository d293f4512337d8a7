// The gradient of an output that a term tells beside, or together with, its values.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "core/base/numeric/types.h"
#include "core/base/process/run_context.h"
#include "core/data/preprocess/prepared_data.h"
#include "core/training/terms/term_values.h"

namespace mercer {

// The columns of a gradient, and the directions that hold most of it.
struct GradientShape {
  Index num_inputs = 0;            // columns of all feature blocks side by side
  std::vector<Index> columns;      // of these, ascending; the gradient is 0 in all others
  std::vector<std::string> names;  // of `columns`
  // Orthonormal directions, columns x directions, and the point that a projection on them is taken
  // from. There may be none.
  Matrix directions;
  Vector center;  // by `columns`

  // Whether the parts fit each other, and are finite. Errors: kDataLoss.
  absl::Status CheckParts() const;
  absl::Status CheckNumbers() const;
  // Rows less the center, in the coordinates of the directions. Errors: kInvalidArgument when they
  // have another number of columns, kCancelled.
  absl::StatusOr<Matrix> Project(const PreparedData& rows, RunContext& context) const;
};

// Evaluates a term that tells the gradient of its one output (Term::gradient).
class GradientTermValues : public TermValues {
 public:
  // The shape must outlive this.
  GradientTermValues(const GradientShape& shape, int output) : shape_(shape), output_(output) {}

  // The gradients at rows, by the columns of the shape. Errors: those of Add.
  virtual absl::StatusOr<Matrix> Gradients(const PreparedData& rows, RunContext& context) const = 0;
  absl::Status AddGradients(const PreparedData& rows, int output, MatrixRef gradients,
                            RunContext& context) const final;

 protected:
  // Bytes of the shape.
  size_t ShapeBytes() const;
  const GradientShape& shape() const { return shape_; }

 private:
  const GradientShape& shape_;
  const int output_;
};

}  // namespace mercer
