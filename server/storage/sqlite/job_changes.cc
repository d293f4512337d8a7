#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"

#include "core/base/status/status_macros.h"
#include "server/storage/refusals.h"
#include "server/storage/sqlite/dataset_rows.h"
#include "server/storage/sqlite/jobs.h"
#include "server/storage/sqlite/models.h"
#include "server/storage/sqlite/tables.h"

// The numbers of JobState stand in the SQL texts: 1 QUEUED; from 5 on they are final.
namespace mercer::server {
namespace {

absl::Status InsertJobDatasets(Connection& connection, int64_t job_number,
                               const std::vector<std::string>& ids) {
  int64_t position = 0;
  for (const std::string& id : ids) {
    MERCER_ASSIGN_OR_RETURN(
        const int64_t inserted,
        connection.Change("INSERT INTO job_datasets(job, position, dataset_id) SELECT ?, ?, id "
                          "FROM datasets WHERE id = ? AND hidden = 0",
                          job_number, position++, id));
    if (inserted == 0) {
      return DatasetNotFound(id);
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<int64_t> InsertJobRow(Connection& connection, const NewJob& job) {
  MERCER_ASSIGN_OR_RETURN(
      const int64_t inserted,
      connection.Change(
          "INSERT INTO jobs(id, state, caller, priority, request_id, request_digest, learner, "
          "model_name, memory_bytes, create_time, trace_id, kind, display_name, used_model, "
          "used_version) "
          "VALUES (?, 1, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT(id) DO NOTHING",
          job.id, job.caller, job.priority, TextOrNull{job.request_id}, job.request_digest,
          job.learner, job.model_name, job.memory_bytes, job.now, job.trace_id, job.kind,
          job.display_name, job.used_model, job.used_version));
  if (inserted == 0) {
    return JobExists(job.id);
  }
  const int64_t number = connection.last_row_id();
  MERCER_RETURN_IF_ERROR(connection.Run("INSERT INTO job_requests(job, request) VALUES (?, ?)",
                                        number, Blob{job.request}));
  return number;
}

absl::StatusOr<std::optional<BlobDigest>> CheckpointBlob(Connection& connection,
                                                         int64_t job_number) {
  return connection.SelectFirst<BlobDigest>("SELECT blob FROM checkpoints WHERE job = ?",
                                            job_number);
}

absl::Status WriteJobRow(Connection& connection, const JobRecord& job) {
  std::optional<int> code;
  std::optional<std::string_view> message;
  std::optional<Blob> details;
  if (job.error.has_value()) {
    code = job.error->code;
    message = job.error->message;
    details = Blob{job.error->details};
  }
  return connection.Run(
      "UPDATE jobs SET state = ?, attempt = ?, epoch = ?, lease_worker = ?, lease_until = ?, "
      "stop_requested = ?, not_before = ?, start_time = ?, end_time = ?, error_code = ?, "
      "error_message = ?, error_details = ? WHERE number = ?",
      job.state, job.attempt, job.epoch, TextOrNull{job.lease_worker}, job.lease_until,
      job.stop_requested, NotBeforeColumn(job.not_before), job.start_time, job.end_time, code,
      message, details, job.number);
}

absl::Status WriteAttempt(Connection& connection, int64_t job_number,
                          const AttemptRecord& attempt) {
  if (attempt.reason == AttemptReason::kRunning) {
    return connection.Run(
        "INSERT INTO attempts(job, attempt, host, worker, start_time) VALUES (?, ?, ?, ?, ?)",
        job_number, attempt.attempt, attempt.host, attempt.worker, attempt.start_time);
  }
  return connection.Run(
      "UPDATE attempts SET end_time = ?, reason = ? WHERE job = ? AND attempt = ?",
      attempt.end_time, attempt.reason, job_number, attempt.attempt);
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

// Answers the versions that the model no longer keeps.
absl::StatusOr<DeletedVersions> AddVersions(Connection& connection, const JobRecord& job,
                                            const AttemptEnd& end) {
  // A new model is whose job was accepted first of those that have not ended: see CheckModelOwner.
  MERCER_ASSIGN_OR_RETURN(
      const std::optional<std::string> earlier,
      connection.SelectFirst<std::string>(
          "SELECT caller FROM checked_jobs WHERE state < 5 AND model_name = ? AND number < ? ORDER "
          "BY number LIMIT 1",
          job.model_name, job.number));
  int64_t last = 0;
  for (const NewVersion& version : end.versions) {
    MERCER_ASSIGN_OR_RETURN(
        last, InsertVersion(connection, {job.model_name, earlier.value_or(job.caller)}, job,
                            version, end.now));
  }
  MERCER_RETURN_IF_ERROR(
      connection.Run("UPDATE jobs SET model_version = ? WHERE number = ?", last, job.number));
  return DeleteOldVersions(connection, job.model_name);
}

absl::Status StoreResult(Connection& connection, const JobRecord& job, const AttemptEnd& end) {
  if (end.dataset.has_value()) {
    DatasetRecord dataset = *end.dataset;
    dataset.owner = job.caller;
    MERCER_RETURN_IF_ERROR(InsertDataset(connection, dataset, end.max_stored_bytes).status());
  }
  return end.result.empty() ? absl::OkStatus()
                            : connection.Run("UPDATE jobs SET result = ? WHERE number = ?",
                                             Blob{end.result}, job.number);
}

// A model without versions is to be whose unfinished job was accepted first. If that one fails it is the next one's, so whoever
// trains under the name must be somebody who may change what each of them makes: he is refused before his training, and not after it.
absl::Status CheckModelOwner(Connection& connection, const NewJob& job) {
  MERCER_ASSIGN_OR_RETURN(const std::optional<ModelRow> model,
                          FindModelRow(connection, job.model_name));
  if (model.has_value()) {
    return CheckOwner(job.check, model->owner);
  }
  return connection.ForEachRow(
      [&](const Statement& awaited) { return CheckOwner(job.check, awaited.Bytes(0)); },
      "SELECT caller FROM checked_jobs WHERE state < 5 AND model_name = ? ORDER BY number",
      job.model_name);
}

// All that belongs to the job goes with its row.
absl::Status RemoveRow(Connection& connection, int64_t job, std::vector<BlobDigest>& released) {
  MERCER_ASSIGN_OR_RETURN(const std::vector<BlobDigest> checkpoints,
                          connection.SelectAll<BlobDigest>(
                              "DELETE FROM checkpoints WHERE job = ? RETURNING blob", job));
  released.insert(released.end(), checkpoints.begin(), checkpoints.end());
  return connection.Run("DELETE FROM jobs WHERE number = ?", job);
}

// Cancels or stops: what `plan` makes of a job that anybody may ask for.
template <typename Request, typename Plan>
absl::StatusOr<EndedAttempt> ApplyRequest(Connection& connection, const Request& request,
                                          const Plan& plan) {
  MERCER_ASSIGN_OR_RETURN(const JobRecord job, ReadJobRow(connection, request.job_id));
  if (job.id.empty()) {
    return JobNotFound(request.job_id);
  }
  MERCER_ASSIGN_OR_RETURN(const std::optional<BlobDigest> checkpoint,
                          CheckpointBlob(connection, job.number));
  MERCER_ASSIGN_OR_RETURN(std::optional<JobTransition> change, plan(job, checkpoint, request));
  if (change.has_value()) {
    MERCER_RETURN_IF_ERROR(WriteTransition(connection, *change));
  }
  return AnswerTransition(connection, request.job_id, std::move(change));
}

}  // namespace

absl::StatusOr<std::optional<JobRecord>> FindRequestedJob(Connection& connection,
                                                          const std::string& caller,
                                                          const std::string& request_id,
                                                          const std::string& request_digest) {
  using IdAndDigest = std::pair<std::string, std::string>;
  MERCER_ASSIGN_OR_RETURN(
      const std::optional<IdAndDigest> found,
      connection.SelectFirst<IdAndDigest>(
          "SELECT id, request_digest FROM jobs WHERE caller = ? AND request_id = ?", caller,
          request_id));
  if (!found.has_value()) {
    return std::nullopt;
  }
  if (found->second != request_digest) {
    return RequestIdReused(request_id, found->first);
  }
  return ReadJob(connection, found->first);
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
  MERCER_RETURN_IF_ERROR(InsertLabels(connection, kJobLabels, number, job.labels));
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
    MERCER_RETURN_IF_ERROR(
        connection.Run("DELETE FROM checkpoints WHERE job = ?", change.job.number));
  }
  return AppendEvents(connection, change.job.number, change.events);
}

absl::StatusOr<std::vector<EventRecord>> AppendLeased(Connection& connection, const Lease& lease,
                                                      const std::vector<EventDraft>& events,
                                                      absl::Time now) {
  MERCER_ASSIGN_OR_RETURN(const JobRecord job, ReadJobRow(connection, lease.job_id));
  MERCER_ASSIGN_OR_RETURN(JobTransition change, PlanEvents(job, lease, events, now));
  MERCER_RETURN_IF_ERROR(AppendEvents(connection, job.number, change.events));
  return std::move(change.events);
}

absl::StatusOr<RenewedLease> ExtendLease(Connection& connection, const Lease& lease,
                                         absl::Duration duration, const StorageClock& clock) {
  MERCER_ASSIGN_OR_RETURN(const JobRecord job, ReadJobRow(connection, lease.job_id));
  MERCER_ASSIGN_OR_RETURN(const JobTransition change, PlanRenewal(job, lease, duration, clock()));
  MERCER_RETURN_IF_ERROR(WriteTransition(connection, change));
  return RenewedLease{change.job.state, change.job.stop_requested};
}

absl::Status EndAllLeases(Connection& connection) {
  return connection.Run(
      "UPDATE jobs SET lease_until = 0 WHERE state BETWEEN 2 AND 4 AND lease_until > 0");
}

absl::StatusOr<std::vector<HeldJob>> FindHeldJobs(Connection& connection,
                                                  const StorageClock& clock) {
  const auto read = [now = clock()](const Statement& row) {
    HeldJob job;
    absl::Time until;
    row.Read(job.lease.job_id, job.lease.worker, job.lease.epoch, job.state, job.stop_requested,
             until);
    job.expired = until <= now;
    return job;
  };
  return connection.SelectAll(
      read,
      "SELECT id, lease_worker, epoch, state, stop_requested, lease_until FROM checked_jobs WHERE "
      "state BETWEEN 2 AND 4");
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
  MERCER_RETURN_IF_ERROR(connection.Run(
      "INSERT INTO checkpoints(job, attempt, iteration, code_version, blob, create_time) "
      "VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT(job) DO UPDATE SET attempt = excluded.attempt, "
      "iteration = excluded.iteration, code_version = excluded.code_version, blob = excluded.blob, "
      "create_time = excluded.create_time",
      job.number, next.attempt, next.iteration, next.code_version, next.blob, next.create_time));
  return previous == next.blob ? std::nullopt : previous;
}

absl::StatusOr<EndedAttempt> FinishAttempt(Connection& connection, const AttemptEnd& end,
                                           const StorageClock& clock) {
  MERCER_ASSIGN_OR_RETURN(const JobRecord job, ReadJobRow(connection, end.lease.job_id));
  MERCER_ASSIGN_OR_RETURN(const std::optional<BlobDigest> checkpoint,
                          CheckpointBlob(connection, job.number));
  MERCER_ASSIGN_OR_RETURN(JobTransition change, PlanEnd(job, checkpoint, end, clock()));
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

absl::StatusOr<EndedAttempt> EndOrphan(Connection& connection, const Lease& lease, absl::Time now,
                                       const OrphanJudge& judge, const StorageClock& clock) {
  Orphan orphan;
  MERCER_ASSIGN_OR_RETURN(orphan.job, ReadJobRow(connection, lease.job_id));
  MERCER_RETURN_IF_ERROR(CheckExpired(orphan.job, lease, clock()));
  MERCER_ASSIGN_OR_RETURN(orphan.attempts, ReadAttempts(connection, lease.job_id));
  MERCER_ASSIGN_OR_RETURN(orphan.checkpoint, ReadCheckpoint(connection, lease.job_id));
  AttemptEnd end = judge(orphan);
  end.lease = lease;
  end.now = now;
  return FinishAttempt(connection, end, clock);
}

absl::StatusOr<JobRecord> ChangeJob(Connection& connection, const JobUpdate& update) {
  MERCER_ASSIGN_OR_RETURN(JobRecord job, ReadJob(connection, update.id));
  MERCER_ASSIGN_OR_RETURN(
      const bool changed,
      ApplyUpdate(connection, update,
                  {absl::StrCat("the job '", update.id, "'"), JobEtag(job), "jobs", kJobLabels,
                   job.number, job.caller, job.labels, &job.display_name}));
  return changed ? ReadJob(connection, update.id) : std::move(job);
}

absl::StatusOr<EndedAttempt> MarkCancelled(Connection& connection, const CancelRequest& request) {
  return ApplyRequest(connection, request, PlanCancel);
}

absl::StatusOr<EndedAttempt> MarkStopping(Connection& connection, const StopRequest& request) {
  return ApplyRequest(connection, request, PlanStop);
}

absl::StatusOr<DeletedJobs> RemoveFinishedJobs(Connection& connection, const FinishedJobs& which) {
  using Job = std::tuple<int64_t, std::string, int64_t>;
  // The condition on the state is that of the index jobs_ended.
  MERCER_ASSIGN_OR_RETURN(
      const std::vector<Job> jobs,
      connection.SelectAll<Job>("SELECT number, id, last_sequence FROM jobs WHERE state >= 5 AND "
                                "end_time < ? ORDER BY end_time, number LIMIT ?",
                                which.ended_before, which.max_jobs));
  DeletedJobs deleted;
  int64_t all_events = 0;
  for (const auto& [number, id, events] : jobs) {
    all_events += events;
    if (!deleted.ids.empty() && all_events > which.max_events) {
      break;
    }
    MERCER_RETURN_IF_ERROR(RemoveRow(connection, number, deleted.released_blobs));
    deleted.ids.push_back(id);
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
