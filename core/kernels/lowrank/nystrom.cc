#include "core/kernels/lowrank/nystrom.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <string_view>
#include <utility>

#include "absl/strings/str_cat.h"

#include "core/base/process/paced_check.h"
#include "core/base/status/errors.h"
#include "core/base/status/status_macros.h"
#include "core/kernels/spec/kernel_errors.h"
#include "core/linalg/matrix_products.h"
#include "core/linalg/symmetric_eigen.h"

namespace mercer {
namespace {

constexpr Index kEvaluatedRows = 128;  // per task
// An eigenvalue below 0 by this share of the largest magnitude is no rounding.
constexpr double kNegativeEigenvalue = 1e-8;

absl::Status NotPsd(size_t kernel, const KernelSpec& spec, std::string_view why) {
  return NameKernel(kernel, spec,
                    WithReason(absl::InvalidArgumentError(absl::StrCat(
                                   "the matrix is not positive semidefinite: among the landmarks ",
                                   std::string(why))),
                               "NOT_PSD"));
}

// The matrix M of one kernel, or why there is none: `map` has no columns when W is zero, when it is
// not positive semidefinite (then `negative` < 0), and when it is not finite.
struct Whitening {
  Matrix map;
  double negative = 0;  // an eigenvalue that rounding cannot explain, or 0
  bool finite = true;   // all values of W
};

// The lower triangle of W: each entry is the mean of two values that differ by rounding.
absl::StatusOr<Matrix> Symmetrized(const ConstMatrixRef& values, const RunContext& context) {
  const Index count = values.rows();
  PacedCheck check(context);
  Matrix gram(count, count);
  for (Index j = 0; j < count; ++j) {
    MERCER_RETURN_IF_ERROR(check.After(count));
    gram.col(j).tail(count - j) =
        0.5 * (values.col(j).tail(count - j) + values.row(j).tail(count - j).transpose());
  }
  return gram;
}

absl::StatusOr<bool> IsFinite(const Matrix& lower, const RunContext& context) {
  PacedCheck check(context);
  bool finite = true;
  for (Index j = 0; j < lower.cols() && finite; ++j) {
    finite = lower.col(j).tail(lower.rows() - j).allFinite();
    MERCER_RETURN_IF_ERROR(check.After(lower.rows()));
  }
  return finite;
}

absl::StatusOr<Whitening> Whiten(const ConstMatrixRef& kernel, const NystromOptions& options,
                                 const RunContext& context) {
  const Index count = kernel.rows();
  MERCER_ASSIGN_OR_RETURN(Matrix gram, Symmetrized(kernel, context));
  MERCER_ASSIGN_OR_RETURN(const bool finite, IsFinite(gram, context));
  if (!finite) {
    return Whitening{Matrix(count, 0), 0, false};
  }
  MERCER_ASSIGN_OR_RETURN(const SymmetricEigen eigen,
                          SymmetricEigen::Make(std::move(gram), context));
  const Vector& values = eigen.values();
  if (!values.allFinite()) {
    return Whitening{Matrix(count, 0), 0, false};
  }
  const double largest = values.cwiseAbs().maxCoeff();
  // Below the smallest normal number, eigenvalues have lost their digits: the kernel counts as
  // zero.
  if (!(largest >= std::numeric_limits<double>::min())) {
    return Whitening{Matrix(count, 0), 0, true};
  }
  if (values(0) < -kNegativeEigenvalue * largest) {
    return Whitening{Matrix(count, 0), values(0), true};
  }
  const double least =
      options.eigenvalue_threshold * static_cast<double>(count) * values(count - 1);
  const Index most = options.max_rank > 0 ? std::min(options.max_rank, count) : count;
  Index rank = 0;
  while (rank < most && (rank == 0 || values(count - 1 - rank) > least)) {
    ++rank;
  }
  Whitening result;
  MERCER_ASSIGN_OR_RETURN(result.map, eigen.Largest(rank, context));
  for (Index j = 0; j < rank; ++j) {
    result.map.col(j) /= std::sqrt(values(count - 1 - j));
  }
  return result;
}

// A basis for cross kernels: landmarks without their square blocks.
std::shared_ptr<const PreparedData> WithoutSquares(const PreparedData& landmarks) {
  auto basis = std::make_shared<PreparedData>(landmarks);
  basis->squares.clear();
  return basis;
}

}  // namespace

absl::StatusOr<NystromFeatures> NystromFeatures::Make(const Landmarks& landmarks,
                                                      std::vector<KernelSpec> kernels,
                                                      const NystromOptions& options,
                                                      RunContext& context) {
  NystromFeatures features({WithoutSquares(*landmarks.data), landmarks.rows}, std::move(kernels));
  MERCER_RETURN_IF_ERROR(features.MakeCross(context));
  MERCER_ASSIGN_OR_RETURN(const BoundCrossKernels bound, features.Bind(*landmarks.data, context));
  const Index count = landmarks.data->rows;
  const auto num_kernels = static_cast<Index>(features.kernels_.size());
  Vector values(num_kernels * count * bound.stride());
  bound.Values(0, count, values.data(), context);
  MERCER_RETURN_IF_ERROR(context.CheckCancelled());
  std::vector<absl::StatusOr<Whitening>> whitenings(static_cast<size_t>(num_kernels));
  context.parallel().ForBlocks(num_kernels, 1, [&](Index k, Index) {
    const Eigen::Map<const Matrix, 0, Eigen::OuterStride<>> kernel(
        values.data() + k * count * bound.stride(), count, count,
        Eigen::OuterStride<>(bound.stride()));
    whitenings[static_cast<size_t>(k)] = Whiten(kernel, options, context);
  });
  features.first_.push_back(0);
  MERCER_RETURN_IF_ERROR(context.CheckCancelled());
  for (size_t k = 0; k < whitenings.size(); ++k) {
    MERCER_ASSIGN_OR_RETURN(Whitening whitening, std::move(whitenings[k]));
    if (!whitening.finite) {
      return NotPsd(k, features.kernels_[k], "it has values or eigenvalues that are not finite");
    }
    if (whitening.negative < 0) {
      return NotPsd(k, features.kernels_[k],
                    absl::StrCat("it has the eigenvalue ", whitening.negative));
    }
    features.first_.push_back(features.first_.back() + whitening.map.cols());
    features.maps_.push_back(std::make_shared<const Matrix>(std::move(whitening.map)));
  }
  return features;
}

absl::Status NystromFeatures::MakeCross(const RunContext& context) {
  MERCER_ASSIGN_OR_RETURN(cross_,
                          CrossKernels::Make(landmarks_.data, kernels_, landmarks_.rows, context));
  return absl::OkStatus();
}

absl::StatusOr<NystromFeatures> NystromFeatures::Select(const std::vector<Index>& kernels,
                                                        const RunContext& context) const {
  NystromFeatures selected(landmarks_, {});
  selected.first_.push_back(0);
  for (const Index k : kernels) {
    selected.kernels_.push_back(kernels_[static_cast<size_t>(k)]);
    selected.maps_.push_back(maps_[static_cast<size_t>(k)]);
    selected.first_.push_back(selected.first_.back() + map(k).cols());
  }
  MERCER_RETURN_IF_ERROR(selected.MakeCross(context));
  return selected;
}

absl::StatusOr<Matrix> NystromFeatures::EvaluateAll(const PreparedData& x,
                                                    RunContext& context) const {
  MERCER_ASSIGN_OR_RETURN(const BoundCrossKernels bound, Bind(x, context));
  Matrix values(num_features(), x.rows);
  context.parallel().ForBlocks(x.rows, kEvaluatedRows, [&](Index begin, Index end) {
    if (!context.cancelled()) {
      Evaluate(bound, begin, end, values.middleCols(begin, end - begin), context);
    }
  });
  MERCER_RETURN_IF_ERROR(context.CheckCancelled());
  return values;
}

void NystromFeatures::Evaluate(const BoundCrossKernels& x, Index begin, Index end, MatrixRef out,
                               const RunContext& context) const {
  const Index rows = end - begin;
  std::vector<double> values(static_cast<size_t>(num_kernels() * rows * x.stride()));
  x.Values(begin, end, values.data(), context);
  for (Index k = 0; k < num_kernels() && !context.cancelled(); ++k) {
    const Matrix& whitening = map(k);
    if (whitening.cols() > 0) {
      const Eigen::Map<const Matrix, 0, Eigen::OuterStride<>> kernel(
          values.data() + k * rows * x.stride(), whitening.rows(), rows,
          Eigen::OuterStride<>(x.stride()));
      TransposedProductOfTask(whitening, kernel, out.middleRows(first_feature(k), whitening.cols()),
                              context);
    }
  }
}

}  // namespace mercer
