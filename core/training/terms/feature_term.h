// The part of a model's function that is a sum of features of a family: pairs of cosine and sine,
// filters, columns.
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
#include "core/features/feature_family.h"
#include "core/features/feature_family_spec.h"
#include "core/training/terms/term.h"

namespace mercer {

// The term adds f_o(x) = sum_c coefficients(c, o) phi_c(x) to output o, phi being the columns of
// the groups, which read all feature blocks side by side.
struct FeatureTerm : TermOf<FeatureTerm> {
  static constexpr std::string_view kKind = "feature";

  void Scale(double factor) { coefficients *= factor; }
  absl::StatusOr<std::unique_ptr<const TermValues>> MakeValues(
      const TermPlace& place, const RunContext& context) const override;
  std::vector<TermShare> Shares(const PreparedData& rows) const override;
  Index num_coefficients() const override { return coefficients.size(); }
  int64_t WorkPerRow(int64_t columns, bool by_share) const override;

  FeatureFamilySpec family;
  Index num_inputs = 0;  // columns of all feature blocks
  std::vector<FeatureParameters> groups;
  Matrix coefficients;  // columns of the groups x outputs of the term; scales folded in

  static void VisitFields(auto& visit, auto& self) {
    visit(self.family, self.num_inputs, self.groups, self.outputs, self.coefficients);
  }

 private:
  // Of the values too: a family needs parameters in their ranges.
  absl::Status CheckOwnShape(const TermPlace& place) const override;
};

// Names of the groups for people, no two alike: "feature 3: fourier(bandwidth=2)", "feature 1:
// column 'width'". `inputs` is a table with the columns of the training rows; of their values
// nothing is read.
std::vector<std::string> FeatureGroupNames(const FeatureTerm& term, const PreparedData& inputs);

}  // namespace mercer
