// What a learner has come to: a function with its proof.
#pragma once

#include <optional>

#include "core/data/metrics/metrics.h"
#include "core/training/model/model.h"
#include "core/training/model/witness.h"

namespace mercer {

// A solution: the function and what its certificate is recomputed from.
struct TrainedPoint {
  ModelFunction function;
  Witness witness;
  ModelSummary summary;
  // The name and the value of the option that ended a search for kernels or features, when more
  // might have paid; absent when none did.
  std::optional<Metric> limit_reached = {};
};

}  // namespace mercer
