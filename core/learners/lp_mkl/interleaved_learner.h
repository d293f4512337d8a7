// lp-norm MKL with kernels of low rank whose weights change after every Newton step: the option
// outer_loop = interleaved. The problem is that of lp_mkl.h.
//
// Source       docs/mathematics/lp_mkl.md, section 7.
// Method       Proximal Newton steps of solvers/factor/factor_svm.h. After each, the weights become
//              the closed form for the norms that the function has in the kernels, which lowers the
//              same subproblem: its regulariser is the block norm then. The proximal step never
//              shrinks.
// Guarantees   The subproblem decreases with every Newton step and every change of the weights.
//              primal and dual of a report are bounds of the whole problem, all kernels included,
//              at every step.
// Cost         Per Newton step, besides it, one combination of the kernels and two passes over the
//              factor. Close to the default for p >= 2; for p near 1 the closed form comes closer
//              by a share 2 / (p + 1) only.
#pragma once

#include <memory>

#include "core/learners/lp_mkl/options.h"
#include "core/training/contract/learner.h"

namespace mercer::lp_mkl {

std::unique_ptr<Learner> MakeInterleavedLearner(const LpMklOptions& options);

}  // namespace mercer::lp_mkl
