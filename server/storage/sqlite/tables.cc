#include "server/storage/sqlite/tables.h"

#include <utility>

#include "absl/strings/str_cat.h"

#include "core/base/status/status_macros.h"
#include "server/storage/refusals.h"

namespace mercer::server {
namespace {

// The columns that JobOfRow expects, but for the request, which comes last, and the table that they come from.
constexpr char kJobColumns[] =
    "SELECT jobs.number, id, state, priority, attempt, epoch, lease_worker, lease_until, "
    "request_id, learner, "
    "model_name, model_version, memory_bytes, error_code, error_message, error_details, "
    "create_time, start_time, end_time, "
    "last_sequence, last_attempt, last_iteration, last_time, last_payload, caller, stop_requested, "
    "not_before, trace_id, kind, result, display_name, revision, ";
constexpr char kWholeJob[] =
    "request FROM checked_jobs AS jobs JOIN checked_job_requests AS job_requests ON "
    "job_requests.job = jobs.number ";
constexpr char kJobAlone[] = "'' FROM checked_jobs AS jobs ";

// Without labels and data sets.
JobRecord JobOfRow(const Statement& row) {
  JobRecord job;
  std::optional<int> error;
  StoredError why;
  EventRecord last;
  absl::Time not_before;
  row.Read(job.number, job.id, job.state, job.priority, job.attempt, job.epoch, job.lease_worker,
           job.lease_until, job.request_id, job.learner, job.model_name, job.model_version,
           job.memory_bytes, error, why.message, why.details, job.create_time, job.start_time,
           job.end_time, last.sequence, last.attempt, last.iteration, last.time, last.payload,
           job.caller, job.stop_requested, not_before, job.trace_id, job.kind, job.result,
           job.display_name, job.revision, job.request);
  if (error.has_value()) {
    why.code = *error;
    job.error = std::move(why);
  }
  if (last.sequence > 0) {
    job.last_event = std::move(last);
  }
  if (not_before > absl::UnixEpoch()) {
    job.not_before = not_before;
  }
  return job;
}

// A job with labels and data sets, of the row that `where` names.
template <typename Key>
absl::StatusOr<std::optional<JobRecord>> FindWholeJob(Connection& connection, const char* where,
                                                      const Key& key) {
  const auto read = [&](const Statement& row) -> absl::StatusOr<JobRecord> {
    JobRecord job = JobOfRow(row);
    MERCER_ASSIGN_OR_RETURN(job.labels, ReadLabels(connection, kJobLabels, job.number));
    MERCER_ASSIGN_OR_RETURN(
        job.dataset_ids,
        connection.SelectAll<std::string>(
            "SELECT dataset_id FROM checked_job_datasets WHERE job = ? ORDER BY position",
            job.number));
    return job;
  };
  return connection.SelectFirst(read, absl::StrCat(kJobColumns, kWholeJob, where), key);
}

bool Changes(const std::optional<std::string>& update, const std::string* current) {
  return update.has_value() && current != nullptr && *update != *current;
}

}  // namespace

absl::Status InsertLabels(Connection& connection, const char* table, int64_t owner,
                          const Labels& labels) {
  const std::string insert =
      absl::StrCat("INSERT INTO ", table, "(owner, key, value) VALUES (?, ?, ?)");
  for (const auto& [key, value] : labels) {
    MERCER_RETURN_IF_ERROR(connection.Run(insert, owner, key, value));
  }
  return absl::OkStatus();
}

absl::StatusOr<Labels> ReadLabels(Connection& connection, const char* table, int64_t owner) {
  using Label = std::pair<std::string, std::string>;
  MERCER_ASSIGN_OR_RETURN(
      const std::vector<Label> labels,
      connection.SelectAll<Label>(
          absl::StrCat("SELECT key, value FROM checked_", table, " WHERE owner = ?"), owner));
  return Labels(labels.begin(), labels.end());
}

absl::StatusOr<bool> ApplyUpdate(Connection& connection, const ResourceUpdate& update,
                                 const UpdatableRow& row) {
  MERCER_RETURN_IF_ERROR(CheckOwner(update.check, row.owner));
  const bool relabels = update.labels.has_value() && *update.labels != row.labels;
  const bool renames = Changes(update.display_name, row.display_name);
  const bool describes = Changes(update.description, row.description);
  if (!relabels && !renames && !describes) {
    return false;
  }
  if (!update.etag.empty() && update.etag != row.etag) {
    return StaleEtag(row.what, update.etag, row.etag);
  }
  if (relabels) {
    MERCER_RETURN_IF_ERROR(connection.Run(
        absl::StrCat("DELETE FROM ", row.label_table, " WHERE owner = ?"), row.number));
    MERCER_RETURN_IF_ERROR(InsertLabels(connection, row.label_table, row.number, *update.labels));
  }
  const std::string change = absl::StrCat("UPDATE ", row.table, " SET ");
  if (renames) {
    MERCER_RETURN_IF_ERROR(connection.Run(absl::StrCat(change, "display_name = ? WHERE number = ?"),
                                          *update.display_name, row.number));
  }
  if (describes) {
    MERCER_RETURN_IF_ERROR(connection.Run(absl::StrCat(change, "description = ? WHERE number = ?"),
                                          *update.description, row.number));
  }
  MERCER_RETURN_IF_ERROR(
      connection.Run(absl::StrCat(change, "revision = revision + 1 WHERE number = ?"), row.number));
  return true;
}

absl::Status AppendEvents(Connection& connection, int64_t job_number,
                          const std::vector<EventRecord>& events) {
  if (events.empty()) {
    return absl::OkStatus();
  }
  for (const EventRecord& event : events) {
    MERCER_RETURN_IF_ERROR(connection.Run(
        "INSERT INTO events(job, sequence, attempt, iteration, time, payload) VALUES (?, ?, ?, ?, "
        "?, ?)",
        job_number, event.sequence, event.attempt, event.iteration, event.time,
        Blob{event.payload}));
  }
  const EventRecord& last = events.back();
  return connection.Run(
      "UPDATE jobs SET last_sequence = ?, last_attempt = ?, last_iteration = ?, last_time = ?, "
      "last_payload = ? WHERE number = ?",
      last.sequence, last.attempt, last.iteration, last.time, Blob{last.payload}, job_number);
}

absl::StatusOr<JobRecord> ReadJobRow(Connection& connection, const std::string& id) {
  MERCER_ASSIGN_OR_RETURN(
      std::optional<JobRecord> job,
      connection.SelectFirst(JobOfRow, absl::StrCat(kJobColumns, kJobAlone, "WHERE id = ?"), id));
  return std::move(job).value_or(JobRecord());
}

absl::StatusOr<JobRecord> ReadJob(Connection& connection, const std::string& id) {
  return FoundOr(FindWholeJob(connection, "WHERE id = ?", id), [&] { return JobNotFound(id); });
}

absl::StatusOr<std::optional<JobRecord>> ReadJobByNumber(Connection& connection, int64_t number) {
  return FindWholeJob(connection, "WHERE jobs.number = ?", number);
}

absl::StatusOr<std::vector<AttemptRecord>> ReadAttempts(Connection& connection,
                                                        const std::string& job_id) {
  const auto read = [](const Statement& row) {
    AttemptRecord attempt;
    row.Read(attempt.attempt, attempt.host, attempt.worker, attempt.start_time, attempt.end_time,
             attempt.reason);
    return attempt;
  };
  return connection.SelectAll(read,
                              "SELECT attempt, host, worker, start_time, end_time, reason FROM "
                              "checked_attempts WHERE job = "
                              "(SELECT number FROM jobs WHERE id = ?) ORDER BY attempt",
                              job_id);
}

absl::StatusOr<std::optional<CheckpointRecord>> ReadCheckpoint(Connection& connection,
                                                               const std::string& job_id) {
  const auto read = [](const Statement& row) {
    CheckpointRecord checkpoint;
    row.Read(checkpoint.attempt, checkpoint.iteration, checkpoint.code_version, checkpoint.blob,
             checkpoint.create_time);
    return checkpoint;
  };
  return connection.SelectFirst(
      read,
      "SELECT attempt, iteration, code_version, blob, create_time FROM checked_checkpoints WHERE "
      "job = (SELECT number FROM jobs WHERE id = ?)",
      job_id);
}

absl::StatusOr<std::map<JobState, int64_t>> CountStates(Connection& connection) {
  using Count = std::pair<JobState, int64_t>;
  MERCER_ASSIGN_OR_RETURN(
      const std::vector<Count> counts,
      connection.SelectAll<Count>("SELECT state, COUNT(*) FROM jobs GROUP BY state"));
  return std::map<JobState, int64_t>(counts.begin(), counts.end());
}

absl::StatusOr<std::vector<EventRecord>> ReadEvents(Connection& connection,
                                                    const std::string& job_id,
                                                    int64_t after_sequence, int limit) {
  const auto read = [](const Statement& row) {
    EventRecord event;
    row.Read(event.sequence, event.attempt, event.iteration, event.time, event.payload);
    return event;
  };
  return connection.SelectAll(
      read,
      "SELECT sequence, attempt, iteration, time, payload FROM checked_events WHERE job = (SELECT "
      "number FROM jobs WHERE id = ?) AND sequence > ? ORDER BY sequence LIMIT ?",
      job_id, after_sequence, limit);
}

}  // namespace mercer::server
