// A function that was learned together with its own gradient.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "core/base/encoding/saved_fields.h"
#include "core/base/numeric/types.h"
#include "core/training/terms/learned_gradient.h"
#include "core/training/terms/term.h"

namespace mercer {

// The term adds to its one output
//   f(x) = slopes'x + sum_j G(x, z_j) (sums(j) + moments(j, .)'(x - z_j) / s^2),
// x all feature blocks side by side, z_j rows of the basis and G(x, z) = exp(-|x - z|^2 / (2 s^2)).
// The gradient that it tells is that of f, in all columns.
struct DifferentiableTerm : TermOf<DifferentiableTerm>, GradientShape {
  static constexpr std::string_view kKind = "differentiable";

  const GradientShape* gradient() const override { return this; }
  void MoveBases(const TermMove& move);
  void Scale(double factor);
  absl::Status CheckValues(const TermPlace& place, Index num_square_columns) const override;
  absl::StatusOr<std::unique_ptr<const TermValues>> MakeValues(
      const TermPlace& place, const RunContext& context) const override;
  std::vector<TermShare> Shares(const PreparedData& rows) const override;
  void MarkRows(std::vector<std::vector<bool>>& used) const override;
  Index num_coefficients() const override { return slopes.size() + sums.size() + moments.size(); }
  int64_t WorkPerRow(int64_t columns, bool by_share) const override;

  Vector slopes;               // by column; empty: 0
  int basis = 0;               // index into ModelFunction::bases, of no meaning without anchors
  std::vector<Index> anchors;  // the rows z_j of the basis
  double width = 0;            // s, > 0 where there are z_j
  Vector sums;                 // by z_j
  Matrix moments;              // z_j x columns

  static void VisitFields(auto& visit, auto& self) {
    visit(self.outputs, self.num_inputs, self.columns, self.names, self.directions, self.center,
          self.slopes, self.basis, self.anchors, self.width, self.sums, self.moments);
  }

 private:
  absl::Status CheckOwnShape(const TermPlace& place) const override;
};

}  // namespace mercer
