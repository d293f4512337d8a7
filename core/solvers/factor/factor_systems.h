// The two products that all solvers of a kernel K = X X' of explicit features are made of, X = rows
// root being never formed.
#pragma once

#include "absl/status/status.h"

#include "core/base/numeric/types.h"
#include "core/base/process/run_context.h"
#include "core/kernels/gram/kernel_operator.h"

namespace mercer {

// reduced = X'dual. Errors of all functions: kCancelled.
absl::Status ReduceDual(const FactoredKernel& kernel, const Vector& dual, Vector& reduced,
                        RunContext& context);
// scores = X coefficients.
absl::Status ScoreSamples(const FactoredKernel& kernel, const Vector& coefficients, Vector& scores,
                          RunContext& context);

}  // namespace mercer
