// What a learner has learned of the gradient of an output, beside its values.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "core/base/encoding/saved_fields.h"
#include "core/base/numeric/types.h"
#include "core/training/terms/kernel_term.h"
#include "core/training/terms/learned_gradient.h"
#include "core/training/terms/term.h"

namespace mercer {

// The term adds nothing to the values of its one output. Its gradient in column columns(c) is
// g_c(x) = sum_k weights(k, c) sum_i coefficients(i, c) K_k(x, z_i).
struct GradientTerm : TermOf<GradientTerm>, GradientShape {
  static constexpr std::string_view kKind = "gradient";

  const GradientShape* gradient() const override { return this; }
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

  KernelTerm functions;  // g_c, an output for each of `columns`

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

}  // namespace mercer
