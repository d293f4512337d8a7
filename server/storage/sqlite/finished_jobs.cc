#include "server/storage/sqlite/finished_jobs.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "core/base/status/status_macros.h"
#include "server/storage/refusals.h"
#include "server/storage/sqlite/tables.h"

namespace mercer::server {
namespace {

struct FinishedJob {
  int64_t number = 0;
  std::string id;
};

absl::StatusOr<std::vector<FinishedJob>> SelectFinishedJobs(Connection& connection,
                                                            const FinishedJobs& which) {
  // The condition on the state is that of the index jobs_ended.
  MERCER_ASSIGN_OR_RETURN(
      Statement select,
      connection.Prepare("SELECT number, id, last_sequence FROM jobs WHERE state >= 5 AND "
                         "end_time < ? ORDER BY end_time, number LIMIT ?"));
  select.BindTime(which.ended_before).Bind(which.max_jobs);
  std::vector<FinishedJob> jobs;
  int64_t events = 0;
  while (true) {
    MERCER_ASSIGN_OR_RETURN(const bool more, select.Step());
    if (!more) {
      return jobs;
    }
    events += select.Int64(2);
    if (!jobs.empty() && events > which.max_events) {
      return jobs;
    }
    jobs.push_back({select.Int64(0), select.Bytes(1)});
  }
}

absl::Status DropCheckpointOf(Connection& connection, int64_t job,
                              std::vector<BlobDigest>& released) {
  MERCER_ASSIGN_OR_RETURN(
      Statement remove, connection.Prepare("DELETE FROM checkpoints WHERE job = ? RETURNING blob"));
  MERCER_ASSIGN_OR_RETURN(const bool found, remove.Bind(job).Step());
  if (!found) {
    return absl::OkStatus();
  }
  released.push_back(remove.Bytes(0));
  return remove.Run();
}

// All that belongs to the job goes with its row.
absl::Status RemoveRow(Connection& connection, int64_t job, std::vector<BlobDigest>& released) {
  MERCER_RETURN_IF_ERROR(DropCheckpointOf(connection, job, released));
  MERCER_ASSIGN_OR_RETURN(Statement remove,
                          connection.Prepare("DELETE FROM jobs WHERE number = ?"));
  return remove.Bind(job).Run();
}

}  // namespace

absl::StatusOr<DeletedJobs> RemoveFinishedJobs(Connection& connection, const FinishedJobs& which) {
  MERCER_ASSIGN_OR_RETURN(std::vector<FinishedJob> jobs, SelectFinishedJobs(connection, which));
  DeletedJobs deleted;
  for (FinishedJob& job : jobs) {
    MERCER_RETURN_IF_ERROR(RemoveRow(connection, job.number, deleted.released_blobs));
    deleted.ids.push_back(std::move(job.id));
  }
  return deleted;
}

absl::StatusOr<DeletedJob> RemoveJob(Connection& connection, const std::string& id,
                                     const OwnerCheck& check) {
  DeletedJob deleted;
  MERCER_ASSIGN_OR_RETURN(deleted.job, ReadJob(connection, id));
  MERCER_RETURN_IF_ERROR(CheckOwner(check, deleted.job.caller));
  if (!IsFinal(deleted.job.state)) {
    return JobNotFinal(id, deleted.job.state);
  }
  MERCER_RETURN_IF_ERROR(RemoveRow(connection, deleted.job.number, deleted.released_blobs));
  return deleted;
}

}  // namespace mercer::server
