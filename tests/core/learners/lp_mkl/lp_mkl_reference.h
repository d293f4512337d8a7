// A slow, obvious reference for small problems: accelerated projected gradient ascent on the dual.
#pragma once

#include <vector>

#include "core/base/numeric/types.h"

namespace mercer::lp_mkl {

// max y'a - epsilon |a|_1 - 1/2 |s(a)|_q,  s_k = a'K_k a,  -cost <= a <= cost,  sum a = 0,  q = p /
// (p - 1), p > 1.
struct ReferenceProblem {
  std::vector<Matrix> grams;
  Vector targets;
  double p = 2;
  double cost = 1;
  double epsilon = 0.1;
};

struct ReferenceSolution {
  Vector dual;
  double value = 0;  // of the dual objective: a lower bound of the optimum, up to rounding
};

double ReferenceValue(const ReferenceProblem& problem, const Vector& dual);
// (s_k / |s|_q)^(q - 1): the weights at the optimum.
Vector ReferenceWeights(const ReferenceProblem& problem, const Vector& dual);
ReferenceSolution SolveReference(const ReferenceProblem& problem);

}  // namespace mercer::lp_mkl
