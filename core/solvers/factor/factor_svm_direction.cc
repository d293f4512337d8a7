// The Newton systems of FactorSvmSolver, J being the free samples (docs/mathematics/svm.md, section
// 3):
//
//   (I + sigma X_J'X_J) dv + sigma X_J'1 db = rhs.coefficients
//   sigma 1'(X_J dv + 1 db)                 = rhs.bias
//
// of the order of the features or, by the identity of Woodbury, of the free samples, whichever is
// the smaller.
#include <algorithm>
#include <iterator>
#include <utility>

#include "core/base/status/status_macros.h"
#include "core/linalg/blocked_cholesky.h"
#include "core/linalg/matrix_products.h"
#include "core/linalg/shifted_factor.h"
#include "core/solvers/factor/factor_svm.h"

namespace mercer {
namespace {

constexpr Index kGatheredRows = 64;  // per task
// Changes of fewer samples, as a share of the rank, become features before their Gram matrix is
// formed: c of them take 3 c r^2 operations then, and c r^2 + r^3 otherwise.
constexpr double kFewChanges = 0.5;
// A system of the free samples costs about |J| r (2 r + |J|) operations, one of the features 4 r^3.
constexpr double kFewRows = 0.7;  // of the rank

std::vector<Index> Difference(const std::vector<Index>& from, const std::vector<Index>& without) {
  std::vector<Index> difference;
  std::set_difference(from.begin(), from.end(), without.begin(), without.end(),
                      std::back_inserter(difference));
  return difference;
}

}  // namespace

absl::Status FactorSvmSolver::FindDirection(State& next, std::vector<Index> free,
                                            const NewtonDirection& rhs, NewtonDirection& direction,
                                            RunContext& context) const {
  if (static_cast<double>(free.size()) <= kFewRows * static_cast<double>(kernel_.rows.cols())) {
    return DirectionOfSamples(next.step, free, rhs, direction, context);
  }
  MERCER_RETURN_IF_ERROR(UpdateGram(next, std::move(free), context));
  return DirectionOfFeatures(next, rhs, direction, context);
}

// X_J'.
absl::StatusOr<Matrix> FactorSvmSolver::FeaturesOf(const std::vector<Index>& samples,
                                                   RunContext& context) const {
  const Index rank = kernel_.rows.cols();
  const auto count = static_cast<Index>(samples.size());
  Matrix gathered(rank, count);
  context.parallel().ForBlocks(count, kGatheredRows, [&](Index begin, Index end) {
    for (Index j = begin; j < end; ++j) {
      gathered.col(j) =
          Eigen::Map<const Eigen::VectorXf>(kernel_.rows.row(samples[static_cast<size_t>(j)]), rank)
              .cast<double>();
    }
  });
  Matrix features(rank, count);
  MERCER_RETURN_IF_ERROR(TransposedProduct(kernel_.root, gathered, features, context));
  return features;
}

// With T = I / sigma + X_J X_J', c1 = T^-1 X_J rhs, c2 = T^-1 1:  db = (rhs.bias - 1'c1) / 1'c2,
// dv = rhs - X_J'(c1 + db c2).
absl::Status FactorSvmSolver::DirectionOfSamples(double step, const std::vector<Index>& free,
                                                 const NewtonDirection& rhs,
                                                 NewtonDirection& direction,
                                                 RunContext& context) const {
  const auto count = static_cast<Index>(free.size());
  if (count == 0) {
    direction = {rhs.coefficients, 0.0};
    return context.CheckCancelled();
  }
  MERCER_ASSIGN_OR_RETURN(const Matrix samples, FeaturesOf(free, context));
  Matrix system(count, count);
  MERCER_RETURN_IF_ERROR(TransposedProduct(samples, samples, system, context));
  system *= step;
  MERCER_RETURN_IF_ERROR(FactorShifted(system, context));
  Matrix solution(count, 2);
  solution.col(0) = step * (samples.transpose() * rhs.coefficients);
  solution.col(1).setConstant(step);
  MERCER_RETURN_IF_ERROR(SolveCholesky(system, solution, context));
  const double schur = solution.col(1).sum();
  const double corner = step * static_cast<double>(count);
  direction.bias = schur > 1e-14 * corner ? (rhs.bias - solution.col(0).sum()) / schur : 0.0;
  direction.coefficients =
      rhs.coefficients - samples * (solution.col(0) + direction.bias * solution.col(1));
  return absl::OkStatus();
}

// Adds the Gram matrix of the samples `added` to that of `state`, without that of `removed`.
absl::Status FactorSvmSolver::ChangeGram(State& state, const std::vector<Index>& added,
                                         const std::vector<Index>& removed,
                                         RunContext& context) const {
  const FactorRows& rows = kernel_.rows;
  const auto add_rows = [&](const std::vector<Index>& which, double scale, Matrix& gram) {
    return rows.AddGram(which, Vector::Ones(static_cast<Index>(which.size())), scale, gram,
                        context);
  };
  if (state.gram_is_of_rows()) {
    MERCER_RETURN_IF_ERROR(add_rows(added, 1.0, state.gram));
    return add_rows(removed, -1.0, state.gram);
  }
  const Index rank = rows.cols();
  std::vector<Index> changed = added;
  changed.insert(changed.end(), removed.begin(), removed.end());
  const auto count = static_cast<Index>(changed.size());
  if (static_cast<double>(count) <= kFewChanges * static_cast<double>(rank)) {
    Matrix change = Matrix::Zero(rank, rank);
    MERCER_ASSIGN_OR_RETURN(Matrix features, FeaturesOf(changed, context));
    features.transposeInPlace();
    Matrix signed_features = features;
    signed_features.bottomRows(static_cast<Index>(removed.size())) *= -1.0;
    MERCER_RETURN_IF_ERROR(LowerTransposedProduct(features, signed_features, change, context));
    state.gram += change;
    return absl::OkStatus();
  }
  Matrix of_rows = Matrix::Zero(rank, rank);
  MERCER_RETURN_IF_ERROR(add_rows(added, 1.0, of_rows));
  MERCER_RETURN_IF_ERROR(add_rows(removed, -1.0, of_rows));
  Matrix change = Matrix::Zero(rank, rank);  // of which the lower triangle is written
  MERCER_RETURN_IF_ERROR(TriangularCongruence(of_rows, kernel_.root, change, context));
  state.gram += change;
  return absl::OkStatus();
}

// The Gram matrix of the free rows from that of the last step, when most of them are the same.
absl::Status FactorSvmSolver::UpdateGram(State& next, std::vector<Index> free,
                                         RunContext& context) const {
  const auto count = static_cast<int64_t>(free.size());
  const std::vector<Index> added = Difference(free, next.gram_rows);
  const std::vector<Index> removed = Difference(next.gram_rows, free);
  const auto changed = static_cast<int64_t>(added.size() + removed.size());
  // The matrix is formed anew when updates would cost as much, or when their rounding has piled up:
  // it grows with the rows that have come and gone.
  if (next.gram.size() == 0 || 2 * changed > count || next.gram_changes + changed > 4 * count) {
    next.gram = Matrix::Zero(kernel_.rows.cols(), kernel_.rows.cols());
    next.gram_changes = 0;
    MERCER_RETURN_IF_ERROR(ChangeGram(next, free, {}, context));
  } else {
    MERCER_RETURN_IF_ERROR(ChangeGram(next, added, removed, context));
    next.gram_changes += changed;
  }
  next.gram_rows = std::move(free);
  return absl::OkStatus();
}

// Solves the system of the order of the features, from the Gram matrix of the free rows.
absl::Status FactorSvmSolver::DirectionOfFeatures(const State& next, const NewtonDirection& rhs,
                                                  NewtonDirection& direction,
                                                  RunContext& context) const {
  const Index rank = kernel_.rows.cols();
  const double step = next.step;
  Matrix system;
  if (next.gram_is_of_rows()) {
    system.resize(rank, rank);
    MERCER_RETURN_IF_ERROR(TriangularCongruence(next.gram, kernel_.root, system, context));
  } else {
    system = next.gram;
  }
  system *= step;
  MERCER_RETURN_IF_ERROR(FactorShifted(system, context));
  Vector indicator = Vector::Zero(kernel_.rows.rows());
  for (const Index i : next.gram_rows) {
    indicator(i) = 1;
  }
  Vector column;
  MERCER_RETURN_IF_ERROR(kernel_.MultiplyTransposed(indicator, column, context));
  column *= step;
  Matrix solution(rank, 2);
  solution.col(0) = rhs.coefficients;
  solution.col(1) = column;
  MERCER_RETURN_IF_ERROR(SolveCholesky(system, solution, context));
  const double corner = step * static_cast<double>(next.gram_rows.size());
  const double schur = corner - column.dot(solution.col(1));
  direction.bias = schur > 1e-14 * corner ? (rhs.bias - column.dot(solution.col(0))) / schur : 0.0;
  direction.coefficients = solution.col(0) - direction.bias * solution.col(1);
  return absl::OkStatus();
}

}  // namespace mercer
