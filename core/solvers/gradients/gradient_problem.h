// Problem      min over functions f_0, f_1 .. f_d of the space of a kernel G
//                C sum_p w_p l(y_p, t_p)  +  1/2 |f_0|^2  +  1/2 sum_l |f_l|^2 / beta_l,
//              t_p = f_0(x_j) + f(x_j)'(x_i - x_j) for the pairs p = (i, j), y_p = y_i. With fixed
//              weights beta_l, or over those of the simplex, where the last term becomes
//              1/2 (sum_l |f_l|)^2.
// Dual         max sum_p -conjugate_p(-v_p) - 1/2 |f_0|^2 - sum_l beta_l S_l over signed dual
//              variables v_p, f_0 = sum_j s_j G(x_j, .) with s_j = sum of v_p over the pairs of
//              anchor j, S_l = 1/2 r_l'G r_l with r_l(j) = the sum of v_p (x_i - x_j)_l over the
//              same pairs; f_l = beta_l sum_j r_l(j) G(x_j, .), |f_l| = beta_l sqrt(2 S_l). Over
//              the simplex: - max_l S_l in place of the last sum.
// Source       docs/mathematics: learning gradients with coordinate weights.
//
// There is no bias.
#pragma once

#include <memory>
#include <vector>

#include "absl/status/statusor.h"

#include "core/base/numeric/types.h"
#include "core/base/process/run_context.h"
#include "core/objectives/loss.h"
#include "core/solvers/gradients/pair_weights.h"

namespace mercer {

struct GradientProblem {
  std::shared_ptr<const Loss> loss;  // square, hinge or squared hinge
  Matrix rows;                       // m x d, columns of mean 0
  Vector means;                      // what was taken from the columns
  GradientPairs pairs;
  Matrix gram;          // G, m x m
  Matrix leading;       // L, G is near L L' (pair_preconditioner.h); empty: not known
  Vector pair_targets;  // y_p
  Vector pair_costs;    // C w_p

  Index num_rows() const { return rows.rows(); }
  Index num_columns() const { return rows.cols(); }
  Index num_pairs() const { return pairs.size(); }
};

// What is wrong with a cost, rows and targets. Errors: kInvalidArgument, naming C, X or y.
absl::Status CheckGradientData(const Loss& loss, double cost, const ConstMatrixRef& rows,
                               const ConstVectorRef& targets);

// Errors: those of CheckGradientData; kInvalidArgument when pairs or `gram` do not fit.
absl::StatusOr<GradientProblem> MakeGradientProblem(std::shared_ptr<const Loss> loss, double cost,
                                                    Matrix rows, const Vector& targets,
                                                    GradientPairs pairs, Matrix gram);

// s(j), the sums of a dual over the pairs of each anchor.
Vector AnchorSums(const GradientPairs& pairs, const ConstVectorRef& dual);
// r(j) of a column, the sums of v_p (column(i) - column(j)).
void AnchorMoments(const GradientPairs& pairs, const ConstVectorRef& dual,
                   const ConstVectorRef& column, VectorRef out);
// out(p) += (column(i) - column(j)) values(j).
void AddPairValues(const GradientPairs& pairs, const ConstVectorRef& column,
                   const ConstVectorRef& values, VectorRef out);

enum class CoordinateWeights { kFixed, kSimplex };

// A function and bounds of the optimum.
struct GradientPoint {
  Vector dual;           // feasible
  Vector weights;        // beta
  Vector energies;       // S_l of all columns
  Vector predictions;    // t_p
  double base_norm = 0;  // |f_0|^2
  double linear = 0;     // the sum of -conjugate_p(-v_p)
  double upper = kInfinity;
  double lower = -kInfinity;

  // |f_l|.
  Vector Norms() const { return weights.cwiseProduct((2 * energies).cwiseSqrt()); }
  // What the slopes -S_l of J say that other weights on the simplex could gain at most.
  double GapOfWeights() const { return energies.maxCoeff() - weights.dot(energies); }
};

double RelativeGradientGap(double upper, double lower);

// The function of any dual, which is made feasible, and any weights >= 0 (of the sum 1 on the
// simplex). One pass over all columns, from the data; shares nothing with any solver. Errors:
// kCancelled.
absl::StatusOr<GradientPoint> EvaluateGradients(const GradientProblem& problem,
                                                CoordinateWeights kind, Vector weights, Vector dual,
                                                RunContext& context);

}  // namespace mercer
