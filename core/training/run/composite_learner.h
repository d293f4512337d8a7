// One learner per output: one-vs-all, one-vs-one, several regression targets; for learners that
// take one output. The first sub-problem runs by itself, the others in order, some side by side,
// each to its own accuracy and with a solution of one before as its warm start, and are reported as
// one run. With a limit of time each has a fair share of it before one has more; outputs that were
// not begun when a run is stopped are constant.
#pragma once

#include <memory>

#include "core/training/contract/learner.h"
#include "core/training/run/run_training.h"
#include "core/training/run/split_outputs.h"

namespace mercer {

// `entry` must outlive the learner. Of the limits those of parts and iterations are its business:
// the steps of all parts together are no more than max_iterations.
std::unique_ptr<Learner> MakeCompositeLearner(const LearnerEntry& entry,
                                              const OptionValues& options,
                                              const RunLimits& limits = {});

}  // namespace mercer
