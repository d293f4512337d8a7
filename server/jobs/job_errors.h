// Why the server itself refuses a job or gives it up.
#pragma once

#include <cstdint>

#include "absl/status/status.h"

namespace mercer::server {

// kResourceExhausted, reason JOB_TOO_LARGE.
absl::Status JobTooLarge(int64_t estimate_bytes, int64_t budget_bytes);

// kInternal, reason JOB_CRASHED_WORKER: so many attempts of the job took the server down, the last with `signal`.
absl::Status JobCrashedWorker(int attempts, int signal);

// kInternal, reason JOB_LOST_REPEATEDLY: the server died so many times while the job ran and made no headway.
absl::Status JobLostRepeatedly(int attempts);

}  // namespace mercer::server
