// The part of a function that is linear in the columns of the data: a kind of term with gradients.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "core/training/terms/term.h"

namespace mercer::pair_ridge {

// The term adds f_o(x) = sum_j slopes(j, o) x_j to output o, x being the columns of all feature
// blocks side by side.
struct PlaneTerm : TermOf<PlaneTerm> {
  static constexpr std::string_view kKind = "plane";

  void Scale(double factor) { slopes *= factor; }
  absl::StatusOr<std::unique_ptr<const TermValues>> MakeValues(
      const TermPlace& place, const RunContext& context) const override;
  std::vector<TermShare> Shares(const PreparedData& /*rows*/) const override {
    return {{"plane", /*joins_its_name=*/true}};
  }
  Index num_coefficients() const override { return slopes.size(); }
  int64_t WorkPerRow(int64_t /*columns*/, bool /*by_share*/) const override {
    return slopes.size();
  }

  Matrix slopes;  // columns x outputs of the term

  static void VisitFields(auto& visit, auto& self) { visit(self.outputs, self.slopes); }

 private:
  absl::Status CheckOwnShape(const TermPlace& place) const override;
};

}  // namespace mercer::pair_ridge
