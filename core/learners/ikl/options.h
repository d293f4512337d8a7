// Options of the learner `ikl`.
#pragma once

#include <cstdint>

#include "core/base/status/options.h"

namespace mercer::ikl {

struct IklOptions {
  double C = 1.0;
  double min_bandwidth = 0;
  double max_bandwidth = 0;
  double violation = 1e-4;
  int64_t max_kernels = 20;

  static const OptionSchema<IklOptions>& Fields();
};

}  // namespace mercer::ikl
