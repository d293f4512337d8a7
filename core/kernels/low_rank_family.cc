#include "core/kernels/low_rank_family.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <numeric>
#include <utility>

#include <cblas.h>

#include "core/base/byte_count.h"
#include "core/base/errors.h"
#include "core/base/status_macros.h"
#include "core/kernels/kernel_errors.h"
#include "core/kernels/low_rank_operator.h"
#include "core/kernels/matrix_products.h"
#include "core/kernels/normalization.h"

namespace mercer {
namespace {

// Rows per task: their features are about 10 MB, and their product with the basis takes up to 40 ms.
constexpr Index kFilledRows = 256;

std::vector<Index> AllIfEmpty(absl::Span<const Index> indices, Index count) {
  if (!indices.empty()) {
    return {indices.begin(), indices.end()};
  }
  std::vector<Index> all(static_cast<size_t>(count));
  std::iota(all.begin(), all.end(), Index{0});
  return all;
}

}  // namespace

absl::StatusOr<std::unique_ptr<LowRankKernelFamily>> LowRankKernelFamily::Make(
    const PreparedData& inputs, const Landmarks& landmarks, std::vector<KernelSpec> kernels,
    const LowRankOptions& options, RunContext& context) {
  MERCER_ASSIGN_OR_RETURN(
      NystromFeatures features,
      NystromFeatures::Make(landmarks, std::move(kernels), options.nystrom, context));
  MERCER_ASSIGN_OR_RETURN(JointBasis basis,
                          FindJointBasis(features, inputs, options.basis, context));
  auto family = std::unique_ptr<LowRankKernelFamily>(
      new LowRankKernelFamily(std::move(features), std::move(basis)));
  MERCER_RETURN_IF_ERROR(family->Fill(inputs, context));
  MERCER_RETURN_IF_ERROR(family->SetScales(context));
  return family;
}

// Q = V S L, block of rows by block of rows; V is never stored.
absl::Status LowRankKernelFamily::Fill(const PreparedData& inputs, RunContext& context) {
  MERCER_ASSIGN_OR_RETURN(const BoundCrossKernels bound, features_.Bind(inputs, context));
  const Index rank = basis_.reduce.cols();
  rows_ = std::make_shared<FactorRows>(inputs.rows, rank);
  const Index blocks = (inputs.rows + kFilledRows - 1) / kFilledRows;
  // Squared norms, what is dropped of them, the largest norm of Q, and the number (from 1) of a kernel that is not finite.
  Matrix sums = Matrix::Zero(4, blocks);
  std::atomic<Index> finished = 0;
  context.parallel().ForBlocks(inputs.rows, kFilledRows, [&](Index begin, Index end) {
    if (context.cancelled()) {
      return;
    }
    Matrix features(features_.num_features(), end - begin);
    features_.Evaluate(bound, begin, end, features, context);
    Matrix reduced = Matrix::Zero(rank, end - begin);
    if (rank > 0) {
      cblas_dgemm(CblasColMajor, CblasTrans, CblasNoTrans, static_cast<blasint>(rank),
                  static_cast<blasint>(end - begin), static_cast<blasint>(features.rows()), 1.0,
                  basis_.reduce.data(), static_cast<blasint>(features.rows()), features.data(),
                  static_cast<blasint>(features.rows()), 0.0, reduced.data(),
                  static_cast<blasint>(rank));
    }
    auto of_block = sums.col(begin / kFilledRows);
    for (Index r = 0; r < end - begin; ++r) {
      double norm = 0;
      for (Index k = 0; k < num_kernels(); ++k) {
        const double of_kernel =
            features.col(r).segment(features_.first_feature(k), BlockSize(k)).squaredNorm();
        if (!std::isfinite(of_kernel)) {
          of_block(3) = static_cast<double>(k + 1);
        }
        norm += basis_.scales(k) * basis_.scales(k) * of_kernel;
      }
      const double kept = reduced.col(r).squaredNorm();
      of_block(0) += norm;
      of_block(1) += std::max(0.0, norm - kept);
      of_block(2) = std::max(of_block(2), std::sqrt(kept));
      Eigen::Map<Eigen::VectorXf>(rows_->row(begin + r), rank) = reduced.col(r).cast<float>();
    }
    context.ReportStage("factor", static_cast<double>(++finished) / static_cast<double>(blocks));
  });
  MERCER_RETURN_IF_ERROR(context.CheckCancelled());
  if (sums.row(3).maxCoeff() > 0) {
    return NameKernel(
        static_cast<size_t>(sums.row(3).maxCoeff()) - 1,
        WithReason(absl::InvalidArgumentError("the kernel of a row with itself is not "
                                              "finite: not positive semidefinite"),
                   "NOT_PSD"));
  }
  dropped_share_ = sums.row(1).sum() / std::max(sums.row(0).sum(), 1e-300);
  largest_norm_ = sums.row(2).maxCoeff();
  return absl::OkStatus();
}

absl::Status LowRankKernelFamily::SetScales(RunContext& context) {
  scales_ = Vector::Ones(num_kernels());
  const std::vector<KernelSpec>& kernels = features_.kernels();
  const bool scaled = std::any_of(kernels.begin(), kernels.end(), [](const KernelSpec& spec) {
    return spec.normalization.scaling != KernelScaling::kNone;
  });
  if (!scaled) {
    return absl::OkStatus();
  }
  const std::vector<Index> all = AllIfEmpty({}, size());
  Matrix gram = Matrix::Zero(joint_rank(), joint_rank());
  MERCER_RETURN_IF_ERROR(rows_->AddGram(all, Vector::Ones(size()), 1.0, gram, context));
  gram = Matrix(gram.selfadjointView<Eigen::Lower>());
  Vector total(joint_rank());
  MERCER_RETURN_IF_ERROR(rows_->MultiplyTransposed(Vector::Ones(size()), total, context));
  for (Index k = 0; k < num_kernels(); ++k) {
    MERCER_RETURN_IF_ERROR(context.CheckCancelled());
    auto block = basis_.restore.middleRows(features_.first_feature(k), BlockSize(k));
    const GramSums sums{size(), (block * gram).cwiseProduct(block).sum(),
                        (block * total).squaredNorm()};
    const absl::StatusOr<double> factor =
        ScalingFactor(kernels[static_cast<size_t>(k)].normalization.scaling, sums);
    if (!factor.ok()) {
      return NameKernel(static_cast<size_t>(k), factor.status());
    }
    scales_(k) = *factor;
    block *= std::sqrt(*factor);
  }
  return absl::OkStatus();
}

absl::Status LowRankKernelFamily::QuadraticForms(ConstMatrixRef a, absl::Span<const Index> kernels,
                                                 MatrixRef out, RunContext& context) const {
  const std::vector<Index> chosen = AllIfEmpty(kernels, num_kernels());
  Vector reduced(joint_rank());
  for (Index j = 0; j < a.cols(); ++j) {
    MERCER_RETURN_IF_ERROR(rows_->MultiplyTransposed(a.col(j), reduced, context));
    for (size_t i = 0; i < chosen.size(); ++i) {
      const Index k = chosen[i];
      out(static_cast<Index>(i), j) =
          (basis_.restore.middleRows(features_.first_feature(k), BlockSize(k)) * reduced)
              .squaredNorm();
    }
  }
  return context.CheckCancelled();
}

absl::Status LowRankKernelFamily::Products(ConstVectorRef a, absl::Span<const Index> kernels,
                                           absl::Span<const Index> rows, MatrixRef out,
                                           RunContext& context) const {
  const std::vector<Index> chosen = AllIfEmpty(kernels, num_kernels());
  const std::vector<Index> wanted = AllIfEmpty(rows, size());
  Vector reduced(joint_rank());
  MERCER_RETURN_IF_ERROR(rows_->MultiplyTransposed(a, reduced, context));
  for (size_t i = 0; i < chosen.size(); ++i) {
    const Index k = chosen[i];
    const auto block = basis_.restore.middleRows(features_.first_feature(k), BlockSize(k));
    const Vector coefficients = block.transpose() * (block * reduced);
    MERCER_RETURN_IF_ERROR(
        rows_->MultiplyRows(wanted, coefficients, out.col(static_cast<Index>(i)), context));
  }
  return absl::OkStatus();
}

absl::StatusOr<Vector> LowRankKernelFamily::CombinedCoefficients(ConstVectorRef weights,
                                                                 ConstVectorRef a,
                                                                 RunContext& context) const {
  Vector reduced(joint_rank());
  MERCER_RETURN_IF_ERROR(rows_->MultiplyTransposed(a, reduced, context));
  Vector restored = basis_.restore * reduced;
  for (Index k = 0; k < num_kernels(); ++k) {
    restored.segment(features_.first_feature(k), BlockSize(k)) *= weights(k);
  }
  return Vector(basis_.restore.transpose() * restored);
}

absl::Status LowRankKernelFamily::CombinedProduct(ConstVectorRef weights, ConstMatrixRef a,
                                                  MatrixRef out, RunContext& context) const {
  for (Index j = 0; j < a.cols(); ++j) {
    MERCER_ASSIGN_OR_RETURN(const Vector coefficients,
                            CombinedCoefficients(weights, a.col(j), context));
    MERCER_RETURN_IF_ERROR(rows_->Multiply(coefficients, out.col(j), context));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<KernelOperator>> LowRankKernelFamily::Combine(
    ConstVectorRef weights, RunContext& context) const {
  Matrix weighted = basis_.restore;
  FactorBlocks blocks{&basis_.restore, {}};
  for (Index k = 0; k < num_kernels(); ++k) {
    weighted.middleRows(features_.first_feature(k), BlockSize(k)) *= weights(k);
    if (weights(k) > 0 && BlockSize(k) > 0) {
      blocks.blocks.push_back({features_.first_feature(k), BlockSize(k), std::sqrt(weights(k))});
    }
  }
  Matrix metric(joint_rank(), joint_rank());
  MERCER_RETURN_IF_ERROR(TransposedProduct(basis_.restore, weighted, metric, context));
  return LowRankOperator::Make(rows_, std::move(metric), context, std::move(blocks));
}

absl::Status LowRankKernelFamily::Diagonals(absl::Span<const Index> kernels, MatrixRef out,
                                            RunContext& context) const {
  const std::vector<Index> chosen = AllIfEmpty(kernels, num_kernels());
  context.parallel().ForBlocks(size(), kFilledRows, [&](Index begin, Index end) {
    for (Index i = begin; i < end && !context.cancelled(); ++i) {
      const Vector row =
          Eigen::Map<const Eigen::VectorXf>(rows_->row(i), joint_rank()).cast<double>();
      for (size_t j = 0; j < chosen.size(); ++j) {
        const Index k = chosen[j];
        out(i, static_cast<Index>(j)) =
            (basis_.restore.middleRows(features_.first_feature(k), BlockSize(k)) * row)
                .squaredNorm();
      }
    }
  });
  return context.CheckCancelled();
}

absl::StatusOr<Matrix> LowRankKernelFamily::LandmarkCoefficients(ConstVectorRef weights,
                                                                 ConstVectorRef dual,
                                                                 RunContext& context) const {
  MERCER_ASSIGN_OR_RETURN(const Vector coefficients, CombinedCoefficients(weights, dual, context));
  Matrix result = Matrix::Zero(features_.num_landmarks(), num_kernels());
  for (Index k = 0; k < num_kernels(); ++k) {
    result.col(k) =
        features_.map(k) *
        (basis_.reduce.middleRows(features_.first_feature(k), BlockSize(k)) * coefficients);
  }
  return result;
}

absl::StatusOr<double> LowRankKernelFamily::FunctionScale(ConstVectorRef weights,
                                                          ConstVectorRef dual,
                                                          RunContext& context) const {
  MERCER_ASSIGN_OR_RETURN(const Vector coefficients, CombinedCoefficients(weights, dual, context));
  return largest_norm_ * coefficients.norm();
}

size_t LowRankFamilyBytes(const LowRankShape& shape) {
  constexpr Index kSampleRows = 3000;
  constexpr Index kPanel = 128;
  const ByteCount features = ByteCount(shape.kernels) * ByteCount(shape.of_kernel);
  const ByteCount rank(shape.max_columns);
  const ByteCount values =
      ByteCount(shape.kernels) * ByteCount(shape.landmarks) * ByteCount(2 * shape.landmarks);
  // The features of the sampled rows, and their products with the basis and with a panel; an allocator may keep what was freed.
  const ByteCount sampling =
      values + (features + rank + ByteCount(kPanel)) * ByteCount(std::min(shape.rows, kSampleRows));
  // Weighted copies for a combination.
  const ByteCount combining = features * rank + ByteCount(3) * rank * rank;
  return (ByteCount(LowRankFamilyKeptBytes(shape)) +
          ByteCount(sizeof(double)) * std::max(sampling, combining))
      .value();
}

size_t LowRankFamilyKeptBytes(const LowRankShape& shape) {
  constexpr Index kPadding = 16;  // of a row
  const ByteCount features = ByteCount(shape.kernels) * ByteCount(shape.of_kernel);
  const ByteCount rank(shape.max_columns);
  const ByteCount maps = features * ByteCount(shape.landmarks);
  return (ByteCount(shape.rows) * (rank + ByteCount(kPadding)) * ByteCount(sizeof(float)) +
          ByteCount(sizeof(double)) * (maps + ByteCount(2) * features * rank + rank * rank))
      .value();
}

}  // namespace mercer
