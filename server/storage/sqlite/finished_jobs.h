// The deletion of jobs that have ended.
#pragma once

#include <string>

#include "absl/status/statusor.h"

#include "server/storage/job_store.h"
#include "server/storage/sqlite/database/connection.h"

namespace mercer::server {

// Within a transaction; see JobStore::DeleteFinishedJobs.
absl::StatusOr<DeletedJobs> RemoveFinishedJobs(Connection& connection, const FinishedJobs& which);

// Within a transaction; see JobStore::DeleteJob.
absl::StatusOr<DeletedJob> RemoveJob(Connection& connection, const std::string& id,
                                     const OwnerCheck& check);

}  // namespace mercer::server
