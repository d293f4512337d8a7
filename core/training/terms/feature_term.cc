#include "core/training/terms/feature_term.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"

#include "core/base/status/errors.h"
#include "core/base/status/status_macros.h"
#include "core/features/feature_family.h"
#include "core/features/feature_rows.h"
#include "core/features/weighted_columns.h"
#include "core/training/terms/term_kinds.h"

namespace mercer {
namespace {

// The family of a stored term.
absl::StatusOr<std::shared_ptr<const FeatureFamily>> FamilyOf(const FeatureTerm& term) {
  if (term.num_inputs < 1) {
    return UnreadableModel("a feature term reads no column");
  }
  absl::StatusOr<std::shared_ptr<const FeatureFamily>> family =
      MakeFeatureFamily(term.family, term.num_inputs);
  if (!family.ok()) {
    return UnreadableModel(std::string(family.status().message()));
  }
  for (const FeatureParameters& group : term.groups) {
    if (!(*family)->CheckParameters(group).ok()) {
      return UnreadableModel("a feature has a parameter out of range");
    }
  }
  return family;
}

// The name of a column of all feature blocks side by side.
std::string ColumnName(const PreparedData& inputs, Index column) {
  for (const PreparedBlock& block : inputs.blocks) {
    const auto count = static_cast<Index>(block.sources.size());
    if (column < count) {
      return block.sources[static_cast<size_t>(column)];
    }
    column -= count;
  }
  return absl::StrCat(column + 1);
}

std::string GroupName(const FeatureTerm& term, const FeatureParameters& group,
                      const PreparedData& inputs) {
  switch (term.family.kind) {
    case FeatureFamilyKind::kFourier:
      return absl::StrCat("fourier(bandwidth=", group[0], ")");
    case FeatureFamilyKind::kColumns:
      return absl::StrCat("column '", ColumnName(inputs, static_cast<Index>(group[0])), "'");
    case FeatureFamilyKind::kGabor:
      return absl::StrCat("gabor(sigma_z=", group[0], ", sigma_y=", group[1],
                          ", frequency=", group[2], ", angle=", group[3], ")");
  }
  return {};
}

// Evaluates a sum of features.
class FeatureTermValues : public TermValues {
 public:
  // The term must outlive the values.
  FeatureTermValues(const FeatureTerm& term, const FeatureFamily& family)
      : term_(term),
        map_(family.Bind(term.groups)),
        columns_per_group_(family.columns_per_group()) {}

  size_t MemoryBytes() const override;
  absl::Status Add(const PreparedData& rows, MatrixRef values, RunContext& context) const override;
  absl::Status AddByShare(const PreparedData& rows, const std::vector<Matrix*>& shares,
                          RunContext& context) const override;

 private:
  // The rows as one table. Errors: kInvalidArgument when they have another number of columns.
  absl::StatusOr<FeatureRows> Inputs(const PreparedData& rows) const;

