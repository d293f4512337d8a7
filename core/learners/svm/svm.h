// Problem      min_{f, b}  1/2 |f|^2 + C sum_i c_i l(y_i, f(x_i) + b),  f in the space of
//              K = sum_k K_k (fixed weights 1), l the hinge loss (classification) or the
//              epsilon-insensitive loss (regression), c_i the weights of the rows.
//              Dual: max  y'a - epsilon |a|_1 - 1/2 a'Ka,  a in the box, sum a = 0.
// Source       Fan, Chen, Lin: Working set selection using second order information for training
//              SVM. JMLR 6 (2005) 1889-1918. Smola, Schoelkopf: A tutorial on support vector
//              regression. Statistics and Computing 14 (2004) 199-222. docs/mathematics/svm.md.
// Notation     a -> dual (signed): f(x) = sum_i dual(i) K(x_i, x).
// Method       Sequential minimal optimisation (solvers/svm/smo.h) in slices of a fixed number of
//              iterations.
// Guarantees   primal and dual of a report are bounds of the optimum at every step. The accuracy is
//              that of the function itself, without the scaling that the solver's own gap allows;
//              when it misses what was asked for, the solver goes on.
// Cost         The combined Gram matrix of the rows once; two of its columns per iteration.
// Verified by  tests/core/learners/svm: fixtures of an independent cone solver, closed forms, and
//              the conformance suite.
#pragma once

#include <cstdint>
#include <memory>

#include "core/learners/svm/options.h"
#include "core/training/contract/learner.h"

namespace mercer::svm {

LearnerEntry Entry();

// `slice_iterations` of the solver make a step; 0: about 0.2 s by the number of rows.
std::unique_ptr<Learner> MakeLearner(const SvmOptions& options, int64_t slice_iterations = 0);

}  // namespace mercer::svm
