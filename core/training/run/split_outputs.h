// The sub-problems of a problem with several outputs.
#pragma once

#include <vector>

#include "core/training/contract/learner.h"

namespace mercer {

// The sub-problems of `problem` (one task whose targets hold one column per output): for one-vs-one
// the rows of the two classes only (targets of 0 mark rows that an output does not see), else all
// rows.
std::vector<TrainingProblem> SplitOutputs(const TrainingProblem& problem);
// The sub-problem of one output, and the positions of its rows among those of the task, ascending.
TrainingProblem SplitOutput(const TrainingProblem& problem, Index output);
std::vector<Index> RowsOfOutput(const TrainingProblem& problem, Index output);

// True when a run of this problem has a part for each output: there are several, and the learner
// takes one with these options, or their rows differ.
bool HasPartPerOutput(const LearnerEntry& entry, const OptionValues& options,
                      const TrainingProblem& problem);

}  // namespace mercer
