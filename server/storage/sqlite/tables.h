// Reading and writing of what several stores share: labels, events, jobs.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

#include "server/storage/records.h"
#include "server/storage/sqlite/connection.h"

namespace mercer::server {

enum class LabelTable : uint8_t { kDatasets, kJobs, kModels, kVersions };

absl::Status InsertLabels(Connection& connection, LabelTable table, int64_t owner,
                          const Labels& labels);
// In the place of those that are there.
absl::Status ReplaceLabels(Connection& connection, LabelTable table, int64_t owner,
                           const Labels& labels);
absl::StatusOr<Labels> ReadLabels(Connection& connection, LabelTable table, int64_t owner);

// One row of the log; the job's row knows of the event already.
absl::Status InsertEvent(Connection& connection, int64_t job_number, const EventRecord& event);

// Appends to the job's log and keeps the last one in the job's row. The caller has checked the
// lease.
absl::StatusOr<std::vector<EventRecord>> AppendEvents(Connection& connection, int64_t job_number,
                                                      const std::vector<EventDraft>& events,
                                                      absl::Time now);

// The columns that ReadJobRow expects, and the tables that they come from.
inline constexpr char kSelectJob[] =
    "SELECT jobs.number, id, state, priority, attempt, epoch, lease_worker, lease_until, request, "
    "request_id, learner, "
    "model_name, model_version, memory_bytes, error_code, error_message, error_details, "
    "create_time, start_time, end_time, "
    "last_sequence, last_attempt, last_iteration, last_time, last_payload, caller, stop_requested, "
    "not_before, trace_id "
    "FROM checked_jobs AS jobs JOIN checked_job_requests AS job_requests ON job_requests.job = "
    "jobs.number ";

// The job of the current row, without labels and data sets.
JobRecord ReadJobRow(const Statement& row);
// Adds labels and data sets.
absl::Status CompleteJob(Connection& connection, JobRecord& job);
// Errors: kNotFound.
absl::StatusOr<JobRecord> ReadJob(Connection& connection, const std::string& id);

}  // namespace mercer::server
