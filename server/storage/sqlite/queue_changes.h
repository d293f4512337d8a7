// The order of the queue and its limits (job_store.h), as functions on a connection.
#pragma once

#include <cstdint>
#include <optional>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

#include "server/storage/job_store.h"
#include "server/storage/sqlite/database/connection.h"

namespace mercer::server {

// What the column not_before holds: 0 for a job that may be taken at once.
int64_t NotBeforeColumn(absl::Time not_before);

// Errors: kResourceExhausted (QUOTA_EXCEEDED).
absl::Status CheckQuota(Connection& connection, const NewJob& job);

// `clock`: what that of the storage says.
absl::StatusOr<std::optional<JobRecord>> ClaimNextJob(Connection& connection,
                                                      const ClaimRequest& request,
                                                      absl::Time clock);

absl::StatusOr<absl::Time> FindNextReadyTime(Connection& connection);

}  // namespace mercer::server
