#include "core/solvers/factor/gfb_svm.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/base/numeric/index_range.h"
#include "core/base/process/row_vectors.h"
#include "core/base/status/status_macros.h"
#include "core/linalg/blocked_cholesky.h"
#include "core/linalg/matrix_products.h"
#include "core/linalg/shifted_factor.h"

namespace mercer {
namespace {

constexpr double kGradientStep = 1.0;  // zeta, in (0, 2)
constexpr double kRelaxation = 1.0;    // lambda, in (0, 3/2) for this gradient step

}  // namespace

Index GfbSvmSolver::num_kernels() const {
  return has_blocks() ? static_cast<Index>(kernel().blocks->blocks.size()) : 1;
}

Index GfbSvmSolver::FeatureCount(Index k) const {
  return has_blocks() ? kernel().blocks->blocks[static_cast<size_t>(k)].size : rank();
}

Index GfbSvmSolver::FirstFeature(Index k) const {
  Index first = 0;
  for (Index j = 0; j < k; ++j) {
    first += FeatureCount(j);
  }
  return first;
}

Index GfbSvmSolver::num_features() const { return FirstFeature(num_kernels()); }

Vector GfbSvmSolver::FeaturesOf(Index k, const ConstVectorRef& of_rows) const {
  if (!has_blocks()) {
    const Vector features = kernel().root.triangularView<Eigen::Lower>().transpose() * of_rows;
    return feature_unit_ * features;
  }
  const FactorBlock& block = kernel().blocks->blocks[static_cast<size_t>(k)];
  return feature_unit_ * block.scale *
         (kernel().blocks->stacked->middleRows(block.first, block.size) * of_rows);
}

Vector GfbSvmSolver::OfRows(Index k, const ConstVectorRef& features) const {
  if (!has_blocks()) {
    const Vector of_rows = kernel().root.triangularView<Eigen::Lower>() * features;
    return feature_unit_ * of_rows;
  }
  const FactorBlock& block = kernel().blocks->blocks[static_cast<size_t>(k)];
  return feature_unit_ * block.scale *
         (kernel().blocks->stacked->middleRows(block.first, block.size).transpose() * features);
}

// Chooses the units and factors the systems of the projections. A gradient step moves the dual by
// about 1 in the units of the iteration, whatever kernel and costs are. So the features are divided
// by the root of the kernel's mean diagonal and multiplied by tau, which makes a unit of the dual
// worth tau * score_unit / diagonal.
absl::Status GfbSvmSolver::Prepare(RunContext& context) {
  const auto n = static_cast<double>(num_samples());
  const std::vector<Index> all = IndexRange(0, num_samples());
  Matrix gram = Matrix::Zero(rank(), rank());
  MERCER_RETURN_IF_ERROR(
      kernel().rows.AddGram(all, Vector::Ones(num_samples()), 1.0, gram, context));
  Matrix whole(rank(), rank());
  MERCER_RETURN_IF_ERROR(TriangularCongruence(gram, kernel().root, whole, context));
  const double diagonal = whole.diagonal().sum() / n;
  const double kernel_unit = diagonal > 0 ? diagonal : 1.0;
  const double cost = kernel_unit * problem().costs.maxCoeff() / box().score_unit;
  const double tau = options_.scale > 0 ? options_.scale : std::cbrt(cost);
  feature_unit_ = tau / std::sqrt(kernel_unit);
  dual_unit_ = tau * box().score_unit / kernel_unit;
  linear_scale_ = tau / box().score_unit;
  factors_.assign(static_cast<size_t>(num_kernels()), Matrix());
  gram = Matrix(gram.selfadjointView<Eigen::Lower>());
  for (Index k = 0; k < num_kernels(); ++k) {
    Matrix& system = factors_[static_cast<size_t>(k)];
    if (has_blocks()) {
      const FactorBlock& block = kernel().blocks->blocks[static_cast<size_t>(k)];
      const Matrix rows = feature_unit_ * block.scale *
                          kernel().blocks->stacked->middleRows(block.first, block.size);
      Matrix half = Matrix::Zero(rank(), block.size);
      MERCER_RETURN_IF_ERROR(AddProduct(1.0, gram, rows.transpose(), half, context));
      system = Matrix::Zero(block.size, block.size);
      MERCER_RETURN_IF_ERROR(AddProduct(1.0, rows, half, system, context));
    } else {
      system = feature_unit_ * feature_unit_ * whole;
    }
    MERCER_RETURN_IF_ERROR(FactorShifted(system, context));
  }
  if (options_.merged) {
    Vector of_rows(rank());
    MERCER_RETURN_IF_ERROR(
        kernel().rows.MultiplyTransposed(Vector::Ones(num_samples()), of_rows, context));
    column_sums_ = FeaturesOf(0, of_rows);
    of_sums_ = column_sums_;
    MERCER_RETURN_IF_ERROR(SolveCholesky(factors_[0], of_sums_, context));
  }
  return absl::OkStatus();
}

absl::Status GfbSvmSolver::Begin(RunContext& context) {
  State next;
  next.dual = best().dual / dual_unit_;
  Vector of_rows(rank());
  MERCER_RETURN_IF_ERROR(kernel().rows.MultiplyTransposed(next.dual, of_rows, context));
  next.features.resize(num_features());
  for (Index k = 0; k < num_kernels(); ++k) {
    next.features.segment(FirstFeature(k), FeatureCount(k)) = FeaturesOf(k, of_rows);
  }
  next.own_features = next.features;
  next.other_features = next.features;
  next.dual_copies = next.dual.replicate(1, num_sets());
  state_ = std::move(next);
  return absl::OkStatus();
}

// Projects on the sets gamma_k = X_k'dual; in the merged form sum dual = 0 belongs to the set. With
// t = (I + X_k'X_k)^-1 (gamma_k - X_k'dual) the projection is (gamma_k - t, dual + X_k t). Merged,
// t grows by shift (I + X'X)^-1 X'1 and the dual falls by `shift`, the multiplier of the sum.
absl::Status GfbSvmSolver::ProjectOnKernels(const Vector& dual_base, State& next,
                                            RunContext& context) const {
  const Index m = num_kernels();
  const Matrix points = (-state_.dual_copies.leftCols(m)).colwise() + dual_base;
  Matrix of_rows(rank(), m);
  MERCER_RETURN_IF_ERROR(kernel().rows.MultiplyTransposedMatrix(points, of_rows, context));
  Matrix pulls(rank(), m);
  double shift = 0;
  Index first = 0;
  for (Index k = 0; k < m; ++k) {
    const Index count = FeatureCount(k);
    const Vector at = (2.0 - kGradientStep) * state_.features.segment(first, count) -
                      state_.own_features.segment(first, count);
    Vector solution = at - FeaturesOf(k, of_rows.col(k));
    MERCER_RETURN_IF_ERROR(SolveCholesky(factors_[static_cast<size_t>(k)], solution, context));
    if (options_.merged) {
      const auto n = static_cast<double>(num_samples());
      const double schur = n - column_sums_.dot(of_sums_);
      // Where the features can represent a constant, the Schur complement is 0: sum dual = 0 then
      // follows from the other equalities.
      const double sum = SumOfRows(points.col(0));  // merged sets have one kernel
      shift = schur > 1e-14 * n ? (sum + column_sums_.dot(solution)) / schur : 0.0;
      solution += shift * of_sums_;
    }
    next.own_features.segment(first, count) +=
        kRelaxation * (at - solution - state_.features.segment(first, count));
    pulls.col(k) = OfRows(k, solution);
    first += count;
  }
  Matrix moves(num_samples(), m);
  MERCER_RETURN_IF_ERROR(kernel().rows.MultiplyMatrix(pulls, moves, context));
  moves.array() -= shift;
  next.dual_copies.leftCols(m) += kRelaxation * ((points + moves).colwise() - state_.dual);
  return absl::OkStatus();
}

void GfbSvmSolver::ProjectOnBox(const Vector& dual_base, State& next) const {
  const Index last = num_sets() - 1;
  const double flat =
      kGradientStep * static_cast<double>(num_sets()) * linear_scale_ * box().epsilon;
  // The proximal operator of epsilon |dual|_1 and the box: a soft threshold, then a clip. The
  // threshold has the factor of all M sets, since z is the mean of M copies.
  for (Index i = 0; i < num_samples(); ++i) {
    double point = dual_base(i) - state_.dual_copies(i, last);
    point = point > flat ? point - flat : (point < -flat ? point + flat : 0.0);
    point = std::clamp(point, box().lower(i) / dual_unit_, box().upper(i) / dual_unit_);
    next.dual_copies(i, last) += kRelaxation * (point - state_.dual(i));
  }
}

// Each set's copy z of the variables becomes z + lambda (P(2 x - z - zeta gradient) - x), P being
// the set's projection, or the proximal operator of the box, and x the mean of all copies; then x
// is their mean anew. The copies of gamma_k in all sets but its own are equal, since those sets
// leave gamma_k alone, and stored once.
absl::Status GfbSvmSolver::Advance(RunContext& context) {
  State next = state_;
  const Vector dual_base = 2.0 * state_.dual + kGradientStep * linear_scale_ * box().targets;
  MERCER_RETURN_IF_ERROR(ProjectOnKernels(dual_base, next, context));
  if (!options_.merged) {
    const Index set = num_kernels();
    Vector point = dual_base - state_.dual_copies.col(set);
    point.array() -= SumOfRows(point) / static_cast<double>(num_samples());
    next.dual_copies.col(set) += kRelaxation * (point - state_.dual);
  }
  ProjectOnBox(dual_base, next);
  next.other_features +=
      kRelaxation * ((1.0 - kGradientStep) * state_.features - state_.other_features);
  const auto sets = static_cast<double>(num_sets());
  next.features = (next.own_features + (sets - 1.0) * next.other_features) / sets;
  next.dual = next.dual_copies.rowwise().mean();
  if (++next.since_certificate < kIterationsOfACheck) {
    state_ = std::move(next);
    return absl::OkStatus();
  }
  MERCER_ASSIGN_OR_RETURN(Point point, Certify(dual_unit_ * next.dual, context));
  next.since_certificate = 0;
  state_ = std::move(next);
  Consider(std::move(point));
  return absl::OkStatus();
}

double GfbSvmSolver::NextCost() const {
  constexpr double kOfMemory = 3;  // times slower than products of matrices
  const auto n = static_cast<double>(num_samples());
  const auto r = static_cast<double>(rank());
  const auto m = static_cast<double>(num_kernels());
  const auto features = static_cast<double>(num_features());
  return kOfMemory * n * (2.0 * r + 10.0 * m) + 4.0 * n * r * m +
         2.0 * features * (2.0 * r + features / m);
}

void GfbSvmSolver::SaveIterate(ByteWriter& writer) const {
  WriteFields(state_, writer, StateSizes());
}

bool GfbSvmSolver::LoadIterate(ByteReader& reader) {
  return ReadFields(reader, state_, StateSizes());
}

}  // namespace mercer
