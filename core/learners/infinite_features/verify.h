// The certificate of the learner `infinite_features`, recomputed from the data.
#pragma once

#include "core/learners/infinite_features/options.h"
#include "core/training/contract/learner_entry.h"

namespace mercer::infinite_features {

// Bounds of the problem with the features that the witness lists, at its weights and biases
// (docs/mathematics/infinite_features.md, section 5):
//
//   primal  sum_t sum_i c_i l(y(i,t), f_t(x_i)) + lambda sum_g u_g N(W_g)
//                                               + lambda_shared sum_g u_g N(w_g),
//           i over the rows of task t
//   dual    the largest value of the dual objective on the ray through the dual of the witness
//           made feasible: clipped to its boxes, its sums over each task 0, dual norms of its
//           products with the columns of each group g at most lambda u_g, and those of the
//           sums of the products over the tasks at most lambda_shared u_g
//
// Columns are evaluated in double precision, and their scales must be those that the options ask
// for. Written for itself: nothing here is used by the solver. Errors: kFailedPrecondition (the
// witness is not of these rows and options), kCancelled.
Verifier<InfiniteFeaturesOptions> Verify;

}  // namespace mercer::infinite_features
