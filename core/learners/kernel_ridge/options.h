// Options of the learner `kernel_ridge`.
#pragma once

#include "core/base/status/options.h"

namespace mercer::kernel_ridge {

struct KernelRidgeOptions {
  double lambda = 1.0;

  static const OptionSchema<KernelRidgeOptions>& Fields();
};

}  // namespace mercer::kernel_ridge
