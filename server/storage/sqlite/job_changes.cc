#include "server/storage/sqlite/job_changes.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"

#include "core/base/status/status_macros.h"
#include "server/storage/refusals.h"
#include "server/storage/sqlite/queue_changes.h"
#include "server/storage/sqlite/sqlite_dataset_store.h"
#include "server/storage/sqlite/tables.h"
#include "server/storage/sqlite/version_changes.h"

// The numbers of JobState stand in the SQL texts: 1 QUEUED; from 5 on they are final.
namespace mercer::server {
namespace {

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
          "model_name, memory_bytes, create_time, trace_id, kind) "
          "VALUES (?, 1, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) "
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
      .Bind(job.trace_id)
      .Bind(static_cast<int64_t>(job.kind));
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

absl::StatusOr<std::optional<BlobDigest>> CheckpointBlob(Connection& connection,
                                                         int64_t job_number) {
  MERCER_ASSIGN_OR_RETURN(Statement select,
                          connection.Prepare("SELECT blob FROM checkpoints WHERE job = ?"));
  MERCER_ASSIGN_OR_RETURN(const bool found, select.Bind(job_number).Step());
  return found ? std::optional<BlobDigest>(select.Bytes(0)) : std::nullopt;
}

absl::Status WriteJobRow(Connection& connection, const JobRecord& job) {
  MERCER_ASSIGN_OR_RETURN(
      Statement update,
      connection.Prepare(
          "UPDATE jobs SET state = ?, attempt = ?, epoch = ?, lease_worker = ?, lease_until = ?, "
          "stop_requested = ?, not_before = ?, start_time = ?, end_time = ?, error_code = ?, "
          "error_message = ?, error_details = ? WHERE number = ?"));
  update.Bind(static_cast<int64_t>(job.state)).Bind(job.attempt).Bind(job.epoch);
  if (job.lease_worker.empty()) {
    update.BindNull();
  } else {
    update.Bind(job.lease_worker);
  }
  update.BindTime(job.lease_until)
      .Bind(job.stop_requested ? 1 : 0)
      .Bind(NotBeforeColumn(job.not_before))
      .BindTime(job.start_time)
      .BindTime(job.end_time);
  if (job.error.has_value()) {
    update.Bind(job.error->code).Bind(job.error->message).BindBlob(job.error->details);
  } else {
    update.BindNull().BindNull().BindNull();
  }
  return update.Bind(job.number).Run();
}

absl::Status WriteAttempt(Connection& connection, int64_t job_number,
                          const AttemptRecord& attempt) {
  if (attempt.reason == AttemptReason::kRunning) {
    MERCER_ASSIGN_OR_RETURN(Statement insert,
                            connection.Prepare("INSERT INTO attempts(job, attempt, host, worker, "
                                               "start_time) VALUES (?, ?, ?, ?, ?)"));
    insert.Bind(job_number).Bind(attempt.attempt).Bind(attempt.host).Bind(attempt.worker);
    return insert.BindTime(attempt.start_time).Run();
  }
  MERCER_ASSIGN_OR_RETURN(
      Statement update,
      connection.Prepare(
          "UPDATE attempts SET end_time = ?, reason = ? WHERE job = ? AND attempt = ?"));
  update.BindTime(attempt.end_time).Bind(static_cast<int64_t>(attempt.reason));
  return update.Bind(job_number).Bind(attempt.attempt).Run();
}

absl::Status DropCheckpoint(Connection& connection, int64_t job_number) {
  MERCER_ASSIGN_OR_RETURN(Statement remove,
                          connection.Prepare("DELETE FROM checkpoints WHERE job = ?"));
  return remove.Bind(job_number).Run();
}

// What a request to a job has made of it; `change`, if any, is written already.
absl::StatusOr<EndedAttempt> AnswerTransition(Connection& connection, const std::string& job_id,
                                              std::optional<JobTransition> change) {
  EndedAttempt result;
  if (change.has_value()) {
    result.events = std::move(change->events);
    if (change->dropped_checkpoint.has_value()) {
      result.released_blobs.push_back(*change->dropped_checkpoint);
    }
  }
  MERCER_ASSIGN_OR_RETURN(result.job, ReadJob(connection, job_id));
  return result;
}

// Of a job that anybody may ask for. Errors: kNotFound.
struct FoundJob {
  JobRecord row;
  std::optional<BlobDigest> checkpoint;
};
absl::StatusOr<FoundJob> FindJob(Connection& connection, const std::string& id) {
  FoundJob found;
  MERCER_ASSIGN_OR_RETURN(found.row, ReadJobRow(connection, id));
  if (found.row.id.empty()) {
    return JobNotFound(id);
  }
  MERCER_ASSIGN_OR_RETURN(found.checkpoint, CheckpointBlob(connection, found.row.number));
  return found;
}

// Answers the versions that the model no longer keeps.
absl::StatusOr<DeletedVersions> AddVersions(Connection& connection, const JobRecord& job,
                                            const AttemptEnd& end) {
  std::string owner = job.caller;
  {
    // A new model is whose job was accepted first of those that have not ended: see CheckModelOwner.
    MERCER_ASSIGN_OR_RETURN(
        Statement earlier,
        connection.Prepare("SELECT caller FROM checked_jobs WHERE state < 5 AND model_name = ? AND "
                           "number < ? ORDER BY number LIMIT 1"));
    MERCER_ASSIGN_OR_RETURN(const bool found, earlier.Bind(job.model_name).Bind(job.number).Step());
    owner = found ? earlier.Bytes(0) : owner;
  }
  int64_t last = 0;
  for (const NewVersion& version : end.versions) {
    MERCER_ASSIGN_OR_RETURN(
        last, InsertVersion(connection, {job.model_name, owner}, job.id, version, end.now));
  }
  MERCER_ASSIGN_OR_RETURN(Statement update,
                          connection.Prepare("UPDATE jobs SET model_version = ? WHERE number = ?"));
  MERCER_RETURN_IF_ERROR(update.Bind(last).Bind(job.number).Run());
  return DeleteOldVersions(connection, job.model_name);
}

absl::Status StoreResult(Connection& connection, const JobRecord& job, const AttemptEnd& end) {
  if (end.dataset.has_value()) {
    DatasetRecord dataset = *end.dataset;
    dataset.owner = job.caller;
    MERCER_RETURN_IF_ERROR(InsertDataset(connection, dataset).status());
  }
  if (end.result.empty()) {
    return absl::OkStatus();
  }
  MERCER_ASSIGN_OR_RETURN(Statement update,
                          connection.Prepare("UPDATE jobs SET result = ? WHERE number = ?"));
  return update.BindBlob(end.result).Bind(job.number).Run();
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
  if (job.kind == JobKind::kTraining) {
    MERCER_RETURN_IF_ERROR(CheckModelOwner(connection, job));
  }
  MERCER_RETURN_IF_ERROR(CheckQuota(connection, job));
  MERCER_ASSIGN_OR_RETURN(const int64_t number, InsertJobRow(connection, job));
  MERCER_RETURN_IF_ERROR(InsertJobDatasets(connection, number, job.dataset_ids));
  MERCER_RETURN_IF_ERROR(InsertLabels(connection, LabelTable::kJobs, number, job.labels));
  MERCER_RETURN_IF_ERROR(
      AppendEvents(connection, number, PlanFirstEvent(job.event, job.now).events));
  MERCER_ASSIGN_OR_RETURN(JobRecord record, ReadJob(connection, job.id));
  return CreatedJob{std::move(record), true};
}

absl::Status WriteTransition(Connection& connection, const JobTransition& change) {
  MERCER_RETURN_IF_ERROR(WriteJobRow(connection, change.job));
  if (change.attempt.has_value()) {
    MERCER_RETURN_IF_ERROR(WriteAttempt(connection, change.job.number, *change.attempt));
  }
  if (change.dropped_checkpoint.has_value()) {
    MERCER_RETURN_IF_ERROR(DropCheckpoint(connection, change.job.number));
  }
  return AppendEvents(connection, change.job.number, change.events);
}

absl::StatusOr<RenewedLease> ExtendLease(Connection& connection, const Lease& lease,
                                         absl::Duration duration, absl::Time clock) {
  MERCER_ASSIGN_OR_RETURN(const JobRecord job, ReadJobRow(connection, lease.job_id));
  MERCER_ASSIGN_OR_RETURN(const JobTransition change, PlanRenewal(job, lease, duration, clock));
  MERCER_RETURN_IF_ERROR(WriteTransition(connection, change));
  return RenewedLease{change.job.state, change.job.stop_requested};
}

absl::Status EndAllLeases(Connection& connection) {
  MERCER_ASSIGN_OR_RETURN(
      Statement update,
      connection.Prepare("UPDATE jobs SET lease_until = 0 WHERE state BETWEEN 2 AND 4 AND "
                         "lease_until > 0"));
  return update.Run();
}

absl::StatusOr<std::vector<HeldJob>> FindHeldJobs(Connection& connection, absl::Time clock) {
  MERCER_ASSIGN_OR_RETURN(
      Statement select,
      connection.Prepare("SELECT id, lease_worker, epoch, state, stop_requested, lease_until FROM "
                         "checked_jobs WHERE state BETWEEN 2 AND 4"));
  std::vector<HeldJob> held;
  while (true) {
    MERCER_ASSIGN_OR_RETURN(const bool more, select.Step());
    if (!more) {
      return held;
    }
    held.push_back({{select.Bytes(0), select.Bytes(1), select.Int64(2)},
                    static_cast<JobState>(select.Int64(3)),
                    select.Int64(4) != 0,
                    select.Time(5) <= clock});
  }
}

absl::StatusOr<EventRecord> MarkVerifying(Connection& connection, const Lease& lease,
                                          const EventDraft& event, absl::Time now) {
  MERCER_ASSIGN_OR_RETURN(const JobRecord job, ReadJobRow(connection, lease.job_id));
  MERCER_ASSIGN_OR_RETURN(JobTransition change, PlanVerifying(job, lease, event, now));
  MERCER_RETURN_IF_ERROR(WriteTransition(connection, change));
  return std::move(change.events.front());
}

absl::StatusOr<std::optional<BlobDigest>> ReplaceCheckpoint(Connection& connection,
                                                            const Lease& lease,
                                                            const NewCheckpoint& checkpoint) {
  MERCER_ASSIGN_OR_RETURN(const JobRecord job, ReadJobRow(connection, lease.job_id));
  MERCER_ASSIGN_OR_RETURN(const CheckpointRecord next, PlanCheckpoint(job, lease, checkpoint));
  MERCER_ASSIGN_OR_RETURN(std::optional<BlobDigest> previous,
                          CheckpointBlob(connection, job.number));
  MERCER_ASSIGN_OR_RETURN(
      Statement upsert,
      connection.Prepare(
          "INSERT INTO checkpoints(job, attempt, iteration, code_version, blob, create_time) "
          "VALUES (?, ?, ?, ?, ?, ?) "
          "ON CONFLICT(job) DO UPDATE SET attempt = excluded.attempt, iteration = "
          "excluded.iteration, "
          "code_version = excluded.code_version, blob = excluded.blob, create_time = "
          "excluded.create_time"));
  upsert.Bind(job.number).Bind(next.attempt).Bind(next.iteration).Bind(next.code_version);
  MERCER_RETURN_IF_ERROR(upsert.Bind(next.blob).BindTime(next.create_time).Run());
  return previous == next.blob ? std::nullopt : previous;
}

absl::StatusOr<EndedAttempt> FinishAttempt(Connection& connection, const AttemptEnd& end,
                                           absl::Time clock) {
  MERCER_ASSIGN_OR_RETURN(const JobRecord job, ReadJobRow(connection, end.lease.job_id));
  MERCER_ASSIGN_OR_RETURN(const std::optional<BlobDigest> checkpoint,
                          CheckpointBlob(connection, job.number));
  MERCER_ASSIGN_OR_RETURN(JobTransition change, PlanEnd(job, checkpoint, end, clock));
  MERCER_RETURN_IF_ERROR(WriteTransition(connection, change));
  DeletedVersions old;
  if (!end.versions.empty()) {
    MERCER_ASSIGN_OR_RETURN(old, AddVersions(connection, job, end));
  }
  MERCER_RETURN_IF_ERROR(StoreResult(connection, job, end));
  MERCER_ASSIGN_OR_RETURN(EndedAttempt result,
                          AnswerTransition(connection, job.id, std::move(change)));
  result.deleted_versions = std::move(old.versions);
  result.released_blobs.insert(result.released_blobs.end(), old.released_blobs.begin(),
                               old.released_blobs.end());
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
  MERCER_ASSIGN_OR_RETURN(const FoundJob job, FindJob(connection, request.job_id));
  MERCER_ASSIGN_OR_RETURN(std::optional<JobTransition> change,
                          PlanCancel(job.row, job.checkpoint, request));
  if (change.has_value()) {
    MERCER_RETURN_IF_ERROR(WriteTransition(connection, *change));
  }
  return AnswerTransition(connection, request.job_id, std::move(change));
}

absl::StatusOr<EndedAttempt> MarkStopping(Connection& connection, const StopRequest& request) {
  MERCER_ASSIGN_OR_RETURN(const FoundJob job, FindJob(connection, request.job_id));
  MERCER_ASSIGN_OR_RETURN(std::optional<JobTransition> change,
                          PlanStop(job.row, job.checkpoint, request));
  if (change.has_value()) {
    MERCER_RETURN_IF_ERROR(WriteTransition(connection, *change));
  }
  return AnswerTransition(connection, request.job_id, std::move(change));
}

}  // namespace mercer::server
