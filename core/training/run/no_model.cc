#include "core/training/run/no_model.h"

#include <string>

#include "absl/strings/str_cat.h"

#include "core/base/status/errors.h"

namespace mercer {

StopReason StopReasonOf(const Interruption& interruption) {
  return interruption.cause() == InterruptionCause::kStopRequested ? StopReason::kStopRequested
                                                                   : StopReason::kTimeLimit;
}

absl::Status NoModelError(StopReason reason) {
  const std::string name(StopReasonName(reason));
  return WithReason(absl::FailedPreconditionError(
                        absl::StrCat("the run ended (", name, ") before there was a model")),
                    "NO_MODEL", {{"stop_reason", name}});
}

}  // namespace mercer
