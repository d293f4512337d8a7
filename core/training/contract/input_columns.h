// The columns of a problem's feature blocks, side by side: for learners that work on columns.
#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"

#include "core/base/numeric/types.h"
#include "core/base/process/run_context.h"
#include "core/training/contract/problem.h"

namespace mercer {

Index CountInputs(const TrainingProblem& problem);
// Their names: those of the data set's columns.
std::vector<std::string> InputNames(const TrainingProblem& problem);
// The columns at these rows of the inputs. Errors: kInvalidArgument when their squares overflow,
// kCancelled.
absl::StatusOr<Matrix> ReadColumns(const TrainingProblem& problem, const std::vector<Index>& rows,
                                   RunContext& context);

}  // namespace mercer
