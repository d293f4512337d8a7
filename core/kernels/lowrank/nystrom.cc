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
  NystromFeatures features({WithoutSquares(*landmarks.data), landmarks.rows, landmarks.of_kernel},
                           std::move(kernels));
  features.first_.push_back(0);
  MERCER_RETURN_IF_ERROR(features.MakeCross(context));
  if (landmarks.shared()) {
    MERCER_RETURN_IF_ERROR(features.AddMaps(features.cross_[0], *landmarks.data, options, context));
    return features;
  }
  for (size_t k = 0; k < features.cross_.size(); ++k) {
    // Kept once, and no longer than these features.
    features.landmarks_.of_kernel[k].map.reset();
    const std::shared_ptr<const Matrix>& given = landmarks.of_kernel[k].map;
    if (given != nullptr) {
      features.AddMap(given);
    } else {
      MERCER_RETURN_IF_ERROR(
          features.AddMaps(features.cross_[k], *landmarks.Of(k).data, options, context));
    }
  }
  return features;
}

void NystromFeatures::AddMap(std::shared_ptr<const Matrix> map) {
  first_.push_back(first_.back() + map->cols());
  maps_.push_back(std::move(map));
}

// Adds the maps of the next kernels, which are those of `cross`, on the same landmarks.
absl::Status NystromFeatures::AddMaps(const CrossKernels& cross, const PreparedData& landmarks,
                                      const NystromOptions& options, RunContext& context) {
  MERCER_ASSIGN_OR_RETURN(const BoundCrossKernels bound, cross.Bind(landmarks, context));
  const Index count = landmarks.rows;
  const size_t first = maps_.size();
  const Index num_kernels = shared() ? static_cast<Index>(kernels_.size()) : 1;
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
  MERCER_RETURN_IF_ERROR(context.CheckCancelled());
  for (size_t i = 0; i < whitenings.size(); ++i) {
    MERCER_ASSIGN_OR_RETURN(Whitening whitening, std::move(whitenings[i]));
    const size_t k = first + i;
    if (!whitening.finite) {
      return NotPsd(k, kernels_[k], "it has values or eigenvalues that are not finite");
    }
    if (whitening.negative < 0) {
      return NotPsd(k, kernels_[k], absl::StrCat("it has the eigenvalue ", whitening.negative));
    }
    AddMap(std::make_shared<const Matrix>(std::move(whitening.map)));
  }
  return absl::OkStatus();
}

absl::Status NystromFeatures::MakeCross(const RunContext& context) {
  if (shared()) {
    MERCER_ASSIGN_OR_RETURN(CrossKernels cross, CrossKernels::Make(landmarks_.data, kernels_,
                                                                   landmarks_.rows, context));
    cross_.push_back(std::move(cross));
    return absl::OkStatus();
  }
  for (size_t k = 0; k < kernels_.size(); ++k) {
    Landmarks own = landmarks_.Of(k);
    MERCER_ASSIGN_OR_RETURN(
        CrossKernels cross,
        CrossKernels::Make(std::move(own.data), {kernels_[k]}, std::move(own.rows), context));
    cross_.push_back(std::move(cross));
  }
  return absl::OkStatus();
}

absl::StatusOr<NystromFeatures::Bound> NystromFeatures::Bind(const PreparedData& x,
                                                             RunContext& context) const {
  Bound bound;
  for (const CrossKernels& cross : cross_) {
    MERCER_ASSIGN_OR_RETURN(BoundCrossKernels of_cross, cross.Bind(x, context));
    bound.push_back(std::move(of_cross));
  }
  return bound;
}

NystromFeatures NystromFeatures::Select(const std::vector<Index>& chosen,
                                        const Vector& scales) const {
  NystromFeatures selected(landmarks_, kernels_);
  selected.cross_ = cross_;
  selected.first_.push_back(0);
  auto next = chosen.begin();
  for (Index k = 0; k < num_kernels(); ++k) {
    std::vector<Index> columns;
    for (; next != chosen.end() && *next < first_feature(k + 1); ++next) {
      columns.push_back(*next - first_feature(k));
    }
    selected.AddMap(std::make_shared<const Matrix>(scales(k) * map(k)(Eigen::all, columns)));
  }
  return selected;
}

absl::StatusOr<Matrix> NystromFeatures::EvaluateAll(const PreparedData& x,
                                                    RunContext& context) const {
  MERCER_ASSIGN_OR_RETURN(const Bound bound, Bind(x, context));
  Matrix values(num_features(), x.rows);
  context.parallel().ForBlocks(x.rows, kEvaluatedRows, [&](Index begin, Index end) {
    if (!context.cancelled()) {
      Evaluate(bound, begin, end, values.middleCols(begin, end - begin), context);
    }
  });
  MERCER_RETURN_IF_ERROR(context.CheckCancelled());
  return values;
}

void NystromFeatures::ForEachKernel(
    const Bound& x, Index begin, Index end, const RunContext& context,
    const std::function<void(Index k, const CrossValues& values)>& visit) const {
  for (size_t first = 0; first < x.size() && !context.cancelled(); ++first) {
    x[first].ForEachKernel(begin, end, context, [&](Index i, const double* values) {
      const Index k = static_cast<Index>(first) + i;
      visit(k, CrossValues(values, map(k).rows(), end - begin,
                           Eigen::OuterStride<>(x[first].stride())));
    });
  }
}

void NystromFeatures::Evaluate(const Bound& x, Index begin, Index end, MatrixRef out,
                               const RunContext& context) const {
  ForEachKernel(x, begin, end, context, [&](Index k, const CrossValues& values) {
    EvaluateKernel(k, values, out, context);
  });
}

void NystromFeatures::EvaluateKernel(Index k, const CrossValues& values, MatrixRef out,
                                     const RunContext& context) const {
  if (map(k).cols() > 0) {
    TransposedProductOfTask(map(k), values, out.middleRows(first_feature(k), map(k).cols()),
                            context);
  }
}

}  // namespace mercer
