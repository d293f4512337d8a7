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
#include "core/kernels/lowrank/basis_extension.h"
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
// The tolerance of kernels that follow from others, as a multiple of that of the basis: it moved
// optima of real data by 1e-4 at a tolerance of 1e-8, as the tolerance itself does.
constexpr double kSparedTolerance = 50;

// The least number of rows for which some kernels are fitted to the basis of others. With fewer,
// finding the basis of all takes no longer, and a fit of as many unknowns as there are columns for
// every landmark is poor.
Index LeastRowsToSpareKernels(Index landmarks) { return std::max<Index>(4000, 40 * landmarks); }

// What is found of a block of rows.
struct BlockSums {
  double energy = 0;        // squared norms of the features
  double dropped = 0;       // what the basis drops of them
  double fitted_lost = 0;   // shares of the fitted kernels that are lost
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
  std::unique_ptr<LowRankKernelFamily> family;
  MERCER_ASSIGN_OR_RETURN(
      std::vector<Index> some,
      RepresentativeKernels(features.kernels(), inputs, options.basis.tolerance, context));
  // Kernels follow from their neighbours' features where these are about the same landmarks.
  const bool spare = features.shared() &&
                     static_cast<Index>(some.size()) < features.num_kernels() &&
                     inputs.rows >= LeastRowsToSpareKernels(features.num_landmarks());
  if (spare) {
    absl::StatusOr<std::unique_ptr<LowRankKernelFamily>> found =
        FromSome(features, std::move(some), inputs, options, context);
    // Where the fit is singular, the kernels together still have a basis; it is found instead, and
    // an error of a kernel has its name then.
    if (!found.ok() && !absl::IsInvalidArgument(found.status())) {
      return found.status();
    }
    family = found.ok() ? *std::move(found) : nullptr;
  }
  if (family == nullptr) {
    MERCER_ASSIGN_OR_RETURN(family, FromAll(std::move(features), inputs, options, context));
  }
  MERCER_RETURN_IF_ERROR(family->SetScales(context));
  return family;
}

// The basis from the features of `kernels`, those of all fitted to it; null when the fit leaves out
// too much.
absl::StatusOr<std::unique_ptr<LowRankKernelFamily>> LowRankKernelFamily::FromSome(
    const NystromFeatures& all, std::vector<Index> kernels, const PreparedData& inputs,
    const LowRankOptions& options, RunContext& context) {
  MERCER_ASSIGN_OR_RETURN(NystromFeatures chosen, all.Select(kernels, context));
  auto family = std::unique_ptr<LowRankKernelFamily>(
      new LowRankKernelFamily(std::move(chosen), std::move(kernels)));
  family->SetKernels(all);
  MERCER_ASSIGN_OR_RETURN(family->basis_,
                          FindJointBasis(family->features_, inputs, options.basis, context));
  if (2 * family->basis_.reduce.cols() > static_cast<Index>(family->basis_.sampled.size())) {
    return nullptr;
  }
  MERCER_ASSIGN_OR_RETURN(BasisExtension extension,
                          ExtendBasis(all, family->basis_kernels_, family->basis_, inputs,
                                      options.basis.seed, context));
  if (!(extension.fitted_share <= kSparedTolerance * options.basis.tolerance)) {
    return nullptr;
  }
  family->basis_.restore = std::move(extension.restore);
  MERCER_RETURN_IF_ERROR(family->Fill(inputs, &extension.probes, context));
  return family;
}

absl::StatusOr<std::unique_ptr<LowRankKernelFamily>> LowRankKernelFamily::FromAll(
    NystromFeatures all, const PreparedData& inputs, const LowRankOptions& options,
    RunContext& context) {
  std::vector<Index> kernels = AllIfEmpty({}, all.num_kernels());
  auto family = std::unique_ptr<LowRankKernelFamily>(
      new LowRankKernelFamily(std::move(all), std::move(kernels)));
  family->SetKernels(family->features_);
  MERCER_ASSIGN_OR_RETURN(family->basis_,
                          FindJointBasis(family->features_, inputs, options.basis, context));
  MERCER_RETURN_IF_ERROR(family->Fill(inputs, nullptr, context));
  return family;
}

void LowRankKernelFamily::SetKernels(const NystromFeatures& all) {
  kernels_ = all.kernels();
  for (Index k = 0; k <= all.num_kernels(); ++k) {
    first_feature_.push_back(all.first_feature(k));
  }
}

// The squared norm of the row's features, every kernel scaled; notes a kernel that is out of range.
double LowRankKernelFamily::RowEnergy(ConstVectorRef features, Index& out_of_range) const {
  double energy = 0;
  for (Index k = 0; k < features_.num_kernels(); ++k) {
    const Index first = features_.first_feature(k);
    const double norm = features.segment(first, features_.first_feature(k + 1) - first).norm();
    const double scaled = basis_.scales(k) * norm;
    if (!(scaled <= kLongestRow)) {
      out_of_range = basis_kernels_[static_cast<size_t>(k)] + 1;
    }
    energy += scaled * scaled;
  }
  return energy;
}

