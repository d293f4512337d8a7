// Problem      min_{f, b}  lambda/2 |f|^2 + sum_i c_i (y_i - f(x_i) - b)^2,  f in the space of
//              K = sum_k K_k (fixed weights 1); a sum over rows, not a mean; the loss carries no
//              factor 1/2; the bias is not penalised. Classification: y = -1, +1.
// Source       Saunders, Gammerman, Vovk: Ridge regression learning algorithm in dual variables.
//              ICML 1998, 515-521. With the bias: Suykens, Vandewalle: Least squares support vector
//              machine classifiers. Neural Processing Letters 9 (1999) 293-300.
// Notation     f(x) = sum_i dual(i) K(x_i, x), dual = (2 c / lambda) (y - f - b), hence
//                (K + diag(lambda / (2 c))) dual + b 1 = y,  1'dual = 0.
// Method       Blocked Cholesky factor, refined by exact residuals (core/solvers/factor/ridge.h).
// Guarantees   The optimum up to rounding; the certificate's gap says how far that goes.
// Cost         n^3 / 3 operations in one step, cancelled within it but resumed from its beginning;
//              one n x n matrix besides the Gram matrix.
// Verified by  tests/core/learners/kernel_ridge: closed forms, a dense solution of the whole
//              system, and the conformance suite.
#pragma once

#include "core/training/contract/learner.h"

namespace mercer::kernel_ridge {

LearnerEntry Entry();

}  // namespace mercer::kernel_ridge
