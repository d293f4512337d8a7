// Reading and writing of what several stores share: labels, events, jobs.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "server/storage/records.h"
#include "server/storage/sqlite/database/connection.h"

namespace mercer::server {

enum class LabelTable : uint8_t { kDatasets, kJobs, kModels, kVersions };

absl::Status InsertLabels(Connection& connection, LabelTable table, int64_t owner,
                          const Labels& labels);
// In the place of those that are there.
absl::Status ReplaceLabels(Connection& connection, LabelTable table, int64_t owner,
                           const Labels& labels);
absl::StatusOr<Labels> ReadLabels(Connection& connection, LabelTable table, int64_t owner);

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
