// Options of the learner `svm`.
#pragma once

#include "core/base/status/options.h"

namespace mercer::svm {

struct SvmOptions {
  double C = 1.0;
  double epsilon = 0.1;

  static const OptionSchema<SvmOptions>& Fields();
};

}  // namespace mercer::svm
