#include "core/training/model/stop_reason.h"

namespace mercer {

std::string_view StopReasonName(StopReason reason) {
  switch (reason) {
    case StopReason::kConverged:
      return "CONVERGED";
    case StopReason::kIterationLimit:
      return "ITERATION_LIMIT";
    case StopReason::kTimeLimit:
      return "TIME_LIMIT";
    case StopReason::kStopRequested:
      return "STOP_REQUESTED";
    case StopReason::kNumericalLimit:
      return "NUMERICAL_LIMIT";
    case StopReason::kObjectiveZero:
      return "OBJECTIVE_ZERO";
  }
  return "UNKNOWN";
}

}  // namespace mercer
