// What the functions of gradient learning say: their values and gradients at rows, the order of the
// coordinates, inner products of the components.
//
// Source       docs/mathematics: learning gradients with coordinate weights.
#pragma once

#include <vector>

#include "absl/status/statusor.h"

#include "core/base/numeric/types.h"
#include "core/base/process/run_context.h"
#include "core/solvers/gradients/gradient_problem.h"

namespace mercer {

// f_0 = sum_j base(j) G(x_j, .), f_l = weights(l) sum_j moments(j, l) G(x_j, .) of the columns
// listed; all other f_l are 0.
struct GradientFunctions {
  Vector base;                 // m
  std::vector<Index> columns;  // of positive weight, ascending
  Vector weights;              // of these
  Matrix moments;              // m x these
};

GradientFunctions MakeGradientFunctions(const GradientProblem& problem, const Vector& weights,
                                        const Vector& dual);

// f_0 and the f_l of the columns at rows, from G between rows (n) and anchors (m).
struct GradientValues {
  Vector base;       // n
  Matrix gradients;  // n x columns
};
GradientValues ValuesAt(const GradientFunctions& functions, const ConstMatrixRef& gram);

// The coordinates by |f_l|, then by S_l, both decreasing, then by index. Scores are |f_l| over
// their sum; 0 where that is.
struct CoordinateRanking {
  std::vector<Index> order;
  Vector scores;  // by coordinate
};
CoordinateRanking RankCoordinates(const Vector& norms, const Vector& energies);

// <f_k, f_l> in the space of G for these coordinates. Errors: kCancelled.
absl::StatusOr<Matrix> GradientCovariance(const GradientProblem& problem, const Vector& weights,
                                          const Vector& dual, const std::vector<Index>& columns,
                                          RunContext& context);

// Orthonormal directions that hold most of |f|^2: eigenvectors of the matrix of all <f_k, f_l>, of
// which an m x m one has the same eigenvalues. The largest entry of each is positive. Eigenvalues
// below 1e-12 of the largest do not count.
struct GradientDirections {
  Vector eigenvalues;          // decreasing
  std::vector<Index> columns;  // that the directions have entries for
  Matrix directions;           // columns x count
};
enum class DirectionMeasure { kNorm, kRows };  // |.|^2 in the space of G; the mean over the rows
// Errors: kCancelled, kInternal.
absl::StatusOr<GradientDirections> LeadingDirections(const GradientProblem& problem,
                                                     const GradientFunctions& functions,
                                                     DirectionMeasure measure, Index most,
                                                     RunContext& context);

// The same of gradients that are known at rows: orthonormal directions that hold most of the sum of
// squares of `gradients`, rows x columns, as columns x directions; empty when all are 0.
absl::StatusOr<Matrix> LeadingDirectionsOfRows(const Matrix& gradients, Index most,
                                               RunContext& context);

// The function of the Hessian kernel of a Gaussian G,
//   f(x) = sum_j G(x, x_j) (a_j + b_j'(x - x_j) / s^2), a_j the sums, b_j the moments of anchor j.
struct HessianFunction {
  double width = 1;
  Matrix rows;     // x_j
  Vector sums;     // a
  Matrix moments;  // b, m x d
};
HessianFunction MakeHessianFunction(const GradientProblem& problem, double width,
                                    const Vector& dual);
// f and its gradient at rows, from their differences. Errors: kCancelled.
absl::StatusOr<GradientValues> ValuesAt(const HessianFunction& function, const ConstMatrixRef& rows,
                                        RunContext& context);
// |d f / d x_p| in the space of G for all p, in O(m^2 d).
Vector DerivativeNorms(const HessianFunction& function, const ConstMatrixRef& gram);

}  // namespace mercer
