// The template learner: a small complete learner to copy from.
#pragma once

#include "core/training/contract/learner.h"

namespace mercer::template_learner {

LearnerEntry Entry();

}  // namespace mercer::template_learner
