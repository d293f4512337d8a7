// Terms of a model's function as messages.
#pragma once

#include "absl/status/status.h"

#include "core/training/terms/term.h"
#include "mercer/v1/model_version.pb.h"

namespace mercer::server {

// Adds the term to what `function` has: terms of kernels and of features with all that they are, those
// of other kinds by kind, size and shares. Errors: those of WriteMatrix.
absl::Status WriteTerm(const Term& term, v1::ModelFunction* function);

}  // namespace mercer::server
