// The problem that the options make of kernels and their groups, for learner and verifier alike.
#pragma once

#include <memory>
#include <vector>

#include "absl/status/statusor.h"

#include "core/base/process/run_context.h"
#include "core/kernels/gram/kernel_family.h"
#include "core/learners/mixed_norm_mkl/options.h"
#include "core/objectives/loss.h"
#include "core/objectives/simplex_program.h"
#include "core/solvers/mkl/machines.h"
#include "core/solvers/svm/svm_problem.h"
#include "core/training/contract/problem.h"

namespace mercer::mixed_norm_mkl {

// The groups of the kernels; one of all for regularization=l1.
SimplexGroups GroupsFor(const MixedNormMklOptions& options, const TrainingProblem& problem);

// The rows of the machine of each output among those of the task, as one run learns them together:
// those of its two classes for one-vs-one. Empty for one output.
std::vector<MachineRows> MachinesOf(const TrainingProblem& problem);

// The samples of these machines, one after the other, or of all rows when there are none. Errors:
// those of ReadSvmProblem.
absl::StatusOr<SvmProblem> ReadMachines(const TrainingProblem& problem,
                                        const std::vector<MachineRows>& machines,
                                        std::shared_ptr<const Loss> loss, double C);

// The weights that training begins with: n / n_j for the n_j kernels of one of n groups, and 1 for
// regularization=sum.
Vector FirstWeights(const MixedNormMklOptions& options, const TrainingProblem& problem);

// Of each kernel. Errors: kCancelled.
absl::StatusOr<Vector> TracesOf(const KernelFamily& family, RunContext& context);

// A group needs a kernel that is not 0 at the training rows: its norm is that of the others, which
// no function of zero kernels has, and its weight is 0. No trace may be so large that numbers made
// of it are out of range. Errors: kInvalidArgument, naming the group or the kernel.
absl::Status CheckGroups(const MixedNormMklOptions& options, const TrainingProblem& problem,
                         const Vector& traces);

// What C is multiplied by: with cost_scale=comparable the number of rows over the trace of the
// kernel of the first weights, else 1. Errors: kInvalidArgument when that trace is 0.
absl::StatusOr<double> CostFactor(const MixedNormMklOptions& options,
                                  const TrainingProblem& problem, const Vector& traces);

}  // namespace mercer::mixed_norm_mkl
