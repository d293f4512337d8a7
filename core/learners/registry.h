// All learners of this build. learners.inc is their only list.
#pragma once

#include <string_view>
#include <vector>

#include "core/training/learner.h"

namespace mercer {

// In the order of learners.inc. The entries live for ever.
const std::vector<const LearnerEntry*>& AllLearners();

// Null when there is none of that name.
const LearnerEntry* FindLearner(std::string_view name);

}  // namespace mercer
