// What the learner tells of groups and kernels.
#pragma once

#include <vector>

#include "core/base/numeric/types.h"
#include "core/base/status/byte_count.h"
#include "core/kernels/spec/kernel_spec.h"
#include "core/training/contract/problem.h"
#include "core/training/tables/model_table.h"

namespace mercer::mixed_norm_mkl {

// "kernel_groups": of each group the sum of its weights, the sum of the norms of its functions, in
// the user's unit of targets, how many kernels it has and how many of them are selected, that is
// have a weight above 0.
// "kernels_in_groups": of each kernel the number of its group, its weight, the share of the group's
// weight, the norm of its function, and whether it is selected. `energies`: dual'K_k dual of those
// with a weight, of all machines together.
std::vector<ModelTable> TablesOf(const TrainingProblem& problem, const Vector& weights,
                                 const Vector& energies);

// The groups of kernels with a weight above 0; 0 when kernels are in no groups.
Index CountActiveGroups(const std::vector<KernelSpec>& kernels, const Vector& weights);

// Upper bound on the bytes of the tables of all outputs.
ByteCount TableBytes(const ProblemShape& shape);

}  // namespace mercer::mixed_norm_mkl
