// What the data make of the problem: machines of one sample cost and target each, and columns.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"

#include "core/base/numeric/types.h"
#include "core/base/process/run_context.h"
#include "core/learners/svm_rfe/options.h"
#include "core/solvers/svm/svm_problem.h"
#include "core/training/contract/problem.h"

namespace mercer::svm_rfe {

// The columns of all feature blocks side by side.
Index CountInputs(const TrainingProblem& problem);
// Their names: those of the data set's columns.
std::vector<std::string> InputNames(const TrainingProblem& problem);

// Checks rows and options, and makes a machine for each output: rows that an output does not see
// have cost 0 there. Errors: kInvalidArgument naming the field, or with a reason of CheckTaskRows
// or ONE_CLASS.
absl::StatusOr<std::vector<SvmProblem>> ReadMachines(const SvmRfeOptions& options,
                                                     const TrainingProblem& problem);

// The columns at the rows of the task. Errors: kInvalidArgument when their squares overflow,
// kCancelled.
absl::StatusOr<Matrix> ReadColumns(const TrainingProblem& problem, RunContext& context);

}  // namespace mercer::svm_rfe
