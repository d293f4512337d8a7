// All learners of this build. learners.inc is their only list.
#pragma once

#include <string_view>
#include <vector>

#include "core/training/contract/learner.h"

namespace mercer {

// The learners in the order of learners.inc. The entries live for ever.
const std::vector<const LearnerEntry*>& AllLearners();

// The learner of that name; null when there is none.
const LearnerEntry* FindLearner(std::string_view name);

}  // namespace mercer
