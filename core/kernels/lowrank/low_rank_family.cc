#include "core/kernels/lowrank/low_rank_family.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <optional>
#include <utility>

#include "core/base/numeric/index_range.h"
#include "core/base/process/paced_check.h"
#include "core/base/status/byte_count.h"
#include "core/base/status/errors.h"
#include "core/base/status/status_macros.h"
#include "core/kernels/lowrank/low_rank_operator.h"
#include "core/kernels/lowrank/representative_kernels.h"
#include "core/kernels/spec/kernel_errors.h"
#include "core/kernels/spec/normalization.h"
#include "core/linalg/matrix_products.h"

namespace mercer {
namespace {

// How many rows a task has: their features are about 10 MB.
constexpr Index kFilledRows = 256;
// The longest row of a kernel's features, scaled to a mean squared norm of 1, so that rows of
// 100'000 kernels are within the range of single precision.
constexpr double kLongestRow = 1e35;
// Beyond it a kernel of a row with itself is not finite.
constexpr double kLongestFeatures = 1e154;
// What is found of a block of rows.
struct BlockSums {
  double lost = 0;          // of the squared norms of a kernel's scaled features
  double largest_norm = 0;  // of a row of the factor
  Index out_of_range = 0;   // the number, from 1, of a kernel that is, or 0
};

// `kernels`: all of the family, of which `out_of_range` numbers one from 1.
absl::Status CheckRange(Index out_of_range, const std::vector<KernelSpec>& kernels) {
  if (out_of_range == 0) {
    return absl::OkStatus();
  }
  const size_t kernel = static_cast<size_t>(out_of_range) - 1;
  return NameKernel(
      kernel, kernels[kernel],
      WithReason(absl::InvalidArgumentError(
                     "the kernel of a row with itself is not finite, or more than 1e70 times that "
                     "of others: not positive semidefinite in single precision"),
                 "NOT_PSD"));
}

std::vector<Index> AllIfEmpty(absl::Span<const Index> indices, Index count) {
  if (!indices.empty()) {
    return {indices.begin(), indices.end()};
  }
  return IndexRange(0, count);
}

}  // namespace

absl::StatusOr<std::unique_ptr<LowRankKernelFamily>> LowRankKernelFamily::Make(
    const PreparedData& inputs, const Landmarks& landmarks, std::vector<KernelSpec> kernels,
    const LowRankOptions& options, RunContext& context) {
  MERCER_ASSIGN_OR_RETURN(
      NystromFeatures features,
      NystromFeatures::Make(landmarks, std::move(kernels), options.nystrom, context));
  // Kernels follow from their neighbours' features where these are about the same landmarks.
  std::vector<Index> preferred = IndexRange(0, features.num_kernels());
  if (landmarks.shared()) {
    MERCER_ASSIGN_OR_RETURN(preferred, RepresentativeKernels(features.kernels(), inputs,
                                                             options.basis.tolerance, context));
  }
  MERCER_ASSIGN_OR_RETURN(JointBasis basis,
                          FindJointBasis(features, preferred, inputs, options.basis, context));
  for (Index k = 0; k < features.num_kernels(); ++k) {
    MERCER_RETURN_IF_ERROR(CheckRange(std::isnan(basis.scales(k)) ? k + 1 : 0, features.kernels()));
  }
  auto family = std::unique_ptr<LowRankKernelFamily>(
      new LowRankKernelFamily(features.Select(basis.features, basis.scales)));
  for (Index k = 0; k <= features.num_kernels(); ++k) {
    family->first_feature_.push_back(features.first_feature(k));
  }
  std::optional<FitProbes> probes;
  if (static_cast<Index>(basis.sampled.size()) < inputs.rows) {
    MERCER_ASSIGN_OR_RETURN(probes, FitProbes::Make(features, basis.restore, basis.scales,
                                                    options.basis.seed, context));
  }
  family->dropped_share_ = basis.left_out;
  MERCER_RETURN_IF_ERROR(
      family->Fill(inputs, basis.scales, probes.has_value() ? &*probes : nullptr, context));
  MERCER_RETURN_IF_ERROR(family->SetScales(basis.restore, context));
  family->restore_ = std::make_shared<const Matrix>(std::move(basis.restore));
  return family;
}

absl::StatusOr<std::unique_ptr<LowRankKernelFamily>> LowRankKernelFamily::OnRows(
    absl::Span<const Index> rows, RunContext& context) const {
  auto some = std::unique_ptr<LowRankKernelFamily>(new LowRankKernelFamily(*this));
  MERCER_ASSIGN_OR_RETURN(FactorRows selected, rows_->Select(rows, context));
  some->rows_ = std::make_shared<FactorRows>(std::move(selected));
  return some;
}

std::vector<Index> LowRankKernelFamily::basis_kernels() const {
  std::vector<Index> kernels;
  for (Index k = 0; k < num_kernels(); ++k) {
    if (features_.map(k).cols() > 0) {
      kernels.push_back(k);
    }
  }
  return kernels;
}

// Computes Q, the chosen features, block of rows by block of rows.
absl::Status LowRankKernelFamily::Fill(const PreparedData& inputs, const Vector& scales,
                                       const FitProbes* probes, RunContext& context) {
  MERCER_ASSIGN_OR_RETURN(const NystromFeatures::Bound bound, features_.Bind(inputs, context));
  rows_ = std::make_shared<FactorRows>(inputs.rows, features_.num_features());
  const Index blocks = (inputs.rows + kFilledRows - 1) / kFilledRows;
  std::vector<BlockSums> sums(static_cast<size_t>(blocks));
  std::atomic<Index> finished = 0;
  context.parallel().ForBlocks(inputs.rows, kFilledRows, [&](Index begin, Index end) {
    if (context.cancelled()) {
      return;
    }
    BlockSums& of_block = sums[static_cast<size_t>(begin / kFilledRows)];
    Matrix joint(joint_rank(), end - begin);
    Matrix probed = FitProbes::Start(end - begin);
    features_.ForEachKernel(bound, begin, end, context, [&](Index k, const CrossValues& values) {
      features_.EvaluateKernel(k, values, joint, context);
      const auto of_kernel =
          joint.middleRows(features_.first_feature(k), features_.map(k).cols()).colwise().norm();
      const double longest = std::min(kLongestRow, scales(k) * kLongestFeatures);
      const bool in_range =
          features_.map(k).cols() > 0 ? (of_kernel.array() <= longest).all() : values.allFinite();
      if (!in_range) {
        of_block.out_of_range = k + 1;
      }
      if (probes != nullptr) {
        probes->AddKernel(k, values, probed, context);
      }
    });
    if (context.cancelled()) {
      return;
    }
    for (Index r = 0; r < end - begin; ++r) {
      rows_->SetRow(begin + r, joint.col(r));
    }
    of_block.largest_norm = std::sqrt(joint.colwise().squaredNorm().maxCoeff());
    of_block.lost = probes != nullptr ? probes->LostEnergy(joint, std::move(probed), context) : 0;
    context.ReportStage("factor", static_cast<double>(++finished) / static_cast<double>(blocks));
  });
  MERCER_RETURN_IF_ERROR(context.CheckCancelled());
  BlockSums all;
  for (const BlockSums& of_block : sums) {
    MERCER_RETURN_IF_ERROR(CheckRange(of_block.out_of_range, features_.kernels()));
    all.lost += of_block.lost;
    all.largest_norm = std::max(all.largest_norm, of_block.largest_norm);
  }
  largest_norm_ = all.largest_norm;
  if (probes != nullptr) {
    dropped_share_ = all.lost / static_cast<double>(inputs.rows);
  }
  return absl::OkStatus();
}

// The factors of the kernels' normalisations, from the sums of the approximated kernels: with the
// Gram matrix Q'Q and the sums Q'1, tr K_k = tr L_k Q'Q L_k' and 1'K_k 1 = |L_k Q'1|^2. The factor
// goes into L_k.
absl::Status LowRankKernelFamily::SetScales(Matrix& restore, RunContext& context) {
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
    auto block = restore.middleRows(first_feature_[static_cast<size_t>(k)], BlockSize(k));
    Matrix product = Matrix::Zero(block.rows(), gram.cols());
    MERCER_RETURN_IF_ERROR(AddProduct(1.0, block, gram, product, context));
    const GramSums sums{size(), product.cwiseProduct(block).sum(), (block * total).squaredNorm()};
    const KernelSpec& spec = kernels[static_cast<size_t>(k)];
    const absl::StatusOr<double> factor = ScalingFactor(spec.normalization.scaling, sums);
    if (!factor.ok()) {
      return NameKernel(static_cast<size_t>(k), spec, factor.status());
    }
    scales_(k) = *factor;
    block *= std::sqrt(*factor);
  }
  return absl::OkStatus();
}

