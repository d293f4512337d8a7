// Problem      min_{f, b, d}  1/2 sum_k |f_k|^2 / d_k + C sum_i c_i l(y_i, f(x_i) + b),
//              f = sum_k f_k, d >= 0, |d|_p <= 1, 1 <= p <= inf; c_i the weights of the rows; l the
//              hinge, the squared hinge or the logistic loss (classification), the
//              epsilon-insensitive or the square loss (regression), as core/objectives has them,
//              without factors 1/2.
//              Dual: max  sum_i -conjugate_i(-a_i) - 1/2 |s(a)|_q,  s_k = a'K_k a, sum a = 0,
//              q = p / (p - 1).
// Source       Kloft, Brefeld, Sonnenburg, Zien: lp-norm multiple kernel learning. JMLR 12 (2011)
//              953-997; docs/mathematics/lp_mkl.md, sections 1 to 6.
// Notation     d -> weights, a -> dual (signed), s -> energies; f_k = d_k K_k a.
// Method       SVMs of fixed weights and steps of the weights in turn (solvers/mkl/mkl_loop.h).
//              p = inf: a single SVM.
// Guarantees   primal and dual of a report are bounds of the whole problem, all kernels included,
//              at every step.
// Cost         Per SVM one combination of kernels, all energies, and the solver's steps; 3 to 12
//              SVMs.
// Verified by  tests/core/learners/lp_mkl: fixtures of an independent cone solver, and the
//              properties of docs/mathematics/lp_mkl.md, section 10.
#pragma once

#include <memory>

#include "core/learners/lp_mkl/options.h"
#include "core/training/contract/learner.h"

namespace mercer::lp_mkl {

LearnerEntry Entry();

// That of SVMs and steps in turn.
std::unique_ptr<Learner> MakeAlternatingLearner(const LpMklOptions& options);

}  // namespace mercer::lp_mkl
