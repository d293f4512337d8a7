#include "core/features/column_family.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "absl/strings/str_cat.h"

namespace mercer {
namespace {

class ColumnMap : public FeatureMap {
 public:
  ColumnMap(absl::Span<const FeatureParameters> groups, Index num_inputs)
      : num_inputs_(num_inputs) {
    for (const FeatureParameters& group : groups) {
      columns_.push_back(static_cast<Index>(group[0]));
    }
  }

  Index num_inputs() const override { return num_inputs_; }
  Index num_columns() const override { return static_cast<Index>(columns_.size()); }
  void Evaluate(ConstRowMatrixRef rows, MatrixRef out) const override { Copy(rows, out); }
  void Evaluate(ConstRowMatrixRef rows, SingleMatrixRef out) const override { Copy(rows, out); }

 private:
  template <typename Out>
  void Copy(ConstRowMatrixRef rows, Out& out) const {
    // As many rows as stay in the first cache while their columns are gone through.
    const Index height = std::max<Index>(kTogether, 2048 / std::max<Index>(1, rows.cols()));
    for (Index begin = 0; begin < rows.rows(); begin += height) {
      const Index end = std::min(begin + height, rows.rows());
      if (2 * num_columns() >= rows.cols()) {
        Prefetch(rows, end, std::min(end + height, rows.rows()));
      }
      Index first = 0;
      for (; first + kTogether <= num_columns(); first += kTogether) {
        CopySome<kTogether>(rows, begin, end, first, out);
      }
      for (; first < num_columns(); ++first) {
        CopySome<1>(rows, begin, end, first, out);
      }
    }
  }

  // One column after the other, a row's values come too far apart for the processor to see a pattern.
  static void Prefetch(const ConstRowMatrixRef& rows, Index begin, Index end) {
    constexpr Index kLine = 64 / sizeof(double);
    for (Index i = begin; i < end; ++i) {
      const double* const row = rows.data() + i * rows.outerStride();
      for (Index c = 0; c < rows.cols(); c += kLine) {
        __builtin_prefetch(row + c);
      }
    }
  }

  // How many columns are written at a time: more places to write to than these do not fit into the
  // first cache.
  static constexpr Index kTogether = 8;

  template <Index count, typename Out>
  void CopySome(const ConstRowMatrixRef& rows, Index begin, Index end, Index first,
                Out& out) const {
    using Scalar = typename Out::Scalar;
    std::array<Index, count> from;
    std::array<Scalar*, count> to;
    for (Index c = 0; c < count; ++c) {
      const auto at = static_cast<size_t>(c);
      from[at] = columns_[static_cast<size_t>(first + c)];
      to[at] = out.col(first + c).data();
    }
    for (Index i = begin; i < end; ++i) {
      const double* const row = rows.data() + i * rows.outerStride();
      for (size_t c = 0; c < static_cast<size_t>(count); ++c) {
        to[c][i] = static_cast<Scalar>(row[from[c]]);
      }
    }
  }

  Index num_inputs_;
  std::vector<Index> columns_;
};

}  // namespace

absl::StatusOr<std::vector<FeatureParameters>> ColumnFamily::Draw(
    uint64_t /*seed*/, uint64_t /*round*/, const RunContext& /*context*/) const {
  std::vector<FeatureParameters> groups;
  groups.reserve(static_cast<size_t>(num_inputs_));
  for (Index c = 0; c < num_inputs_; ++c) {
    groups.push_back({static_cast<double>(c)});
  }
  return groups;
}

absl::Status ColumnFamily::CheckParameters(absl::Span<const double> parameters) const {
  if (parameters.size() != 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("a column has 1 parameter, its number, not ", parameters.size()));
  }
  const double column = parameters[0];
  if (!(column >= 0 && column < static_cast<double>(num_inputs_)) || column != std::floor(column)) {
    return absl::InvalidArgumentError(
        absl::StrCat("there is no column ", column, " among ", num_inputs_));
  }
  return absl::OkStatus();
}

std::unique_ptr<const FeatureMap> ColumnFamily::Bind(
    absl::Span<const FeatureParameters> groups) const {
  return std::make_unique<const ColumnMap>(groups, num_inputs_);
}

}  // namespace mercer
