// The problem that the options make of kernels and their groups; learner and verifier read it alike.
#pragma once

#include "absl/status/statusor.h"

#include "core/base/process/run_context.h"
#include "core/kernels/gram/kernel_family.h"
#include "core/learners/mixed_norm_mkl/options.h"
#include "core/objectives/simplex_program.h"
#include "core/training/contract/problem.h"

namespace mercer::mixed_norm_mkl {

// The groups of the kernels; one of all for regularization=l1.
SimplexGroups GroupsFor(const MixedNormMklOptions& options, const TrainingProblem& problem);

// The weights that training begins with: n / n_j for the n_j kernels of one of n groups, and 1 for
// regularization=sum.
Vector FirstWeights(const MixedNormMklOptions& options, const TrainingProblem& problem);

// What C is multiplied by: with cost_scale=comparable the number of rows over the trace of the
// kernel of the first weights, else 1. Errors: kInvalidArgument when that trace is 0, kCancelled.
absl::StatusOr<double> CostFactor(const MixedNormMklOptions& options,
                                  const TrainingProblem& problem, const KernelFamily& family,
                                  RunContext& context);

}  // namespace mercer::mixed_norm_mkl
