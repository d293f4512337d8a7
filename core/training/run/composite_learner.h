// One learner per output: one-vs-all, one-vs-one, several regression targets; for learners that
// take one output. Sub-problems run in order, each to its own accuracy and with the solution of the
// one before as its warm start, and are reported as one run. With a limit of time each has a fair
// share of it before one has more; outputs that were not begun when a run is stopped are constant.
#pragma once

#include <memory>
#include <vector>

#include "absl/status/statusor.h"

#include "core/training/contract/learner.h"
#include "core/training/targets/output_coding.h"

namespace mercer {

// The sub-problems of `problem` (one task whose targets hold one column per output): for one-vs-one
// the rows of the two classes only (targets of 0 mark rows that an output does not see), else all
// rows.
std::vector<TrainingProblem> SplitOutputs(const TrainingProblem& problem);
// The sub-problem of one output, and the positions of its rows among those of the task, ascending.
TrainingProblem SplitOutput(const TrainingProblem& problem, Index output);
std::vector<Index> RowsOfOutput(const TrainingProblem& problem, Index output);

// True when a run of this problem has a part for each output: there are several, and the learner
// takes one, or their rows differ.
bool HasPartPerOutput(const LearnerEntry& entry, const TrainingProblem& problem);

// `entry` must outlive the learner.
std::unique_ptr<Learner> MakeCompositeLearner(const LearnerEntry& entry,
                                              const OptionValues& options);

}  // namespace mercer
