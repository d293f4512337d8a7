#include "server/storage/sqlite/job_changes.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"

#include "core/base/status/status_macros.h"
#include "server/storage/refusals.h"
#include "server/storage/sqlite/queue_changes.h"
#include "server/storage/sqlite/tables.h"
#include "server/storage/sqlite/version_changes.h"

// The numbers of JobState and AttemptReason stand in the SQL texts: 1 QUEUED, 2 RUNNING, 3
// CANCELLING, 4 VERIFYING, 7 CANCELLED.
namespace mercer::server {
namespace {

int64_t Number(JobState state) { return static_cast<int64_t>(state); }

absl::Status InsertJobDatasets(Connection& connection, int64_t job_number,
                               const std::vector<std::string>& ids) {
  int64_t position = 0;
  for (const std::string& id : ids) {
    MERCER_ASSIGN_OR_RETURN(
        Statement insert, connection.Prepare("INSERT INTO job_datasets(job, position, dataset_id) "
                                             "SELECT ?, ?, id FROM datasets WHERE id = ? "
                                             "AND hidden = 0"));
    MERCER_RETURN_IF_ERROR(insert.Bind(job_number).Bind(position++).Bind(id).Run());
    if (connection.changes() == 0) {
      return DatasetNotFound(id);
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<int64_t> InsertJobRow(Connection& connection, const NewJob& job) {
  MERCER_ASSIGN_OR_RETURN(
      Statement insert,
      connection.Prepare(
          "INSERT INTO jobs(id, state, caller, priority, request_id, request_digest, learner, "
          "model_name, memory_bytes, create_time, trace_id) "
          "VALUES (?, 1, ?, ?, ?, ?, ?, ?, ?, ?, ?) "
          "ON CONFLICT(id) DO NOTHING"));
  insert.Bind(job.id).Bind(job.caller).Bind(job.priority);
  if (job.request_id.empty()) {
    insert.BindNull();
  } else {
    insert.Bind(job.request_id);
  }
  insert.Bind(job.request_digest)
      .Bind(job.learner)
      .Bind(job.model_name)
      .Bind(job.memory_bytes)
      .BindTime(job.now)
      .Bind(job.trace_id);
  MERCER_RETURN_IF_ERROR(insert.Run());
  if (connection.changes() == 0) {
    return JobExists(job.id);
  }
  const int64_t number = connection.last_row_id();
  MERCER_ASSIGN_OR_RETURN(
      Statement request,
      connection.Prepare("INSERT INTO job_requests(job, request) VALUES (?, ?)"));
  MERCER_RETURN_IF_ERROR(request.Bind(number).BindBlob(job.request).Run());
  return number;
}

// Why a leased change touched no row.
absl::Status ExplainRefusal(Connection& connection, const Lease& lease) {
  MERCER_ASSIGN_OR_RETURN(
      Statement select,
      connection.Prepare("SELECT state FROM jobs WHERE id = ? AND lease_worker = ? AND epoch = ?"));
  MERCER_ASSIGN_OR_RETURN(const bool held,
                          select.Bind(lease.job_id).Bind(lease.worker).Bind(lease.epoch).Step());
  if (held && select.Int64(0) == Number(JobState::kCancelling)) {
    return CancelRequested(lease.job_id);
  }
  return LeaseLost(lease);
}

// Sets state, error and end of the leased job, and gives the lease back; answers the job's number.
absl::StatusOr<int64_t> ReleaseJobRow(Connection& connection, const AttemptEnd& end) {
  MERCER_ASSIGN_OR_RETURN(
      Statement update,
      connection.Prepare(
          "UPDATE jobs SET state = ?1, lease_worker = NULL, lease_until = NULL, end_time = ?2, "
          "error_code = ?3, error_message = ?4, error_details = ?5, not_before = ?9 "
          "WHERE id = ?6 AND lease_worker = ?7 AND epoch = ?8 AND (state IN (2, 4) OR ?1 = 7) "
          "RETURNING number"));
  update.Bind(Number(end.state)).BindTime(IsFinal(end.state) ? end.now : absl::InfinitePast());
  if (end.error.has_value()) {
    update.Bind(end.error->code).Bind(end.error->message).BindBlob(end.error->details);
  } else {
    update.BindNull().BindNull().BindNull();
  }
  update.Bind(end.lease.job_id).Bind(end.lease.worker).Bind(end.lease.epoch);
  update.Bind(NotBeforeColumn(end.not_before));
  MERCER_ASSIGN_OR_RETURN(const bool held, update.Step());
  if (!held) {
    return ExplainRefusal(connection, end.lease);
  }
  const int64_t number = update.Int64(0);
  MERCER_RETURN_IF_ERROR(update.Run());
  return number;
}

absl::Status CloseAttempt(Connection& connection, int64_t job_number, AttemptReason reason,
                          absl::Time now) {
  MERCER_ASSIGN_OR_RETURN(
      Statement update,
      connection.Prepare(
          "UPDATE attempts SET end_time = ?, reason = ? WHERE job = ? AND reason = 0"));
  return update.BindTime(now).Bind(static_cast<int64_t>(reason)).Bind(job_number).Run();
}

// Deletes the job's checkpoint; answers its blob.
absl::StatusOr<std::vector<BlobDigest>> DropCheckpoint(Connection& connection, int64_t job_number) {
  MERCER_ASSIGN_OR_RETURN(
      Statement remove, connection.Prepare("DELETE FROM checkpoints WHERE job = ? RETURNING blob"));
  MERCER_ASSIGN_OR_RETURN(const bool found, remove.Bind(job_number).Step());
  std::vector<BlobDigest> blobs;
  if (found) {
    blobs.push_back(remove.Bytes(0));
    MERCER_RETURN_IF_ERROR(remove.Run());
  }
  return blobs;
}

absl::StatusOr<bool> HasCheckpoint(Connection& connection, int64_t job_number) {
  MERCER_ASSIGN_OR_RETURN(Statement select,
                          connection.Prepare("SELECT 1 FROM checkpoints WHERE job = ?"));
  return select.Bind(job_number).Step();
}

absl::Status CancelWithError(Connection& connection, int64_t job_number,
                             const StopRequest& request) {
  MERCER_ASSIGN_OR_RETURN(
      Statement update,
      connection.Prepare("UPDATE jobs SET state = 7, end_time = ?, error_code = ?, "
                         "error_message = ?, error_details = ? WHERE number = ?"));
  const StoredError& error = request.no_model;
  update.BindTime(request.now).Bind(error.code).Bind(error.message).BindBlob(error.details);
  return update.Bind(job_number).Run();
}

// Answers the versions that the model no longer keeps.
absl::StatusOr<DeletedVersions> AddVersions(Connection& connection, int64_t job_number,
                                            const AttemptEnd& end) {
  std::string model;
  std::string owner;
  {
    MERCER_ASSIGN_OR_RETURN(
        Statement select,
        connection.Prepare("SELECT model_name, caller FROM jobs WHERE number = ?"));
    MERCER_ASSIGN_OR_RETURN(const bool found, select.Bind(job_number).Step());
    model = found ? select.Bytes(0) : "";
    owner = found ? select.Bytes(1) : "";
  }
  {
    // A new model is whose job was accepted first of those that have not ended: see CheckModelOwner.
    MERCER_ASSIGN_OR_RETURN(
        Statement earlier,
        connection.Prepare("SELECT caller FROM checked_jobs WHERE state < 5 AND model_name = ? AND "
                           "number < ? ORDER BY number LIMIT 1"));
    MERCER_ASSIGN_OR_RETURN(const bool found, earlier.Bind(model).Bind(job_number).Step());
    owner = found ? earlier.Bytes(0) : owner;
  }
  int64_t last = 0;
  for (const NewVersion& version : end.versions) {
    MERCER_ASSIGN_OR_RETURN(
        last, InsertVersion(connection, {model, owner}, end.lease.job_id, version, end.now));
  }
  MERCER_ASSIGN_OR_RETURN(Statement update,
                          connection.Prepare("UPDATE jobs SET model_version = ? WHERE number = ?"));
  MERCER_RETURN_IF_ERROR(update.Bind(last).Bind(job_number).Run());
  return DeleteOldVersions(connection, model);
}

// A model without versions is to be whose unfinished job was accepted first. If that one fails it is the next one's, so whoever
// trains under the name must be somebody who may change what each of them makes: he is refused before his training, and not after it.
absl::Status CheckModelOwner(Connection& connection, const NewJob& job) {
  MERCER_ASSIGN_OR_RETURN(
      Statement select,
      connection.Prepare("SELECT owner FROM checked_models AS models WHERE name = ? AND EXISTS "
                         "(SELECT 1 FROM versions WHERE model = models.number)"));
  MERCER_ASSIGN_OR_RETURN(const bool found, select.Bind(job.model_name).Step());
  if (found) {
    return CheckOwner(job.check, select.Bytes(0));
  }
  MERCER_ASSIGN_OR_RETURN(
      Statement awaited,
      connection.Prepare("SELECT caller FROM checked_jobs WHERE state < 5 AND model_name = ? "
                         "ORDER BY number"));
  awaited.Bind(job.model_name);
  while (true) {
    MERCER_ASSIGN_OR_RETURN(const bool more, awaited.Step());
    if (!more) {
      return absl::OkStatus();
    }
    MERCER_RETURN_IF_ERROR(CheckOwner(job.check, awaited.Bytes(0)));
  }
}

}  // namespace

absl::StatusOr<std::optional<JobRecord>> FindRequestedJob(Connection& connection,
                                                          const std::string& caller,
                                                          const std::string& request_id,
                                                          const std::string& request_digest) {
  std::string id;
  {
    MERCER_ASSIGN_OR_RETURN(
        Statement select,
        connection.Prepare(
            "SELECT id, request_digest FROM jobs WHERE caller = ? AND request_id = ?"));
    MERCER_ASSIGN_OR_RETURN(const bool found, select.Bind(caller).Bind(request_id).Step());
    if (!found) {
      return std::nullopt;
    }
    id = select.Bytes(0);
    if (select.Bytes(1) != request_digest) {
      return RequestIdReused(request_id, id);
    }
  }
  return ReadJob(connection, id);
}

absl::StatusOr<CreatedJob> InsertJob(Connection& connection, const NewJob& job) {
  if (!job.request_id.empty()) {
    MERCER_ASSIGN_OR_RETURN(
        std::optional<JobRecord> earlier,
        FindRequestedJob(connection, job.caller, job.request_id, job.request_digest));
    if (earlier.has_value()) {
      return CreatedJob{*std::move(earlier), false};
    }
  }
  MERCER_RETURN_IF_ERROR(CheckModelOwner(connection, job));
  MERCER_RETURN_IF_ERROR(CheckQuota(connection, job));
  MERCER_ASSIGN_OR_RETURN(const int64_t number, InsertJobRow(connection, job));
  MERCER_RETURN_IF_ERROR(InsertJobDatasets(connection, number, job.dataset_ids));
  MERCER_RETURN_IF_ERROR(InsertLabels(connection, LabelTable::kJobs, number, job.labels));
  MERCER_RETURN_IF_ERROR(AppendEvents(connection, number, {job.event}, job.now).status());
  MERCER_ASSIGN_OR_RETURN(JobRecord record, ReadJob(connection, job.id));
  return CreatedJob{std::move(record), true};
}

absl::StatusOr<RenewedLease> ExtendLease(Connection& connection, const Lease& lease,
                                         absl::Time lease_until) {
  MERCER_ASSIGN_OR_RETURN(
      Statement update,
      connection.Prepare("UPDATE jobs SET lease_until = ? WHERE id = ? AND lease_worker = ? AND "
                         "epoch = ? RETURNING state, stop_requested"));
  update.BindTime(lease_until).Bind(lease.job_id).Bind(lease.worker).Bind(lease.epoch);
  MERCER_ASSIGN_OR_RETURN(const bool held, update.Step());
  if (!held) {
    return LeaseLost(lease);
  }
  const RenewedLease renewed{static_cast<JobState>(update.Int64(0)), update.Int64(1) != 0};
  MERCER_RETURN_IF_ERROR(update.Run());
  return renewed;
}

absl::StatusOr<EventRecord> MarkVerifying(Connection& connection, const Lease& lease,
                                          const EventDraft& event, absl::Time now) {
  int64_t number = 0;
  {
    MERCER_ASSIGN_OR_RETURN(
        Statement update,
        connection.Prepare(
            "UPDATE jobs SET state = 4 WHERE id = ? AND lease_worker = ? AND epoch = ? "
            "AND state IN (2, 4) RETURNING number"));
    MERCER_ASSIGN_OR_RETURN(const bool held,
                            update.Bind(lease.job_id).Bind(lease.worker).Bind(lease.epoch).Step());
    if (!held) {
      return ExplainRefusal(connection, lease);
    }
    number = update.Int64(0);
    MERCER_RETURN_IF_ERROR(update.Run());
  }
  MERCER_ASSIGN_OR_RETURN(std::vector<EventRecord> events,
                          AppendEvents(connection, number, {event}, now));
  return std::move(events.front());
}

absl::StatusOr<std::optional<BlobDigest>> ReplaceCheckpoint(Connection& connection,
                                                            const Lease& lease,
                                                            const NewCheckpoint& checkpoint) {
  std::optional<BlobDigest> previous;
  {
    MERCER_ASSIGN_OR_RETURN(
        Statement select,
        connection.Prepare(
            "SELECT blob FROM checkpoints WHERE job = (SELECT number FROM jobs WHERE id = ?)"));
    MERCER_ASSIGN_OR_RETURN(const bool found, select.Bind(lease.job_id).Step());
    if (found && select.Bytes(0) != checkpoint.blob) {
      previous = select.Bytes(0);
    }
  }
  MERCER_ASSIGN_OR_RETURN(
      Statement upsert,
      connection.Prepare(
          "INSERT INTO checkpoints(job, attempt, iteration, code_version, blob, create_time) "
          "SELECT number, attempt, ?, ?, ?, ? FROM jobs WHERE id = ? AND lease_worker = ? AND "
          "epoch = ? "
          "ON CONFLICT(job) DO UPDATE SET attempt = excluded.attempt, iteration = "
          "excluded.iteration, "
          "code_version = excluded.code_version, blob = excluded.blob, create_time = "
          "excluded.create_time"));
  upsert.Bind(checkpoint.iteration)
      .Bind(checkpoint.code_version)
      .Bind(checkpoint.blob)
      .BindTime(checkpoint.now);
  MERCER_RETURN_IF_ERROR(upsert.Bind(lease.job_id).Bind(lease.worker).Bind(lease.epoch).Run());
  if (connection.changes() == 0) {
    return LeaseLost(lease);
  }
  return previous;
}

absl::StatusOr<EndedAttempt> FinishAttempt(Connection& connection, const AttemptEnd& end) {
  MERCER_ASSIGN_OR_RETURN(const int64_t number, ReleaseJobRow(connection, end));
  MERCER_RETURN_IF_ERROR(CloseAttempt(connection, number, end.reason, end.now));
  EndedAttempt result;
  if (IsFinal(end.state)) {
    MERCER_ASSIGN_OR_RETURN(result.released_blobs, DropCheckpoint(connection, number));
  }
  if (!end.versions.empty()) {
    MERCER_ASSIGN_OR_RETURN(DeletedVersions old, AddVersions(connection, number, end));
    result.deleted_versions = std::move(old.versions);
    result.released_blobs.insert(result.released_blobs.end(), old.released_blobs.begin(),
                                 old.released_blobs.end());
  }
  MERCER_ASSIGN_OR_RETURN(result.events, AppendEvents(connection, number, end.events, end.now));
  MERCER_ASSIGN_OR_RETURN(result.job, ReadJob(connection, end.lease.job_id));
  return result;
}

absl::StatusOr<JobRecord> ChangeJobLabels(Connection& connection, const std::string& id,
                                          const Labels& labels, const OwnerCheck& check) {
  MERCER_ASSIGN_OR_RETURN(JobRecord job, ReadJob(connection, id));
  MERCER_RETURN_IF_ERROR(CheckOwner(check, job.caller));
  MERCER_RETURN_IF_ERROR(ReplaceLabels(connection, LabelTable::kJobs, job.number, labels));
  job.labels = labels;
  return job;
}

absl::StatusOr<EndedAttempt> MarkCancelled(Connection& connection, const CancelRequest& request) {
  EndedAttempt result;
  MERCER_ASSIGN_OR_RETURN(result.job, ReadJob(connection, request.job_id));
  MERCER_RETURN_IF_ERROR(CheckOwner(request.check, result.job.caller));
  if (IsFinal(result.job.state)) {
    return JobIsFinal(request.job_id, result.job.state);
  }
  if (result.job.state == JobState::kCancelling) {
    return result;
  }
  const int64_t number = result.job.number;
  const bool queued = result.job.state == JobState::kQueued;
  const JobState next = queued ? JobState::kCancelled : JobState::kCancelling;
  {
    MERCER_ASSIGN_OR_RETURN(
        Statement update,
        connection.Prepare(
            "UPDATE jobs SET state = ?, end_time = ?, not_before = 0, error_code = NULL, "
            "error_message = NULL, error_details = NULL WHERE number = ?"));
    MERCER_RETURN_IF_ERROR(update.Bind(Number(next))
                               .BindTime(queued ? request.now : absl::InfinitePast())
                               .Bind(number)
                               .Run());
  }
  if (queued) {
    MERCER_ASSIGN_OR_RETURN(result.released_blobs, DropCheckpoint(connection, number));
  }
  MERCER_ASSIGN_OR_RETURN(
      result.events, AppendEvents(connection, number,
                                  {queued ? request.cancelled : request.cancelling}, request.now));
  MERCER_ASSIGN_OR_RETURN(result.job, ReadJob(connection, request.job_id));
  return result;
}

absl::StatusOr<EndedAttempt> MarkStopping(Connection& connection, const StopRequest& request) {
  EndedAttempt result;
  MERCER_ASSIGN_OR_RETURN(result.job, ReadJob(connection, request.job_id));
  MERCER_RETURN_IF_ERROR(CheckOwner(request.check, result.job.caller));
  const JobState state = result.job.state;
  if (IsFinal(state)) {
    return JobIsFinal(request.job_id, state);
  }
  if (state == JobState::kCancelling || result.job.stop_requested) {
    return result;
  }
  const int64_t number = result.job.number;
  EventDraft event = state == JobState::kVerifying ? request.verifying : request.running;
  if (state == JobState::kQueued) {
    MERCER_ASSIGN_OR_RETURN(const bool saved, HasCheckpoint(connection, number));
    event = saved ? request.queued : request.cancelled;
    if (!saved) {
      MERCER_RETURN_IF_ERROR(CancelWithError(connection, number, request));
    }
  }
  {
    MERCER_ASSIGN_OR_RETURN(
        Statement update,
        connection.Prepare("UPDATE jobs SET stop_requested = 1, not_before = 0 WHERE number = ?"));
    MERCER_RETURN_IF_ERROR(update.Bind(number).Run());
  }
  MERCER_ASSIGN_OR_RETURN(result.events, AppendEvents(connection, number, {event}, request.now));
  MERCER_ASSIGN_OR_RETURN(result.job, ReadJob(connection, request.job_id));
  return result;
}

}  // namespace mercer::server
