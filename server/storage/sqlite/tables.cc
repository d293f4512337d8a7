#include "server/storage/sqlite/tables.h"

#include "absl/strings/str_cat.h"

#include "core/base/status/status_macros.h"
#include "server/storage/refusals.h"

namespace mercer::server {
namespace {

std::string_view InsertLabelSql(LabelTable table) {
  switch (table) {
    case LabelTable::kDatasets:
      return "INSERT INTO dataset_labels(owner, key, value) VALUES (?, ?, ?)";
    case LabelTable::kJobs:
      return "INSERT INTO job_labels(owner, key, value) VALUES (?, ?, ?)";
    case LabelTable::kModels:
      return "INSERT INTO model_labels(owner, key, value) VALUES (?, ?, ?)";
    case LabelTable::kVersions:
      return "INSERT INTO version_labels(owner, key, value) VALUES (?, ?, ?)";
  }
  return "";
}

std::string_view DeleteLabelsSql(LabelTable table) {
  switch (table) {
    case LabelTable::kDatasets:
      return "DELETE FROM dataset_labels WHERE owner = ?";
    case LabelTable::kJobs:
      return "DELETE FROM job_labels WHERE owner = ?";
    case LabelTable::kModels:
      return "DELETE FROM model_labels WHERE owner = ?";
    case LabelTable::kVersions:
      return "DELETE FROM version_labels WHERE owner = ?";
  }
  return "";
}

std::string_view SelectLabelsSql(LabelTable table) {
  switch (table) {
    case LabelTable::kDatasets:
      return "SELECT key, value FROM checked_dataset_labels WHERE owner = ?";
    case LabelTable::kJobs:
      return "SELECT key, value FROM checked_job_labels WHERE owner = ?";
    case LabelTable::kModels:
      return "SELECT key, value FROM checked_model_labels WHERE owner = ?";
    case LabelTable::kVersions:
      return "SELECT key, value FROM checked_version_labels WHERE owner = ?";
  }
  return "";
}

absl::Status InsertEvent(Connection& connection, int64_t job_number, const EventRecord& event) {
  MERCER_ASSIGN_OR_RETURN(
      Statement insert, connection.Prepare("INSERT INTO events(job, sequence, attempt, iteration, "
                                           "time, payload) VALUES (?, ?, ?, ?, ?, ?)"));
  insert.Bind(job_number)
      .Bind(event.sequence)
      .Bind(event.attempt)
      .Bind(event.iteration)
      .BindTime(event.time);
  return insert.BindBlob(event.payload).Run();
}

// The columns that JobOfRow expects, but for the request, which comes last, and the table that they come from.
constexpr char kJobColumns[] =
    "SELECT jobs.number, id, state, priority, attempt, epoch, lease_worker, lease_until, "
    "request_id, learner, "
    "model_name, model_version, memory_bytes, error_code, error_message, error_details, "
    "create_time, start_time, end_time, "
    "last_sequence, last_attempt, last_iteration, last_time, last_payload, caller, stop_requested, "
    "not_before, trace_id, kind, result, ";
constexpr char kWholeJob[] =
    "request FROM checked_jobs AS jobs JOIN checked_job_requests AS job_requests ON "
    "job_requests.job = jobs.number ";
constexpr char kJobAlone[] = "'' FROM checked_jobs AS jobs ";

// Without labels and data sets.
JobRecord JobOfRow(const Statement& row) {
  JobRecord job;
  job.number = row.Int64(0);
  job.id = row.Bytes(1);
  job.state = static_cast<JobState>(row.Int64(2));
  job.priority = static_cast<int32_t>(row.Int64(3));
  job.attempt = static_cast<int32_t>(row.Int64(4));
  job.epoch = row.Int64(5);
  job.lease_worker = row.Bytes(6);
  job.lease_until = row.Time(7);
  job.request = row.Bytes(30);
  job.request_id = row.Bytes(8);
  job.learner = row.Bytes(9);
  job.model_name = row.Bytes(10);
  job.model_version = row.Int64(11);
  job.memory_bytes = row.Int64(12);
  if (!row.IsNull(13)) {
    job.error = StoredError{static_cast<int>(row.Int64(13)), row.Bytes(14), row.Bytes(15)};
  }
  job.create_time = row.Time(16);
  job.start_time = row.Time(17);
  job.end_time = row.Time(18);
  if (row.Int64(19) > 0) {
    job.last_event = EventRecord{row.Int64(19), static_cast<int32_t>(row.Int64(20)), row.Int64(21),
                                 row.Time(22), row.Bytes(23)};
  }
  job.caller = row.Bytes(24);
  job.stop_requested = row.Int64(25) != 0;
  if (row.Int64(26) > 0) {
    job.not_before = row.Time(26);
  }
  job.trace_id = row.Bytes(27);
  job.kind = static_cast<JobKind>(row.Int64(28));
  job.result = row.Bytes(29);
  return job;
}

// Adds labels and data sets.
absl::Status CompleteJob(Connection& connection, JobRecord& job) {
  MERCER_ASSIGN_OR_RETURN(job.labels, ReadLabels(connection, LabelTable::kJobs, job.number));
  MERCER_ASSIGN_OR_RETURN(
      Statement select,
      connection.Prepare(
          "SELECT dataset_id FROM checked_job_datasets WHERE job = ? ORDER BY position"));
  select.Bind(job.number);
  while (true) {
    MERCER_ASSIGN_OR_RETURN(const bool more, select.Step());
    if (!more) {
      return absl::OkStatus();
    }
    job.dataset_ids.push_back(select.Bytes(0));
  }
}

}  // namespace

absl::Status InsertLabels(Connection& connection, LabelTable table, int64_t owner,
                          const Labels& labels) {
  for (const auto& [key, value] : labels) {
    MERCER_ASSIGN_OR_RETURN(Statement insert, connection.Prepare(InsertLabelSql(table)));
    MERCER_RETURN_IF_ERROR(insert.Bind(owner).Bind(key).Bind(value).Run());
  }
  return absl::OkStatus();
}

absl::Status ReplaceLabels(Connection& connection, LabelTable table, int64_t owner,
                           const Labels& labels) {
  {
    MERCER_ASSIGN_OR_RETURN(Statement remove, connection.Prepare(DeleteLabelsSql(table)));
    MERCER_RETURN_IF_ERROR(remove.Bind(owner).Run());
  }
  return InsertLabels(connection, table, owner, labels);
}

absl::StatusOr<Labels> ReadLabels(Connection& connection, LabelTable table, int64_t owner) {
  MERCER_ASSIGN_OR_RETURN(Statement select, connection.Prepare(SelectLabelsSql(table)));
  select.Bind(owner);
  Labels labels;
  while (true) {
    MERCER_ASSIGN_OR_RETURN(const bool more, select.Step());
    if (!more) {
      return labels;
    }
    labels.emplace(select.Bytes(0), select.Bytes(1));
  }
}

absl::Status AppendEvents(Connection& connection, int64_t job_number,
                          const std::vector<EventRecord>& events) {
  if (events.empty()) {
    return absl::OkStatus();
  }
  for (const EventRecord& event : events) {
    MERCER_RETURN_IF_ERROR(InsertEvent(connection, job_number, event));
  }
  const EventRecord& last = events.back();
  MERCER_ASSIGN_OR_RETURN(
      Statement update,
      connection.Prepare("UPDATE jobs SET last_sequence = ?, last_attempt = ?, last_iteration = ?, "
                         "last_time = ?, last_payload = ? WHERE number = ?"));
  update.Bind(last.sequence).Bind(last.attempt).Bind(last.iteration).BindTime(last.time);
  return update.BindBlob(last.payload).Bind(job_number).Run();
}

absl::StatusOr<JobRecord> ReadJobRow(Connection& connection, const std::string& id) {
  MERCER_ASSIGN_OR_RETURN(Statement select,
                          connection.Prepare(absl::StrCat(kJobColumns, kJobAlone, "WHERE id = ?")));
  MERCER_ASSIGN_OR_RETURN(const bool found, select.Bind(id).Step());
  return found ? JobOfRow(select) : JobRecord();
}

absl::StatusOr<JobRecord> ReadJob(Connection& connection, const std::string& id) {
  MERCER_ASSIGN_OR_RETURN(Statement select,
                          connection.Prepare(absl::StrCat(kJobColumns, kWholeJob, "WHERE id = ?")));
  MERCER_ASSIGN_OR_RETURN(const bool found, select.Bind(id).Step());
  if (!found) {
    return JobNotFound(id);
  }
  JobRecord job = JobOfRow(select);
  MERCER_RETURN_IF_ERROR(CompleteJob(connection, job));
  return job;
}

absl::StatusOr<std::optional<JobRecord>> ReadJobByNumber(Connection& connection, int64_t number) {
  MERCER_ASSIGN_OR_RETURN(Statement select, connection.Prepare(absl::StrCat(
                                                kJobColumns, kWholeJob, "WHERE jobs.number = ?")));
  MERCER_ASSIGN_OR_RETURN(const bool found, select.Bind(number).Step());
  if (!found) {
    return std::nullopt;
  }
  JobRecord job = JobOfRow(select);
  MERCER_RETURN_IF_ERROR(CompleteJob(connection, job));
  return job;
}

}  // namespace mercer::server
