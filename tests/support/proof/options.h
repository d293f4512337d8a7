// Options of the learner of the proof.
#pragma once

#include "core/base/status/options.h"

namespace mercer::pair_ridge {

struct PairRidgeOptions {
  double C = 1.0;
  double sharing = 0.5;

  static const OptionSchema<PairRidgeOptions>& Fields();
};

}  // namespace mercer::pair_ridge
