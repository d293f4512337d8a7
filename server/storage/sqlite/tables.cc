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

absl::StatusOr<EventRecord> AppendEvent(Connection& connection, int64_t job_number,
                                        const EventDraft& event, absl::Time now) {
  const absl::Time time = event.time.value_or(now);
  EventRecord record;
  record.iteration = event.iteration;
  record.time = absl::FromUnixMicros(absl::ToUnixMicros(time));  // as it will be read back
  record.payload = event.payload;
  {
    MERCER_ASSIGN_OR_RETURN(
        Statement update,
        connection.Prepare(
            "UPDATE jobs SET last_sequence = last_sequence + 1, last_attempt = attempt, "
            "last_iteration = ?, "
            "last_time = ?, last_payload = ? WHERE number = ? RETURNING last_sequence, attempt"));
    update.Bind(event.iteration).BindTime(time).BindBlob(event.payload).Bind(job_number);
    MERCER_ASSIGN_OR_RETURN(const bool found, update.Step());
    if (!found) {
      return absl::InternalError(absl::StrCat("database: no job number ", job_number));
    }
    record.sequence = update.Int64(0);
    record.attempt = static_cast<int32_t>(update.Int64(1));
    MERCER_RETURN_IF_ERROR(update.Run());
  }
  MERCER_RETURN_IF_ERROR(InsertEvent(connection, job_number, record));
  return record;
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

absl::StatusOr<std::vector<EventRecord>> AppendEvents(Connection& connection, int64_t job_number,
                                                      const std::vector<EventDraft>& events,
                                                      absl::Time now) {
  std::vector<EventRecord> records;
  for (const EventDraft& event : events) {
    MERCER_ASSIGN_OR_RETURN(EventRecord record, AppendEvent(connection, job_number, event, now));
    records.push_back(std::move(record));
  }
  return records;
}

JobRecord ReadJobRow(const Statement& row) {
  JobRecord job;
  job.number = row.Int64(0);
  job.id = row.Bytes(1);
  job.state = static_cast<JobState>(row.Int64(2));
  job.priority = static_cast<int32_t>(row.Int64(3));
  job.attempt = static_cast<int32_t>(row.Int64(4));
  job.epoch = row.Int64(5);
  job.lease_worker = row.Bytes(6);
  job.lease_until = row.Time(7);
  job.request = row.Bytes(8);
  job.request_id = row.Bytes(9);
  job.learner = row.Bytes(10);
  job.model_name = row.Bytes(11);
  job.model_version = row.Int64(12);
  job.memory_bytes = row.Int64(13);
  if (!row.IsNull(14)) {
    job.error = StoredError{static_cast<int>(row.Int64(14)), row.Bytes(15), row.Bytes(16)};
  }
  job.create_time = row.Time(17);
  job.start_time = row.Time(18);
  job.end_time = row.Time(19);
  if (row.Int64(20) > 0) {
    job.last_event = EventRecord{row.Int64(20), static_cast<int32_t>(row.Int64(21)), row.Int64(22),
                                 row.Time(23), row.Bytes(24)};
  }
  job.caller = row.Bytes(25);
  job.stop_requested = row.Int64(26) != 0;
  if (row.Int64(27) > 0) {
    job.not_before = row.Time(27);
  }
  job.trace_id = row.Bytes(28);
  return job;
}

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

absl::StatusOr<JobRecord> ReadJob(Connection& connection, const std::string& id) {
  MERCER_ASSIGN_OR_RETURN(Statement select,
                          connection.Prepare(absl::StrCat(kSelectJob, "WHERE id = ?")));
  select.Bind(id);
  MERCER_ASSIGN_OR_RETURN(const bool found, select.Step());
  if (!found) {
    return JobNotFound(id);
  }
  JobRecord job = ReadJobRow(select);
  MERCER_RETURN_IF_ERROR(CompleteJob(connection, job));
  return job;
}

}  // namespace mercer::server
