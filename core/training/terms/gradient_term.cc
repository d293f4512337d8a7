#include "core/training/terms/gradient_term.h"

#include <utility>

#include "core/base/status/status_macros.h"
#include "core/training/terms/term_kinds.h"

namespace mercer {
namespace {

class KernelGradientValues : public GradientTermValues {
 public:
  // The term must outlive the values.
  KernelGradientValues(const GradientTerm& term, std::unique_ptr<const TermValues> functions)
      : GradientTermValues(term, term.outputs.front()), functions_(std::move(functions)) {}

  size_t MemoryBytes() const override { return functions_->MemoryBytes() + ShapeBytes(); }
  absl::Status Add(const PreparedData& /*rows*/, MatrixRef /*values*/,
                   RunContext& /*context*/) const override {
    return absl::OkStatus();
  }
  absl::Status AddByShare(const PreparedData& /*rows*/, const std::vector<Matrix*>& /*shares*/,
                          RunContext& /*context*/) const override {
    return absl::OkStatus();
  }
  absl::StatusOr<Matrix> Gradients(const PreparedData& rows, RunContext& context) const override {
    Matrix gradients = Matrix::Zero(rows.rows, static_cast<Index>(shape().columns.size()));
    MERCER_RETURN_IF_ERROR(functions_->Add(rows, gradients, context));
    return gradients;
  }

 private:
  std::unique_ptr<const TermValues> functions_;
};

}  // namespace

namespace terms {
TermKind Gradient() { return MakeTermKind<GradientTerm>(); }
}  // namespace terms

absl::Status GradientTerm::CheckOwnShape(const TermPlace& place) const {
  if (outputs.size() != 1) {
    return UnreadableModel("a gradient is not of one output");
  }
  MERCER_RETURN_IF_ERROR(CheckParts());
  return functions.CheckShape(PlaceOfFunctions(place));
}

absl::Status GradientTerm::CheckValues(const TermPlace& place, Index num_square_columns) const {
  MERCER_RETURN_IF_ERROR(CheckNumbers());
  return functions.CheckValues(PlaceOfFunctions(place), num_square_columns);
}

absl::StatusOr<std::unique_ptr<const TermValues>> GradientTerm::MakeValues(
    const TermPlace& place, const RunContext& context) const {
  MERCER_ASSIGN_OR_RETURN(std::unique_ptr<const TermValues> values,
                          functions.MakeValues(PlaceOfFunctions(place), context));
  return std::make_unique<KernelGradientValues>(*this, std::move(values));
}

}  // namespace mercer
