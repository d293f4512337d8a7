#include "core/training/model/feature_term.h"

#include <cmath>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"

#include "core/base/status/errors.h"
#include "core/base/status/status_macros.h"
#include "core/features/weighted_columns.h"

namespace mercer {
namespace {

absl::Status UnreadableTerm(std::string_view what) {
  return absl::DataLossError(absl::StrCat("not a readable model: ", std::string(what)));
}

// The family of a stored term.
absl::StatusOr<std::shared_ptr<const FeatureFamily>> FamilyOf(const FeatureTerm& term) {
  if (term.num_inputs < 1) {
    return UnreadableTerm("a feature term reads no column");
  }
  absl::StatusOr<std::shared_ptr<const FeatureFamily>> family =
      MakeFeatureFamily(term.family, term.num_inputs);
  if (!family.ok()) {
    return UnreadableTerm(std::string(family.status().message()));
  }
  for (const FeatureParameters& group : term.groups) {
    if (!(*family)->CheckParameters(group).ok()) {
      return UnreadableTerm("a feature has a parameter out of range");
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

}  // namespace

absl::Status CheckFeatureTerm(const FeatureTerm& term, Index num_outputs) {
  MERCER_ASSIGN_OR_RETURN(const std::shared_ptr<const FeatureFamily> family, FamilyOf(term));
  int previous = -1;
  for (const int output : term.outputs) {
    if (output <= previous || output >= num_outputs) {
      return UnreadableTerm("a feature term names an output that does not exist");
    }
    previous = output;
  }
  const Index columns = static_cast<Index>(term.groups.size()) * family->columns_per_group();
  if (term.groups.empty() || term.outputs.empty() || term.coefficients.rows() != columns ||
      term.coefficients.cols() != static_cast<Index>(term.outputs.size()) ||
      !term.coefficients.allFinite()) {
    return UnreadableTerm("the coefficients of a feature term do not fit its features and outputs");
  }
  return absl::OkStatus();
}

std::vector<std::string> FeatureGroupNames(const FeatureTerm& term, const PreparedData& inputs) {
  std::vector<std::string> names;
  for (size_t g = 0; g < term.groups.size(); ++g) {
    names.push_back(absl::StrCat("feature ", g + 1, ": ", GroupName(term, term.groups[g], inputs)));
  }
  return names;
}

absl::StatusOr<FeatureTermValues> FeatureTermValues::Make(const FeatureTerm& term,
                                                          Index num_outputs) {
  MERCER_RETURN_IF_ERROR(CheckFeatureTerm(term, num_outputs));
  MERCER_ASSIGN_OR_RETURN(const std::shared_ptr<const FeatureFamily> family, FamilyOf(term));
  return FeatureTermValues(term, *family);
}

FeatureTermValues::FeatureTermValues(const FeatureTerm& term, const FeatureFamily& family)
    : term_(term), map_(family.Bind(term.groups)), columns_per_group_(family.columns_per_group()) {}

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

std::vector<TermShare> FeatureTermValues::Shares(const PreparedData& rows) const {
  std::vector<TermShare> shares;
  for (std::string& name : FeatureGroupNames(term_, rows)) {
    shares.push_back({std::move(name), /*joins_its_name=*/false});
  }
  return shares;
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

}  // namespace mercer
