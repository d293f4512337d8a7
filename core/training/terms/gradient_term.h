// What a learner has learned of the gradient of an output, beside its values.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "core/base/encoding/saved_fields.h"
#include "core/base/numeric/types.h"
#include "core/data/preprocess/prepared_data.h"
#include "core/training/terms/kernel_term.h"
#include "core/training/terms/term.h"

namespace mercer {

// The term adds nothing to the values of its one output. Its gradient in column columns(c) is
// g_c(x) = sum_k weights(k, c) sum_i coefficients(i, c) K_k(x, z_i), which is 0 in all other columns.
struct GradientTerm : TermOf<GradientTerm> {
  static constexpr std::string_view kKind = "gradient";

  void MoveBases(const TermMove& move) { functions.MoveBases(move); }
  void Scale(double factor) { functions.Scale(factor); }
  absl::Status CheckValues(const TermPlace& place, Index num_square_columns) const override;
  absl::StatusOr<std::unique_ptr<const TermValues>> MakeValues(
      const TermPlace& place, const RunContext& context) const override;
  std::vector<TermShare> Shares(const PreparedData& /*rows*/) const override { return {}; }
  absl::Span<const KernelSpec> Kernels() const override { return functions.Kernels(); }
  void MarkRows(std::vector<std::vector<bool>>& used) const override { functions.MarkRows(used); }
  Index num_coefficients() const override { return functions.num_coefficients(); }
  int64_t WorkPerRow(int64_t /*columns*/, bool /*by_share*/) const override { return 0; }

  Index num_inputs = 0;            // columns of all feature blocks side by side
  std::vector<Index> columns;      // of these, ascending
  std::vector<std::string> names;  // of `columns`
  KernelTerm functions;            // g_c, an output for each of `columns`
  // Orthonormal directions that hold most of the gradient, columns x directions, and the point that
  // a projection on them is taken from. There may be none.
  Matrix directions;
  Vector center;  // by `columns`

  static void VisitFields(auto& visit, auto& self) {
    visit(self.outputs, self.num_inputs, self.columns, self.names, self.functions, self.directions,
          self.center);
  }

 private:
  absl::Status CheckOwnShape(const TermPlace& place) const override;
  TermPlace PlaceOfFunctions(const TermPlace& place) const {
    return {place.bases, static_cast<Index>(columns.size())};
  }
};

// Evaluates the gradients of a term, which must outlive it.
class GradientTermValues : public TermValues {
 public:
  GradientTermValues(const GradientTerm& term, std::unique_ptr<const TermValues> functions)
      : term_(term), functions_(std::move(functions)) {}

  size_t MemoryBytes() const override;
  absl::Status Add(const PreparedData& /*rows*/, MatrixRef /*values*/,
                   RunContext& /*context*/) const override {
    return absl::OkStatus();
  }
  absl::Status AddByShare(const PreparedData& /*rows*/, const std::vector<Matrix*>& /*shares*/,
                          RunContext& /*context*/) const override {
    return absl::OkStatus();
  }
  absl::Status AddGradients(const PreparedData& rows, int output, MatrixRef gradients,
                            RunContext& context) const override;

  const GradientTerm& term() const { return term_; }
  // The gradients at rows, by the term's columns. Errors: those of Add.
  absl::StatusOr<Matrix> Gradients(const PreparedData& rows, RunContext& context) const;
  // Rows less the center, in the coordinates of the directions. Errors: kInvalidArgument when they
  // have another number of columns, kCancelled.
  absl::StatusOr<Matrix> Project(const PreparedData& rows, RunContext& context) const;

 private:
  const GradientTerm& term_;
  std::unique_ptr<const TermValues> functions_;
};

}  // namespace mercer
