// Why the server itself refuses a job or gives it up.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/status.h"

namespace mercer::server {

// kResourceExhausted, reason JOB_TOO_LARGE.
absl::Status JobTooLarge(int64_t estimate_bytes, int64_t budget_bytes);

// kUnavailable, reason DRAINING.
absl::Status ServerDraining();

// kAborted, reason JOB_CRASHED_WORKER: so many attempts of the job took the server down, the last with `signal`. Not
// kInternal, of which clients see neither message nor metadata.
absl::Status JobCrashedWorker(int attempts, int signal);

// kAborted, reason JOB_LOST_REPEATEDLY: the server died so many times while the job ran and made no headway.
absl::Status JobLostRepeatedly(int attempts);

// What the log may say of the error that ends a job: code and reason, and the message, but for errors about request and
// data. Those reach the client in full, and may quote a user's rows, which have no place in a log.
std::string LogTextOf(const absl::Status& error);

}  // namespace mercer::server