// Computes Q = V S L, block of rows by block of rows; V is never stored.
absl::Status LowRankKernelFamily::Fill(const PreparedData& inputs, const FitProbes* probes,
                                       RunContext& context) {
  MERCER_ASSIGN_OR_RETURN(const NystromFeatures::Bound bound, features_.Bind(inputs, context));
  std::optional<BoundCrossKernels> fitted;
  if (probes != nullptr) {
    MERCER_ASSIGN_OR_RETURN(fitted, probes->Bind(inputs, context));
  }
  const Index rank = basis_.reduce.cols();
  rows_ = std::make_shared<FactorRows>(inputs.rows, rank);
  const Index blocks = (inputs.rows + kFilledRows - 1) / kFilledRows;
  std::vector<BlockSums> sums(static_cast<size_t>(blocks));
  std::atomic<Index> finished = 0;
  context.parallel().ForBlocks(inputs.rows, kFilledRows, [&](Index begin, Index end) {
    if (context.cancelled()) {
      return;
    }
    Matrix features(features_.num_features(), end - begin);
    features_.Evaluate(bound, begin, end, features, context);
    Matrix reduced(rank, end - begin);
    TransposedProductOfTask(basis_.reduce, features, reduced, context);
    if (context.cancelled()) {
      return;
    }
    BlockSums& of_block = sums[static_cast<size_t>(begin / kFilledRows)];
    for (Index r = 0; r < end - begin; ++r) {
      const double energy = RowEnergy(features.col(r), of_block.out_of_range);
      const double kept = reduced.col(r).squaredNorm();
      of_block.energy += energy;
      of_block.largest_norm = std::max(of_block.largest_norm, std::sqrt(kept));
      of_block.dropped += std::max(0.0, energy - kept);
      rows_->SetRow(begin + r, reduced.col(r));
    }
    if (probes != nullptr) {
      features.resize(0, 0);  // the values of the fitted kernels need the memory
      of_block.fitted_lost = probes->LostShares(*fitted, begin, end, reduced, context);
    }
    context.ReportStage("factor", static_cast<double>(++finished) / static_cast<double>(blocks));
  });
  MERCER_RETURN_IF_ERROR(context.CheckCancelled());
  BlockSums all;
  for (const BlockSums& of_block : sums) {
    MERCER_RETURN_IF_ERROR(CheckRange(of_block.out_of_range, kernels_));
    all.energy += of_block.energy;
    all.dropped += of_block.dropped;
    all.fitted_lost += of_block.fitted_lost;
    all.largest_norm = std::max(all.largest_norm, of_block.largest_norm);
  }
  largest_norm_ = all.largest_norm;
  const double fitted_share =
      all.fitted_lost / static_cast<double>(std::max<Index>(inputs.rows, 1));
  dropped_share_ = std::max(fitted_share, all.dropped / std::max(all.energy, 1e-300));
  return absl::OkStatus();
}

// The factors of the kernels' normalisations, from the sums of the approximated kernels: with the
// Gram matrix Q'Q and the sums Q'1, tr K_k = tr L_k Q'Q L_k' and 1'K_k 1 = |L_k Q'1|^2. The factor
// goes into L_k.
absl::Status LowRankKernelFamily::SetScales(RunContext& context) {
  scales_ = Vector::Ones(num_kernels());
  const bool scaled = std::any_of(kernels_.begin(), kernels_.end(), [](const KernelSpec& spec) {
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
    auto block = basis_.restore.middleRows(first_feature_[static_cast<size_t>(k)], BlockSize(k));
    Matrix product = Matrix::Zero(block.rows(), gram.cols());
    MERCER_RETURN_IF_ERROR(AddProduct(1.0, block, gram, product, context));
    const GramSums sums{size(), product.cwiseProduct(block).sum(), (block * total).squaredNorm()};
    const KernelSpec& spec = kernels_[static_cast<size_t>(k)];
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
  Matrix weighted(basis_.restore.rows(), basis_.restore.cols());
  FactorBlocks blocks{&basis_.restore, {}};
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
  MERCER_RETURN_IF_ERROR(TransposedProduct(basis_.restore, weighted, metric, context));
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
// value is q(x)'z, and q(x) = reduce'v(x) with v_k(x) = M_k'k_k(Z, x): the coefficients of kernel k
// are M_k times its rows of reduce z. Kernels that were fitted to the others have none of their
// own.
absl::StatusOr<std::vector<Vector>> LowRankKernelFamily::LandmarkCoefficients(
    ConstVectorRef weights, ConstVectorRef dual, RunContext& context) const {
  MERCER_ASSIGN_OR_RETURN(const Vector coefficients, CombinedCoefficients(weights, dual, context));
  std::vector<Vector> result(kernels_.size());
  PacedCheck check(context);
  for (Index k = 0; k < features_.num_kernels(); ++k) {
    const Index first = features_.first_feature(k);
    MERCER_RETURN_IF_ERROR(
        check.After(features_.map(k).cols() * (features_.map(k).rows() + joint_rank())));
    result[static_cast<size_t>(basis_kernels_[static_cast<size_t>(k)])] =
        features_.map(k) *
        (basis_.reduce.middleRows(first, features_.first_feature(k + 1) - first) * coefficients);
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
  constexpr Index kSampleRows = 4000;
  constexpr Index kPanel = 128;
  const ByteCount features = ByteCount(shape.kernels) * ByteCount(shape.of_kernel);
  const ByteCount rank(shape.max_columns);
  // Of kernels with landmarks of their own one after the other has its values among them.
  const bool own = shape.all_landmarks > shape.landmarks;
  const ByteCount values = ByteCount(own ? Index{1} : shape.kernels) * ByteCount(shape.landmarks) *
                           ByteCount(2 * shape.landmarks);
  // The features of the sampled rows, landmarks among them, and their products with the basis and with a panel; an
  // allocator may keep what was freed.
  const ByteCount sampling =
      values + (features + rank + ByteCount(kPanel)) *
                   ByteCount(std::min(shape.rows, kSampleRows + shape.all_landmarks));
  // What a combination takes: weighted copies of the L_k, and matrices of order r.
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
