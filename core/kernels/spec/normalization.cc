#include "core/kernels/spec/normalization.h"

#include <cmath>

#include "absl/strings/str_cat.h"

#include "core/base/status/errors.h"

namespace mercer {
namespace {

constexpr double kSmallestTrace = 1e-300;
constexpr double kSmallestRelativeVariance = 1e-12;

absl::Status ZeroKernel(absl::string_view message) {
  return WithReason(absl::InvalidArgumentError(message), "ZERO_KERNEL");
}

}  // namespace

absl::StatusOr<double> ScalingFactor(KernelScaling scaling, const GramSums& sums) {
  if (scaling == KernelScaling::kNone) {
    return 1.0;
  }
  if (!std::isfinite(sums.trace) || !std::isfinite(sums.total) || sums.trace <= kSmallestTrace) {
    return ZeroKernel(absl::StrCat("a kernel whose trace is ", sums.trace, " cannot be rescaled"));
  }
  const auto n = static_cast<double>(sums.rows);
  const double centred_trace = sums.trace - sums.total / n;
  switch (scaling) {
    case KernelScaling::kTrace:
      return 1.0 / sums.trace;
    case KernelScaling::kMeanDiagonal:
      return n / sums.trace;
    default:
      break;
  }
  if (centred_trace <= kSmallestRelativeVariance * sums.trace) {
    return ZeroKernel(absl::StrCat("the variance in feature space is ", centred_trace / n,
                                   ": the kernel is constant over the rows"));
  }
  return scaling == KernelScaling::kVariance ? n / centred_trace : 1.0 / centred_trace;
}

absl::Status ZeroDiagonalError(std::string_view what, Index row, double value) {
  return WithReason(absl::InvalidArgumentError(absl::StrCat(
                        std::string(what), " ", row + 1, ": the kernel of the row with itself is ",
                        value, ", must be > 0 for a unit diagonal")),
                    "ZERO_DIAGONAL", {{"row", absl::StrCat(row + 1)}});
}

absl::Status NormalizeUnitDiagonal(MatrixRef gram, MatrixRef gram_test, ConstVectorRef self_test) {
  const Vector self = gram.diagonal();
  for (Index i = 0; i < self.size(); ++i) {
    if (!(self(i) > 0)) {
      return ZeroDiagonalError("training row", i, self(i));
    }
  }
  for (Index t = 0; t < self_test.size(); ++t) {
    if (!(self_test(t) > 0)) {
      return ZeroDiagonalError("test row", t, self_test(t));
    }
  }
  for (Index j = 0; j < gram.cols(); ++j) {
    for (Index i = 0; i < gram.rows(); ++i) {
      gram(i, j) /= std::sqrt(self(i) * self(j));
    }
    for (Index t = 0; t < gram_test.rows(); ++t) {
      gram_test(t, j) /= std::sqrt(self_test(t) * self(j));
    }
  }
  return absl::OkStatus();
}

void CentreGram(MatrixRef gram, MatrixRef gram_test) {
  const Eigen::RowVectorXd column_means = gram.colwise().mean();
  const double mean = column_means.mean();
  if (gram_test.rows() > 0) {
    const Vector test_means = gram_test.rowwise().mean();
    gram_test.colwise() -= test_means;
    gram_test.rowwise() -= column_means;
    gram_test.array() += mean;
  }
  const Vector row_means = column_means.transpose();
  gram.colwise() -= row_means;
  gram.rowwise() -= column_means;
  gram.array() += mean;
}

}  // namespace mercer
