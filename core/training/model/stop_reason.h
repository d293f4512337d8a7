// Why a run ended with a model. Not converging is no error: the model is the best so far, and its
// certificate says how good.
#pragma once

#include <cstdint>
#include <string_view>

namespace mercer {

enum class StopReason : uint8_t {
  kConverged = 0,  // the certified accuracy is at most the one asked for
  kIterationLimit = 1,
  kTimeLimit = 2,
  kStopRequested = 3,   // the user wanted the best model so far
  kNumericalLimit = 4,  // no further progress in floating point
  kObjectiveZero = 5,   // the optimum is 0: a relative gap means nothing
};

// The name as others see it: "CONVERGED", "ITERATION_LIMIT", ...
std::string_view StopReasonName(StopReason reason);

}  // namespace mercer
