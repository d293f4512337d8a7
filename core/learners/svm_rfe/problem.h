// What the data make of the problem: machines of one sample cost and target each, and columns.
#pragma once

#include <vector>

#include "absl/status/statusor.h"

#include "core/learners/svm_rfe/options.h"
#include "core/solvers/svm/svm_problem.h"
#include "core/training/contract/problem.h"

namespace mercer::svm_rfe {

// Checks rows and options, and makes a machine for each output: rows that an output does not see
// have cost 0 there. Errors: kInvalidArgument naming the field, or with a reason of CheckTaskRows
// or ONE_CLASS.
absl::StatusOr<std::vector<SvmProblem>> ReadMachines(const SvmRfeOptions& options,
                                                     const TrainingProblem& problem);

}  // namespace mercer::svm_rfe
