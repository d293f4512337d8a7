// One learner per output: one-vs-all, one-vs-one, several regression targets; for learners that
// take one output. The first sub-problem runs by itself, the others in order, some side by side,
// each to its own accuracy and with a solution of one before as its warm start, and are reported as
// one run. With a limit of time each has a fair share of it before one has more; outputs that were
// not begun when a run is stopped are constant.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>

#include "core/training/contract/learner.h"
#include "core/training/run/split_outputs.h"

namespace mercer {

struct PartLimits {
  // How many parts are live at most. The result depends on it, and not on the threads that they
  // have.
  size_t at_once = 1;
  // Of all parts together: RunLimits::max_iterations.
  int64_t steps = std::numeric_limits<int64_t>::max();
};

// `entry` must outlive the learner.
std::unique_ptr<Learner> MakeCompositeLearner(const LearnerEntry& entry,
                                              const OptionValues& options,
                                              const PartLimits& limits = {});

}  // namespace mercer
