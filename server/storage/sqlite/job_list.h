// Which jobs a page of a list shows.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

#include "server/storage/job_store.h"
#include "server/storage/sqlite/database/connection.h"
#include "server/storage/sqlite/filter_sql.h"

namespace mercer::server {

// Numbers of the newest jobs below `before` that pass the filter, but for its query, newest first, at most `limit`.
absl::StatusOr<std::vector<int64_t>> SelectJobNumbers(Connection& connection,
                                                      const JobFilter& filter, int64_t before,
                                                      int limit);

// The same with the filter's query, behind the key `after` (empty: from the start); a key is the job's number, or its id when
// the order is that of names.
absl::StatusOr<FoundRows> FindJobs(Connection& connection, const JobFilter& filter,
                                   std::string_view after, int limit);

}  // namespace mercer::server
