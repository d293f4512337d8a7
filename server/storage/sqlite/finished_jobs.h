// The deletion of jobs that ended long ago.
#pragma once

#include "absl/status/statusor.h"

#include "server/storage/job_store.h"
#include "server/storage/sqlite/connection.h"

namespace mercer::server {

// Within a transaction; see JobStore::DeleteFinishedJobs.
absl::StatusOr<DeletedJobs> RemoveFinishedJobs(Connection& connection, const FinishedJobs& which);

}  // namespace mercer::server
