#include "tests/support/proof/plane_term.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

#include "core/base/status/status_macros.h"
#include "core/features/feature_rows.h"
#include "core/training/terms/term_kinds.h"

namespace mercer {
namespace pair_ridge {
namespace {

class PlaneValues : public TermValues {
 public:
  // The term must outlive the values.
  explicit PlaneValues(const PlaneTerm& term) : term_(term) {}

  size_t MemoryBytes() const override {
    return sizeof(*this) + static_cast<size_t>(term_.slopes.size()) * sizeof(double);
  }

  // Column after column, so that the bits of a row depend on the row alone.
  absl::Status Add(const PreparedData& rows, MatrixRef values, RunContext& context) const override {
    // A pointer without an owner: the rows outlive what is made of them here.
    const FeatureRows inputs(std::shared_ptr<const PreparedData>(std::shared_ptr<void>(), &rows));
    if (inputs.num_inputs() != term_.slopes.rows()) {
      return absl::InvalidArgumentError(absl::StrCat("the rows have ", inputs.num_inputs(),
                                                     " columns, the plane ", term_.slopes.rows()));
    }
    RowMatrix buffer;
    for (Index begin = 0; begin < rows.rows; begin += inputs.chunk_rows()) {
      MERCER_RETURN_IF_ERROR(context.CheckCancelled());
      const Index count = std::min(inputs.chunk_rows(), rows.rows - begin);
      const FeatureRows::Chunk chunk = inputs.Read(begin, begin + count, buffer);
      for (size_t o = 0; o < term_.outputs.size(); ++o) {
        Vector sums = Vector::Zero(count);
        for (Index j = 0; j < chunk.cols(); ++j) {
          sums += term_.slopes(j, static_cast<Index>(o)) * chunk.col(j);
        }
        for (Index i = 0; i < count; ++i) {
          if (!std::isfinite(sums(i))) {
            return absl::InvalidArgumentError(absl::StrCat(
                "row ", rows.RowNumber(begin + i) + 1, ": too large for the plane to be computed"));
          }
        }
        values.col(term_.outputs[o]).segment(begin, count) += sums;
      }
    }
    return absl::OkStatus();
  }

  absl::Status AddByShare(const PreparedData& rows, const std::vector<Matrix*>& shares,
                          RunContext& context) const override {
    return Add(rows, *shares[0], context);
  }

  absl::Status AddGradients(const PreparedData& /*rows*/, int output, MatrixRef gradients,
                            RunContext& /*context*/) const override {
    for (size_t o = 0; o < term_.outputs.size(); ++o) {
      if (term_.outputs[o] == output) {
        gradients.rowwise() += term_.slopes.col(static_cast<Index>(o)).transpose();
      }
    }
    return absl::OkStatus();
  }

 private:
  const PlaneTerm& term_;
};

}  // namespace

absl::Status PlaneTerm::CheckOwnShape(const TermPlace& /*place*/) const {
  const bool fits = slopes.rows() > 0 && slopes.cols() == static_cast<Index>(outputs.size());
  return fits && slopes.allFinite() ? absl::OkStatus()
                                    : UnreadableModel("the slopes of a plane do not fit it");
}

absl::StatusOr<std::unique_ptr<const TermValues>> PlaneTerm::MakeValues(
    const TermPlace& place, const RunContext& /*context*/) const {
  MERCER_RETURN_IF_ERROR(CheckShape(place));
  return std::make_unique<PlaneValues>(*this);
}

}  // namespace pair_ridge

namespace terms {
TermKind Plane() { return MakeTermKind<pair_ridge::PlaneTerm>(); }
}  // namespace terms

}  // namespace mercer
