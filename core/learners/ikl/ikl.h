// Problem      min over measures d of mass 1 on the bandwidths s of an interval of
//                max_a  sum_i y_i a_i - 1/2 int a'K_s a d(ds),
//                K_s(x, z) = exp(-|x - z|^2 / (2 s^2)),
//              a_i in its box of size C c_i, sum a = 0: a support vector machine (hinge loss) on
//              the best convex combination of infinitely many Gaussian kernels.
//              Dual: max_a y'a - max_s 1/2 a'K_s a.
// Source       Gehler, Nowozin: Infinite kernel learning. NIPS Workshop on Kernel Learning (2008),
//              as the baseline of Rakotomamonjy, Flamary, Yger: Learning with infinitely many
//              features. Machine Learning 91 (2013) 43-66; docs/mathematics/ikl.md.
// Notation     theta -> bandwidth, beta -> weights, v = alpha y -> dual,
//              twice T(theta; alpha) -> energies.
// Method       Multiple kernel learning over a list of bandwidths (solvers/mkl/mkl_loop.h); then
//              the bandwidth of largest energy enters the list, until none exceeds those in it by
//              more than `violation`.
// Guarantees   The certificate is about the kernels that are listed; its upper bound holds for the
//              whole interval, for which the metrics have a lower bound too, as far as the search
//              is global.
// Cost         Per SVM and per search a pass over the pairs of rows; n x n memory.
// Verified by  tests/core/learners/ikl, and the conformance suite.
#pragma once

#include <memory>

#include "core/learners/ikl/options.h"
#include "core/training/contract/learner.h"

namespace mercer::ikl {

LearnerEntry Entry();

absl::StatusOr<std::unique_ptr<Learner>> Create(const IklOptions& options);

}  // namespace mercer::ikl