// a'K_k a = |L_k Q'a|^2: one pass over the rows for all kernels, and norms, which cannot be
// negative.
absl::Status LowRankKernelFamily::QuadraticForms(ConstMatrixRef a, absl::Span<const Index> kernels,
                                                 MatrixRef out, RunContext& context) const {
  const std::vector<Index> chosen = AllIfEmpty(kernels, num_kernels());
  Vector reduced(joint_rank());
  PacedCheck check(context);
  for (Index j = 0; j < a.cols(); ++j) {
    MERCER_RETURN_IF_ERROR(rows_->MultiplyTransposed(a.col(j), reduced, context));
    for (size_t i = 0; i < chosen.size(); ++i) {
      const Index k = chosen[i];
      MERCER_RETURN_IF_ERROR(check.After(Restore(k).size()));
      out(static_cast<Index>(i), j) = (Restore(k) * reduced).squaredNorm();
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
    const Vector coefficients = Restore(k).transpose() * (Restore(k) * reduced);
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
  Vector coefficients = Vector::Zero(joint_rank());
  PacedCheck check(context);
  for (Index k = 0; k < num_kernels(); ++k) {
    if (weights(k) != 0) {
      MERCER_RETURN_IF_ERROR(check.After(2 * Restore(k).size()));
      const Vector restored = weights(k) * (Restore(k) * reduced);
      coefficients.noalias() += Restore(k).transpose() * restored;
    }
  }
  return coefficients;
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
  Matrix weighted(restore_->rows(), restore_->cols());
  FactorBlocks blocks{restore_.get(), {}};
  PacedCheck check(context);
  for (Index k = 0; k < num_kernels(); ++k) {
    MERCER_RETURN_IF_ERROR(check.After(Restore(k).size()));
    const Index first = first_feature_[static_cast<size_t>(k)];
    weighted.middleRows(first, BlockSize(k)) = weights(k) * Restore(k);
    if (weights(k) > 0 && BlockSize(k) > 0) {
      blocks.blocks.push_back({first, BlockSize(k), std::sqrt(weights(k))});
    }
  }
  Matrix metric(joint_rank(), joint_rank());
  MERCER_RETURN_IF_ERROR(LowerTransposedProduct(*restore_, weighted, metric, context));
  return LowRankOperator::Make(rows_, std::move(metric), context, std::move(blocks));
}

absl::Status LowRankKernelFamily::Diagonals(absl::Span<const Index> kernels, MatrixRef out,
                                            RunContext& context) const {
  const std::vector<Index> chosen = AllIfEmpty(kernels, num_kernels());
  context.parallel().ForBlocks(size(), kFilledRows, [&](Index begin, Index end) {
    PacedCheck check(context);
    for (Index i = begin; i < end && !context.cancelled(); ++i) {
      const Vector row =
          Eigen::Map<const Eigen::VectorXf>(rows_->row(i), joint_rank()).cast<double>();
      for (size_t j = 0; j < chosen.size(); ++j) {
        const Index k = chosen[j];
        if (!check.After(Restore(k).size()).ok()) {
          return;
        }
        out(i, static_cast<Index>(j)) = (Restore(k) * row).squaredNorm();
      }
    }
  });
  return context.CheckCancelled();
}

// The combination as a function on the landmarks. With z = sum_k weights(k) L_k'L_k Q'dual its
// value is q(x)'z, and q(x) has the features M_k'k_k(Z, x) of the joint basis: the coefficients of
// kernel k are M_k times its part of z. Kernels without a feature there have none of their own.
absl::StatusOr<std::vector<Vector>> LowRankKernelFamily::LandmarkCoefficients(
    ConstVectorRef weights, ConstVectorRef dual, RunContext& context) const {
  MERCER_ASSIGN_OR_RETURN(const Vector coefficients, CombinedCoefficients(weights, dual, context));
  std::vector<Vector> result(static_cast<size_t>(num_kernels()));
  PacedCheck check(context);
  for (Index k = 0; k < num_kernels(); ++k) {
    const Matrix& map = features_.map(k);
    MERCER_RETURN_IF_ERROR(check.After(map.size()));
    if (map.cols() > 0) {
      result[static_cast<size_t>(k)] =
          map * coefficients.segment(features_.first_feature(k), map.cols());
    }
  }
  return result;
}

absl::StatusOr<Vector> LowRankKernelFamily::PartNorms(ConstVectorRef y,
                                                      const RunContext& context) const {
  Vector norms(num_kernels());
  PacedCheck check(context);
  for (Index k = 0; k < num_kernels(); ++k) {
    MERCER_RETURN_IF_ERROR(check.After(Restore(k).size()));
    norms(k) = (Restore(k) * y).norm();
  }
  return norms;
}

absl::StatusOr<double> LowRankKernelFamily::FunctionScale(ConstVectorRef weights,
                                                          ConstVectorRef dual,
                                                          RunContext& context) const {
  MERCER_ASSIGN_OR_RETURN(const Vector coefficients, CombinedCoefficients(weights, dual, context));
  return largest_norm_ * coefficients.norm();
}

size_t LowRankFamilyBytes(const LowRankShape& shape) {
  constexpr Index kPanel = 4 * 128;  // with its factorisation
  const ByteCount features = ByteCount(shape.kernels) * ByteCount(shape.of_kernel);
  const ByteCount rank(shape.max_columns);
  const ByteCount landmarks(shape.landmarks);
  // Of kernels with landmarks of their own one after the other has its values among them.
  const bool own = shape.all_landmarks > shape.landmarks;
  const ByteCount values =
      ByteCount(own ? Index{1} : shape.kernels) * landmarks * ByteCount(2) * landmarks;
  // The features of the sampled rows, landmarks among them, and a basis of them and of a panel; an
  // allocator may keep what was freed.
  const ByteCount sample(
      std::min(shape.rows, JointSampleRows(shape.max_columns) + shape.all_landmarks));
  const ByteCount sampling = values + (features + rank + ByteCount(kPanel)) * sample;
  // What the fit, and a combination, take: a copy of the L_k, and matrices of order r.
  const ByteCount combining = features * rank + ByteCount(3) * rank * rank;
  return (ByteCount(LowRankFamilyKeptBytes(shape)) +
          ByteCount(sizeof(double)) * (features * landmarks + std::max(sampling, combining)))
      .value();
}

size_t LowRankFamilyKeptBytes(const LowRankShape& shape) {
  constexpr Index kPadding = 16;  // of a row
  const ByteCount features = ByteCount(shape.kernels) * ByteCount(shape.of_kernel);
  const ByteCount rank(shape.max_columns);
  const ByteCount maps = rank * ByteCount(shape.landmarks);
  return (ByteCount(shape.rows) * (rank + ByteCount(kPadding)) * ByteCount(sizeof(float)) +
          ByteCount(sizeof(double)) * (maps + features * rank + rank * rank))
      .value();
}

}  // namespace mercer