  const FeatureTerm& term_;
  std::unique_ptr<const FeatureMap> map_;
  Index columns_per_group_;
};

size_t FeatureTermValues::MemoryBytes() const {
  const auto groups = static_cast<Index>(term_.groups.size());
  // The groups are in the term and in what it is evaluated by.
  const Index values = term_.coefficients.size() + 2 * groups * (map_->num_inputs() + 1);
  return sizeof(*this) + static_cast<size_t>(values) * sizeof(double);
}

absl::StatusOr<FeatureRows> FeatureTermValues::Inputs(const PreparedData& rows) const {
  // A pointer without an owner: the rows outlive what is made of them here.
  FeatureRows inputs(std::shared_ptr<const PreparedData>(std::shared_ptr<void>(), &rows));
  if (inputs.num_inputs() != map_->num_inputs()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the rows have ", inputs.num_inputs(), " columns, the features read ", map_->num_inputs()));
  }
  return inputs;
}

absl::Status FeatureTermValues::Add(const PreparedData& rows, MatrixRef values,
                                    RunContext& context) const {
  MERCER_ASSIGN_OR_RETURN(const FeatureRows inputs, Inputs(rows));
  Matrix sums = Matrix::Zero(rows.rows, term_.coefficients.cols());
  MERCER_RETURN_IF_ERROR(AddWeightedColumns(*map_, inputs, term_.coefficients, sums, context));
  for (Index i = 0; i < sums.rows(); ++i) {
    if (!sums.row(i).allFinite()) {
      return absl::InvalidArgumentError(
          absl::StrCat("row ", rows.RowNumber(i) + 1,
                       ": a feature cannot be computed, its argument is too large"));
    }
  }
  for (size_t o = 0; o < term_.outputs.size(); ++o) {
    values.col(term_.outputs[o]) += sums.col(static_cast<Index>(o));
  }
  return absl::OkStatus();
}

absl::Status FeatureTermValues::AddByShare(const PreparedData& rows,
                                           const std::vector<Matrix*>& shares,
                                           RunContext& context) const {
  MERCER_ASSIGN_OR_RETURN(const FeatureRows inputs, Inputs(rows));
  const Index chunk = inputs.chunk_rows();
  RowMatrix buffer;
  Matrix columns(std::min(chunk, rows.rows), map_->num_columns());
  for (Index begin = 0; begin < rows.rows; begin += chunk) {
    MERCER_RETURN_IF_ERROR(context.CheckCancelled());
    const Index count = std::min(chunk, rows.rows - begin);
    map_->Evaluate(inputs.Read(begin, begin + count, buffer), columns.topRows(count));
    for (size_t o = 0; o < term_.outputs.size(); ++o) {
      for (Index c = 0; c < columns.cols(); ++c) {
        Matrix& share = *shares[static_cast<size_t>(c / columns_per_group_)];
        share.col(term_.outputs[o]).segment(begin, count) +=
            term_.coefficients(c, static_cast<Index>(o)) * columns.col(c).head(count);
      }
    }
  }
  return absl::OkStatus();
}

}  // namespace

namespace terms {
TermKind Feature() { return MakeTermKind<FeatureTerm>(); }
}  // namespace terms

absl::Status FeatureTerm::CheckOwnShape(const TermPlace& /*place*/) const {
  MERCER_ASSIGN_OR_RETURN(const std::shared_ptr<const FeatureFamily> known, FamilyOf(*this));
  const Index columns = static_cast<Index>(groups.size()) * known->columns_per_group();
  if (groups.empty() || coefficients.rows() != columns ||
      coefficients.cols() != static_cast<Index>(outputs.size()) || !coefficients.allFinite()) {
    return UnreadableModel(
        "the coefficients of a feature term do not fit its features and outputs");
  }
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<const TermValues>> FeatureTerm::MakeValues(
    const TermPlace& place, const RunContext& /*context*/) const {
  MERCER_RETURN_IF_ERROR(CheckShape(place));
  MERCER_ASSIGN_OR_RETURN(const std::shared_ptr<const FeatureFamily> known, FamilyOf(*this));
  return std::make_unique<FeatureTermValues>(*this, *known);
}

std::vector<TermShare> FeatureTerm::Shares(const PreparedData& rows) const {
  std::vector<TermShare> shares;
  for (std::string& name : FeatureGroupNames(*this, rows)) {
    shares.push_back({std::move(name), /*joins_its_name=*/false});
  }
  return shares;
}

int64_t FeatureTerm::WorkPerRow(int64_t columns, bool by_share) const {
  return static_cast<int64_t>(groups.size()) * (columns + 16) +
         (by_share ? 2 : 1) * static_cast<int64_t>(coefficients.size());
}

std::vector<std::string> FeatureGroupNames(const FeatureTerm& term, const PreparedData& inputs) {
  std::vector<std::string> names;
  for (size_t g = 0; g < term.groups.size(); ++g) {
    names.push_back(absl::StrCat("feature ", g + 1, ": ", GroupName(term, term.groups[g], inputs)));
  }
  return names;
}

}  // namespace mercer
