// lp-norm MKL whose weights and dual move together: the option outer_loop = smo_mkl. The problem is
// that of lp_mkl.h.
//
// Method       Pair steps on the joint dual (solvers/mkl/smo_mkl.h), 1.000001 <= p < inf, exact
//              kernels, hinge or epsilon-insensitive loss.
// Guarantees   primal and dual of a report are bounds of the whole problem, all kernels included,
//              at every step.
// Cost         Iterations as of SMO for one SVM, each a few passes over n x m numbers. A baseline:
//              tests/bench/lp_mkl_bench.cc compares it with the outer loops of lp_mkl.h.
#pragma once

#include <memory>

#include "core/base/status/byte_count.h"
#include "core/learners/lp_mkl/options.h"
#include "core/training/contract/learner.h"

namespace mercer::lp_mkl {

// Upper bound on what the solver adds to the families of learner and verifier.
ByteCount JointSolverBytes(const LpMklOptions& options, const ProblemShape& shape);

std::unique_ptr<Learner> MakeJointLearner(const LpMklOptions& options);

}  // namespace mercer::lp_mkl
