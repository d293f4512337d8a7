// Reading and writing of what several stores share: labels, updates, events, jobs.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "server/storage/records.h"
#include "server/storage/resource_update.h"
#include "server/storage/sqlite/database/connection.h"

namespace mercer::server {

// Of labels; the row of `owner` is one of another table.
inline constexpr char kDatasetLabels[] = "dataset_labels";
inline constexpr char kJobLabels[] = "job_labels";
inline constexpr char kModelLabels[] = "model_labels";
inline constexpr char kVersionLabels[] = "version_labels";

absl::Status InsertLabels(Connection& connection, const char* table, int64_t owner,
                          const Labels& labels);
absl::StatusOr<Labels> ReadLabels(Connection& connection, const char* table, int64_t owner);

// A row that updates may change, as it was read.
struct UpdatableRow {
  std::string what;  // "the model 'm'"
  std::string etag;
  const char* table;
  const char* label_table;
  int64_t number;
  const std::string& owner;
  const Labels& labels;
  // Null: it has none.
  const std::string* display_name = nullptr;
  const std::string* description = nullptr;
};
// Writes what the update changes, and counts it in the row's revision; false: nothing. An update that was made already changes
// nothing, whatever its etag. Errors: those of its check, kAborted (STALE_ETAG).
absl::StatusOr<bool> ApplyUpdate(Connection& connection, const ResourceUpdate& update,
                                 const UpdatableRow& row);

// As the methods of JobStore and EventLog.
absl::StatusOr<std::vector<AttemptRecord>> ReadAttempts(Connection& connection,
                                                        const std::string& job_id);
absl::StatusOr<std::optional<CheckpointRecord>> ReadCheckpoint(Connection& connection,
                                                               const std::string& job_id);
absl::StatusOr<std::map<JobState, int64_t>> CountStates(Connection& connection);
absl::StatusOr<std::vector<EventRecord>> ReadEvents(Connection& connection,
                                                    const std::string& job_id,
                                                    int64_t after_sequence, int limit);

// Appends to the job's log; the last one is kept in the job's row. They follow on those that are there.
absl::Status AppendEvents(Connection& connection, int64_t job_number,
                          const std::vector<EventRecord>& events);

// What transitions (job_transitions.h) read: the job without request, labels and data sets. One that is not there is
// JobRecord().
absl::StatusOr<JobRecord> ReadJobRow(Connection& connection, const std::string& id);
// Errors: kNotFound.
absl::StatusOr<JobRecord> ReadJob(Connection& connection, const std::string& id);
// None: it was deleted after its number was read.
absl::StatusOr<std::optional<JobRecord>> ReadJobByNumber(Connection& connection, int64_t number);

}  // namespace mercer::server
