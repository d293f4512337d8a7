// Options of the learner `csi`.
#pragma once

#include <cstdint>

#include "core/base/status/options.h"

namespace mercer::csi {

struct CsiLearnerOptions {
  double lambda = 1.0;
  int64_t max_pivots = 100;
  double kappa = 0.99;
  int64_t look_ahead = 40;
  double tolerance = 0;

  static const OptionSchema<CsiLearnerOptions>& Fields();
};

}  // namespace mercer::csi
