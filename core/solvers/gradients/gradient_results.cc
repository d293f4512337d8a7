#include "core/solvers/gradients/gradient_results.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include <Eigen/Cholesky>

#include "core/base/status/status_macros.h"
#include "core/linalg/matrix_products.h"
#include "core/linalg/symmetric_eigen.h"

namespace mercer {
namespace {

constexpr double kNegligibleEigenvalue = 1e-12;  // of the largest

// f_l(x_j), or what makes them, times their weights.
Matrix WeightedMoments(const GradientFunctions& functions) {
  return functions.moments * functions.weights.asDiagonal();
}

Vector AllAnchorSums(const GradientProblem& problem, const Vector& dual) {
  Vector sums = Vector::Zero(problem.num_rows());
  const Vector anchors = AnchorSums(problem.pairs, dual);
  sums.head(anchors.size()) = anchors;
  return sums;
}

Matrix MomentsOf(const GradientProblem& problem, const Vector& dual,
                 const std::vector<Index>& columns) {
  Matrix moments(problem.num_rows(), static_cast<Index>(columns.size()));
  for (size_t k = 0; k < columns.size(); ++k) {
    AnchorMoments(problem.pairs, dual, problem.rows.col(columns[k]),
                  moments.col(static_cast<Index>(k)));
  }
  return moments;
}

}  // namespace

GradientFunctions MakeGradientFunctions(const GradientProblem& problem, const Vector& weights,
                                        const Vector& dual) {
  GradientFunctions functions;
  functions.base = AllAnchorSums(problem, dual);
  for (Index l = 0; l < weights.size(); ++l) {
    if (weights(l) > 0) {
      functions.columns.push_back(l);
    }
  }
  functions.weights = weights(functions.columns);
  functions.moments = MomentsOf(problem, dual, functions.columns);
  return functions;
}

GradientValues ValuesAt(const GradientFunctions& functions, const ConstMatrixRef& gram) {
  return {gram * functions.base, gram * WeightedMoments(functions)};
}

CoordinateRanking RankCoordinates(const Vector& norms, const Vector& energies) {
  CoordinateRanking ranking;
  ranking.order.resize(static_cast<size_t>(norms.size()));
  std::iota(ranking.order.begin(), ranking.order.end(), Index{0});
  std::sort(ranking.order.begin(), ranking.order.end(), [&](Index a, Index b) {
    if (norms(a) != norms(b)) {
      return norms(a) > norms(b);
    }
    return energies(a) != energies(b) ? energies(a) > energies(b) : a < b;
  });
  const double sum = norms.sum();
  ranking.scores = sum > 0 ? Vector(norms / sum) : Vector::Zero(norms.size());
  return ranking;
}

absl::StatusOr<Matrix> GradientCovariance(const GradientProblem& problem, const Vector& weights,
                                          const Vector& dual, const std::vector<Index>& columns,
                                          RunContext& context) {
  const Matrix moments = MomentsOf(problem, dual, columns) * Vector(weights(columns)).asDiagonal();
  Matrix values = Matrix::Zero(moments.rows(), moments.cols());
  MERCER_RETURN_IF_ERROR(AddProduct(1.0, problem.gram, moments, values, context));
  return Matrix(moments.transpose() * values);
}

namespace {

// The decreasing eigenvalues of a matrix of inner products that count, at most so many, and their
// eigenvectors.
struct Leading {
  Vector values;
  Matrix vectors;
};

absl::StatusOr<Leading> LeadingEigenvectors(Matrix products, Index most, RunContext& context) {
  const Index size = products.rows();
  MERCER_ASSIGN_OR_RETURN(const SymmetricEigen eigen,
                          SymmetricEigen::Make(std::move(products), context));
  const Vector values = eigen.values().reverse();
  Index count = 0;
  while (count < std::min(most, size) && values(count) > kNegligibleEigenvalue * values(0) &&
         values(0) > 0) {
    ++count;
  }
  MERCER_ASSIGN_OR_RETURN(Matrix vectors, eigen.Largest(count, context));
  return Leading{values.head(count), std::move(vectors)};
}

// The right singular vectors of A by AA' = W diag(lambda) W': A'W lambda^{-1/2}.
absl::StatusOr<Leading> LeadingSingularVectors(const Matrix& a, Index most, RunContext& context) {
  Matrix products = Matrix::Zero(a.rows(), a.rows());
  MERCER_RETURN_IF_ERROR(AddProduct(1.0, a, a.transpose(), products, context));
  MERCER_ASSIGN_OR_RETURN(Leading leading, LeadingEigenvectors(std::move(products), most, context));
  Matrix vectors = Matrix::Zero(a.cols(), leading.vectors.cols());
  MERCER_RETURN_IF_ERROR(TransposedProduct(a, leading.vectors, vectors, context));
  leading.vectors = vectors * leading.values.cwiseSqrt().cwiseInverse().asDiagonal();
  return leading;
}

// The largest entry of each becomes positive.
void FixSigns(Matrix& directions) {
  for (Index k = 0; k < directions.cols(); ++k) {
    Index largest = 0;
    directions.col(k).cwiseAbs().maxCoeff(&largest);
    if (directions(largest, k) < 0) {
      directions.col(k) = -directions.col(k);
    }
  }
}

// With A = L'RB, G = LL', AA' = W diag(lambda) W' the directions are A'W lambda^{-1/2}. A singular
// G has its root from eigenvectors instead of L.
absl::StatusOr<Leading> LeadingByRows(const GradientProblem& problem, const Matrix& moments,
                                      DirectionMeasure measure, Index most, RunContext& context) {
  const Index rows = problem.num_rows();
  Matrix a = Matrix::Zero(rows, moments.cols());
  if (measure == DirectionMeasure::kRows) {
    const double scale = 1 / std::sqrt(static_cast<double>(rows));
    MERCER_RETURN_IF_ERROR(AddProduct(scale, problem.gram, moments, a, context));
  } else {
    MERCER_ASSIGN_OR_RETURN(const SymmetricEigen root, SymmetricEigen::Make(problem.gram, context));
    MERCER_ASSIGN_OR_RETURN(const Matrix vectors, root.Largest(rows, context));
    MERCER_RETURN_IF_ERROR(TransposedProduct(vectors, moments, a, context));
    a = root.values().reverse().cwiseMax(0.0).cwiseSqrt().asDiagonal() * a;
  }
  return LeadingSingularVectors(a, most, context);
}

// Of fewer columns than rows: the eigenvectors of the inner products of the functions themselves.
absl::StatusOr<Leading> LeadingByColumns(const GradientProblem& problem, const Matrix& moments,
                                         DirectionMeasure measure, Index most,
                                         RunContext& context) {
  Matrix values = Matrix::Zero(moments.rows(), moments.cols());
  MERCER_RETURN_IF_ERROR(AddProduct(1.0, problem.gram, moments, values, context));
  const auto rows = static_cast<double>(problem.num_rows());
  return LeadingEigenvectors(measure == DirectionMeasure::kRows
                                 ? Matrix(values.transpose() * values / rows)
                                 : Matrix(moments.transpose() * values),
                             most, context);
}

}  // namespace

absl::StatusOr<GradientDirections> LeadingDirections(const GradientProblem& problem,
                                                     const GradientFunctions& functions,
                                                     DirectionMeasure measure, Index most,
                                                     RunContext& context) {
  const Matrix moments = WeightedMoments(functions);
  const auto leading_of = moments.cols() <= moments.rows() ? LeadingByColumns : LeadingByRows;
  MERCER_ASSIGN_OR_RETURN(Leading leading, leading_of(problem, moments, measure, most, context));
  GradientDirections found;
  found.columns = functions.columns;
  found.eigenvalues = std::move(leading.values);
  found.directions = std::move(leading.vectors);
  FixSigns(found.directions);
  return found;
}

absl::StatusOr<Matrix> LeadingDirectionsOfRows(const Matrix& gradients, Index most,
                                               RunContext& context) {
  absl::StatusOr<Leading> leading = Leading();
  if (gradients.cols() <= gradients.rows()) {
    Matrix products = Matrix::Zero(gradients.cols(), gradients.cols());
    MERCER_RETURN_IF_ERROR(TransposedProduct(gradients, gradients, products, context));
    leading = LeadingEigenvectors(std::move(products), most, context);
  } else {
    leading = LeadingSingularVectors(gradients, most, context);
  }
  MERCER_RETURN_IF_ERROR(leading.status());
  if (leading->vectors.cols() == 0) {
    return Matrix();
  }
  FixSigns(leading->vectors);
  return std::move(leading->vectors);
}

HessianFunction MakeHessianFunction(const GradientProblem& problem, double width,
                                    const Vector& dual) {
  std::vector<Index> all(static_cast<size_t>(problem.num_columns()));
  std::iota(all.begin(), all.end(), Index{0});
  return {width, problem.rows.rowwise() + problem.means.transpose(), AllAnchorSums(problem, dual),
          MomentsOf(problem, dual, all)};
}

// grad f(x) = sum_j G(x, x_j) (b_j - (x - x_j) (a_j + b_j'(x - x_j) / s^2)) / s^2.
absl::StatusOr<GradientValues> ValuesAt(const HessianFunction& function, const ConstMatrixRef& rows,
                                        RunContext& context) {
  constexpr Index kRowsOfTask = 4;
  const double s2 = function.width * function.width;
  const Matrix anchors = function.rows.transpose();
  const Matrix moments = function.moments.transpose();
  GradientValues values{Vector::Zero(rows.rows()), Matrix::Zero(rows.rows(), rows.cols())};
  context.parallel().ForBlocks(rows.rows(), kRowsOfTask, [&](Index begin, Index end) {
    Vector difference(rows.cols());
    Vector gradient(rows.cols());
    for (Index i = begin; i < end && !context.cancelled(); ++i) {
      const Vector x = rows.row(i).transpose();
      gradient.setZero();
      for (Index j = 0; j < anchors.cols(); ++j) {
        difference = x - anchors.col(j);
        const double g = std::exp(-0.5 * difference.squaredNorm() / s2);
        const double linear = function.sums(j) + moments.col(j).dot(difference) / s2;
        values.base(i) += g * linear;
        gradient += g / s2 * (moments.col(j) - linear * difference);
      }
      values.gradients.row(i) = gradient.transpose();
    }
  });
  MERCER_RETURN_IF_ERROR(context.CheckCancelled());
  return values;
}

// With g = G, r = x_j - x_l, e_jl = b_j'r, q_jl = a_j a_l - (a_l e_jl - a_j b_l'r) / s^2
// - e_jl (b_l'r) / s^4 + b_j'b_l / s^2:
//   |d_p f|^2 = sum_jl g { 2 b_jp b_lp / s^4 - q (r_p^2 / s^4 - 1 / s^2)
//               - 2 r_p [(a_l b_jp - a_j b_lp) / s^2 + (b_jp b_l'r + b_lp e_jl) / s^4] / s^2 },
// where by symmetry the terms of b_lp are those of b_jp, and a sum of N_jl r_p^2 is
// sum_j (rows + columns of N)_j x_jp^2 - 2 x_p'N x_p.
Vector DerivativeNorms(const HessianFunction& function, const ConstMatrixRef& gram) {
  const double s2 = function.width * function.width;
  const double s4 = s2 * s2;
  const Matrix& x = function.rows;
  const Matrix& b = function.moments;
  const Vector& a = function.sums;
  const Matrix across = b * x.transpose();  // b_j'x_l
  const Vector own = across.diagonal();     // b_j'x_j
  const Index rows = x.rows();
  Matrix ahead = -across;  // b_j'(x_j - x_l)
  ahead.colwise() += own;
  Matrix behind = across.transpose();  // b_l'(x_j - x_l)
  behind.rowwise() -= own.transpose();
  Matrix q = a * a.transpose() + b * b.transpose() / s2 - ahead.cwiseProduct(behind) / s4;
  q -= (ahead * a.asDiagonal() - a.asDiagonal() * behind) / s2;
  const Matrix gq = gram.cwiseProduct(q);
  const Matrix w =
      gram.cwiseProduct(Matrix((Vector::Ones(rows) * a.transpose()) / s2 + behind / s4));
  const Vector totals = gq.rowwise().sum() + gq.colwise().sum().transpose();
  const Matrix gb = gram * b;
  const Matrix wx = w * x;
  const Matrix qx = gq * x;
  const Vector w_sums = w.rowwise().sum();
  const double q_sum = gq.sum();
  Vector norms(x.cols());
  for (Index p = 0; p < x.cols(); ++p) {
    const double squares = totals.dot(x.col(p).cwiseAbs2()) - 2 * x.col(p).dot(qx.col(p));
    const double moments = (b.col(p).cwiseProduct(w_sums)).dot(x.col(p)) - b.col(p).dot(wx.col(p));
    const double square =
        2 * b.col(p).dot(gb.col(p)) / s4 - 4 * moments / s2 - squares / s4 + q_sum / s2;
    norms(p) = std::sqrt(std::max(0.0, square));
  }
  return norms;
}

}  // namespace mercer
