// The inner loops of sequential minimal optimisation, vectorised for the processor at hand. Every
// element's value depends on its own inputs only and ties go to the smallest position, so results
// have the same bits for every vector length.
//
// h is the gradient. Raising variable t gains score_t = -h(t) - up_cost(t) per unit, lowering it
// h(t) + down_gain(t); both extras are 0 for the plain support vector machine, and +infinity and
// -infinity exclude t. bb_t = score_i + h(t) + down_gain(t).
#pragma once

#include "core/base/numeric/types.h"

namespace mercer::smo {

// The variable that gains most from being raised; position -1 when all are excluded.
struct UpChoice {
  Index position = -1;
  double score = -kInfinity;
};

// The partner to lower: argmax bb_t^2 / a_t, a_t = max(K_ii + K_tt - 2 K_it, floor (K_ii + K_tt)),
// over bb_t > 0; -1 when there is none.
struct DownChoice {
  Index position = -1;
  double violation = -kInfinity;  // max_t bb_t
};

// Curvatures at or below this share of K_ii + K_tt are rounding errors of the stored columns.
inline constexpr double kCurvatureFloor = 1e-12;
inline constexpr double kSingleCurvatureFloor = 5e-7;

UpChoice ChooseUp(const double* h, const double* up_cost, Index size);

// The arrays that ChooseDown reads, of `size` entries each; T is the precision of the kernel
// columns.
template <typename T>
struct DownTerms {
  const double* h;
  const double* down_gain;
  const T* diagonal;
  Index size;
};

// `column` = K_i., diagonal_i = K_ii, `score` = score_i.
DownChoice ChooseDown(const DownTerms<double>& terms, const double* column, double diagonal_i,
                      double score);
DownChoice ChooseDown(const DownTerms<float>& terms, const float* column, double diagonal_i,
                      double score);

// Makes h += step (column_i - column_j), and ChooseUp of the result in the same pass over memory.
UpChoice UpdateAndChooseUp(double* h, const double* up_cost, const double* column_i,
                           const double* column_j, double step, Index size);
UpChoice UpdateAndChooseUp(double* h, const double* up_cost, const float* column_i,
                           const float* column_j, double step, Index size);

// out += sum_k weights[k] columns[k] for four columns.
void AddFourColumns(const double* const columns[4], const double weights[4], double* out,
                    Index size);

}  // namespace mercer::smo
