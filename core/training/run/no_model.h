// The error of a run that ended before it had anything to keep.
#pragma once

#include "absl/status/status.h"

#include "core/base/process/interruption.h"
#include "core/training/model/stop_reason.h"

namespace mercer {

// The reason to stop that an interruption is; it has a cause.
StopReason StopReasonOf(const Interruption& interruption);

// The error: kFailedPrecondition with reason NO_MODEL.
absl::Status NoModelError(StopReason reason);

}  // namespace mercer
