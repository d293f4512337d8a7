// The certificate of the template learner, recomputed from the data.
#pragma once

#include "core/learners/_template/options.h"
#include "core/training/contract/learner_entry.h"

namespace mercer::template_learner {

// Bounds of  min_f  1/2 |f|^2 + C sum_i c_i (y_i - f(x_i))^2  at f = sum_i a_i K(x_i, .) for the
// dual variables a of the witness:
//   primal  1/2 a'Ka + C sum_i c_i (y_i - (Ka)_i)^2
//   dual    a'y - 1/2 a'Ka - sum_i a_i^2 / (4 C c_i)
// A row of cost 0 has a_i = 0 in the dual. Errors: kFailedPrecondition (a row of cost 0 has a dual
// variable), kCancelled.
Verifier<TemplateLearnerOptions> Verify;

}  // namespace mercer::template_learner
