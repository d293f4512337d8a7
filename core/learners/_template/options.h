// Options of the template learner.
#pragma once

#include "core/base/status/options.h"

namespace mercer::template_learner {

struct TemplateLearnerOptions {
  double C = 1.0;

  static const OptionSchema<TemplateLearnerOptions>& Fields();
};

}  // namespace mercer::template_learner
