#include "core/kernels/lowrank/basis_extension.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "core/base/numeric/index_range.h"
#include "core/base/status/status_macros.h"
#include "core/linalg/blocked_cholesky.h"
#include "core/linalg/matrix_products.h"

namespace mercer {
namespace {

constexpr double kGramRidge = 1e-13;  // of the products of columns of norm 1

struct Sample {
  double weight = 0;  // of all rows
  // Both times the roots of the weights of the rows.
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

// The sums over the features of each kernel.
Vector KernelSums(const NystromFeatures& features, const Vector& of_features) {
  Vector sums(features.num_kernels());
  for (Index k = 0; k < features.num_kernels(); ++k) {
    const Index first = features.first_feature(k);
    sums(k) = of_features.segment(first, features.first_feature(k + 1) - first).sum();
  }
  return sums;
}

// The share of the kernels' energies that is lost: the mean over kernels, so that every kernel
// counts the same.
double MeanShare(const Vector& energies, const Vector& lost) {
  double share = 0;
  Index kernels = 0;
  for (Index k = 0; k < energies.size(); ++k) {
    if (energies(k) > 0) {
      share += std::max(0.0, lost(k)) / energies(k);
      ++kernels;
    }
  }
  return kernels > 0 ? share / static_cast<double>(kernels) : 0.0;
}

// The least squares fit of the kernels that the basis is not about.
struct Fit {
  Matrix restore;    // features of these kernels x r
  double share = 0;  // of their energies, what it leaves out
  Vector energies;   // of each kernel: the mean squared norm of its features
};

class BasisExtender {
 public:
  BasisExtender(NystromFeatures of_basis, NystromFeatures others, const JointBasis& basis)
      : of_basis_(std::move(of_basis)), others_(std::move(others)), basis_(basis) {}

  // Of the rows that the basis was found from.
  absl::StatusOr<Sample> Evaluate(const PreparedData& all, RunContext& context) const {
    const PreparedData rows = SelectRows(all, basis_.sampled);
    const Vector weights = SampleWeights(basis_.sampled, of_basis_.landmark_rows(), all.rows);
    const Vector roots = weights.cwiseSqrt();
    Sample sample;
    sample.weight = weights.sum();
    MERCER_ASSIGN_OR_RETURN(sample.others, others_.EvaluateAll(rows, context));
    MERCER_ASSIGN_OR_RETURN(const Matrix chosen, of_basis_.EvaluateAll(rows, context));
    sample.joint.resize(rows.rows, basis_.reduce.cols());
    MERCER_RETURN_IF_ERROR(TransposedProduct(chosen, basis_.reduce, sample.joint, context));
    for (Index j = 0; j < sample.joint.cols(); ++j) {
      sample.joint.col(j).array() *= roots.array();
    }
    for (Index i = 0; i < rows.rows; ++i) {
      sample.others.col(i) *= roots(i);
    }
    return sample;
  }

  // The least squares fit V Q (Q'Q)^-1 of the features V by the basis Q, the columns of Q scaled to
  // norm 1 meanwhile.
  absl::StatusOr<Fit> FitOthers(const Sample& sample, RunContext& context) const {
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
    const Vector energies = KernelSums(others_, RowEnergies(sample.others));
    const Vector kept =
        KernelSums(others_, moments.cwiseProduct(solution).colwise().sum().transpose());
    return Fit{solution.transpose() * inverse.asDiagonal(), MeanShare(energies, energies - kept),
               energies / sample.weight};
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
  const BasisExtender extender(std::move(of_basis), of_others, basis);
  MERCER_ASSIGN_OR_RETURN(const Sample sample, extender.Evaluate(rows, context));
  MERCER_ASSIGN_OR_RETURN(const Fit fit, extender.FitOthers(sample, context));
  MERCER_ASSIGN_OR_RETURN(FitProbes probes, FitProbes::Make(std::move(of_others), fit.restore,
                                                            fit.energies, seed, context));
  BasisExtension extension{Matrix(), fit.share, std::move(probes)};
  extension.restore.resize(features.num_features(), basis.reduce.cols());
  Place(features, kernels, basis.restore, extension.restore);
  Place(features, others, fit.restore, extension.restore);
  return extension;
}

}  // namespace mercer
