#include "core/kernels/lowrank/basis_extension.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "core/base/numeric/index_range.h"
#include "core/base/status/status_macros.h"
#include "core/kernels/lowrank/landmarks.h"
#include "core/linalg/blocked_cholesky.h"
#include "core/linalg/matrix_products.h"

namespace mercer {
namespace {

constexpr Index kFreshRows = 1000;
constexpr double kGramRidge = 1e-13;  // of the products of columns of norm 1

struct Sample {
  Matrix joint;   // q: rows x r
  Matrix others;  // of the kernels that the basis is not about: features x rows
};

// The sum over the columns of |values|^2, for each row.
Vector RowEnergies(const Matrix& values) {
  Vector sums = Vector::Zero(values.rows());
  for (Index c = 0; c < values.cols(); ++c) {
    sums += values.col(c).cwiseAbs2();
  }
  return sums;
}

// The share of the features' energy that is lost: the mean over kernels, so that every kernel
// counts the same.
double MeanShare(const NystromFeatures& features, const Vector& energies, const Vector& lost) {
  double share = 0;
  Index kernels = 0;
  for (Index k = 0; k < features.num_kernels(); ++k) {
    const Index first = features.first_feature(k);
    const Index count = features.first_feature(k + 1) - first;
    const double energy = energies.segment(first, count).sum();
    if (energy > 0) {
      share += std::max(0.0, lost.segment(first, count).sum()) / energy;
      ++kernels;
    }
  }
  return kernels > 0 ? share / static_cast<double>(kernels) : 0.0;
}

class BasisExtender {
 public:
  BasisExtender(NystromFeatures of_basis, NystromFeatures others, const JointBasis& basis)
      : of_basis_(std::move(of_basis)), others_(std::move(others)), basis_(basis) {}

  absl::StatusOr<Sample> Evaluate(const PreparedData& rows, RunContext& context) const {
    Sample sample;
    MERCER_ASSIGN_OR_RETURN(sample.others, others_.EvaluateAll(rows, context));
    MERCER_ASSIGN_OR_RETURN(const Matrix chosen, of_basis_.EvaluateAll(rows, context));
    sample.joint.resize(rows.rows, basis_.reduce.cols());
    MERCER_RETURN_IF_ERROR(TransposedProduct(chosen, basis_.reduce, sample.joint, context));
    return sample;
  }

  // The least squares fit V Q (Q'Q)^-1 of the features V by the basis Q, the columns of Q scaled to
  // norm 1 meanwhile; `share` is what it leaves out.
  absl::StatusOr<Matrix> Fit(const Sample& sample, double& share, RunContext& context) const {
    const Index rank = sample.joint.cols();
    const Vector inverse = sample.joint.colwise().norm().transpose().unaryExpr(
        [](double norm) { return norm > 0 ? 1.0 / norm : 0.0; });
    const Matrix scaled = sample.joint * inverse.asDiagonal();
    Matrix gram(rank, rank);
    MERCER_RETURN_IF_ERROR(TransposedProduct(scaled, scaled, gram, context));
    gram.diagonal().array() += kGramRidge + (inverse.array() == 0).cast<double>();
    MERCER_RETURN_IF_ERROR(FactorCholesky(gram, context));
    Matrix products = Matrix::Zero(sample.others.rows(), rank);
    MERCER_RETURN_IF_ERROR(AddProduct(1.0, sample.others, scaled, products, context));
    const Matrix moments = products.transpose();
    Matrix solution = moments;
    MERCER_RETURN_IF_ERROR(SolveCholesky(gram, solution, context));
    const Vector energies = RowEnergies(sample.others);
    const Vector kept = moments.cwiseProduct(solution).colwise().sum().transpose();
    share = MeanShare(others_, energies, energies - kept);
    return Matrix(solution.transpose() * inverse.asDiagonal());
  }

  absl::StatusOr<double> LostShare(Sample sample, const Matrix& fit, RunContext& context) const {
    const Vector energies = RowEnergies(sample.others);
    const Matrix joint = sample.joint.transpose();
    MERCER_RETURN_IF_ERROR(AddProduct(-1.0, fit, joint, sample.others, context));
    return MeanShare(others_, energies, RowEnergies(sample.others));
  }

 private:
  const NystromFeatures of_basis_;
  const NystromFeatures others_;
  const JointBasis& basis_;
};

// Puts the rows of `part`, which is about some kernels, at their places among those of all.
void Place(const NystromFeatures& features, const std::vector<Index>& kernels, const Matrix& part,
           Matrix& all) {
  Index row = 0;
  for (const Index k : kernels) {
    const Index count = features.first_feature(k + 1) - features.first_feature(k);
    all.middleRows(features.first_feature(k), count) = part.middleRows(row, count);
    row += count;
  }
}

std::vector<Index> Others(Index count, const std::vector<Index>& kernels) {
  const std::vector<Index> all = IndexRange(0, count);
  std::vector<Index> others;
  std::set_difference(all.begin(), all.end(), kernels.begin(), kernels.end(),
                      std::back_inserter(others));
  return others;
}

}  // namespace

absl::StatusOr<BasisExtension> ExtendBasis(const NystromFeatures& features,
                                           const std::vector<Index>& kernels,
                                           const JointBasis& basis, const PreparedData& rows,
                                           uint64_t seed, RunContext& context) {
  const std::vector<Index> others = Others(features.num_kernels(), kernels);
  MERCER_ASSIGN_OR_RETURN(NystromFeatures of_basis, features.Select(kernels, context));
  MERCER_ASSIGN_OR_RETURN(NystromFeatures of_others, features.Select(others, context));
  const BasisExtender extender(std::move(of_basis), std::move(of_others), basis);
  BasisExtension extension;
  MERCER_ASSIGN_OR_RETURN(Sample sample,
                          extender.Evaluate(SelectRows(rows, basis.sampled), context));
  MERCER_ASSIGN_OR_RETURN(const Matrix fit, extender.Fit(sample, extension.fitted_share, context));
  const std::vector<Index> fresh = DrawRows(rows.rows, kFreshRows, seed, "basis-extension");
  MERCER_ASSIGN_OR_RETURN(sample, extender.Evaluate(SelectRows(rows, fresh), context));
  MERCER_ASSIGN_OR_RETURN(extension.fresh_share,
                          extender.LostShare(std::move(sample), fit, context));
  extension.restore.resize(features.num_features(), basis.reduce.cols());
  Place(features, kernels, basis.restore, extension.restore);
  Place(features, others, fit, extension.restore);
  return extension;
}

}  // namespace mercer
