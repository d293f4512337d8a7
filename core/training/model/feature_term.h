// The part of a model's function that is a sum of features of a family: pairs of cosine and sine,
// filters, columns.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "core/base/encoding/saved_fields.h"
#include "core/base/numeric/types.h"
#include "core/base/process/run_context.h"
#include "core/data/preprocess/prepared_data.h"
#include "core/features/feature_family.h"
#include "core/features/feature_family_spec.h"
#include "core/features/feature_rows.h"
#include "core/training/model/term_values.h"

namespace mercer {

// The term adds f_o(x) = sum_c coefficients(c, o) phi_c(x) to output o, phi being the columns of
// the groups, which read all feature blocks side by side.
struct FeatureTerm {
  FeatureFamilySpec family;
  Index num_inputs = 0;  // columns of all feature blocks
  std::vector<FeatureParameters> groups;
  std::vector<int> outputs;  // that the term contributes to, ascending
  Matrix coefficients;       // columns of the groups x outputs of the term; scales folded in

  // What a term says is checked by CheckFeatureTerm.
  static void VisitFields(auto& visit, auto& self) {
    visit(self.family, self.num_inputs, self.groups, self.outputs, self.coefficients);
  }
};

// Checks shapes, that parameters are within their ranges, that numbers are finite and outputs below
// `num_outputs`. Errors: kDataLoss.
absl::Status CheckFeatureTerm(const FeatureTerm& term, Index num_outputs);

// Names of the groups for people, no two alike: "feature 3: fourier(bandwidth=2)", "feature 1:
// column 'width'". `inputs` is a table with the columns of the training rows; of their values
// nothing is read.
std::vector<std::string> FeatureGroupNames(const FeatureTerm& term, const PreparedData& inputs);

// Evaluates a sum of features.
class FeatureTermValues : public TermValues {
 public:
  // The term must outlive the values. Errors: those of CheckFeatureTerm.
  static absl::StatusOr<FeatureTermValues> Make(const FeatureTerm& term, Index num_outputs);

  size_t MemoryBytes() const override;
  absl::Status Add(const PreparedData& rows, MatrixRef values, RunContext& context) const override;
  std::vector<TermShare> Shares(const PreparedData& rows) const override;
  absl::Status AddByShare(const PreparedData& rows, const std::vector<Matrix*>& shares,
                          RunContext& context) const override;

 private:
  FeatureTermValues(const FeatureTerm& term, const FeatureFamily& family);

  // The rows as one table. Errors: kInvalidArgument when they have another number of columns.
  absl::StatusOr<FeatureRows> Inputs(const PreparedData& rows) const;

  const FeatureTerm& term_;
  std::unique_ptr<const FeatureMap> map_;
  Index columns_per_group_;
};

}  // namespace mercer
