// Which jobs a page of a list shows.
#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/statusor.h"

#include "server/storage/job_store.h"
#include "server/storage/sqlite/connection.h"

namespace mercer::server {

// Numbers of the newest jobs below `before` that pass the filter, newest first, at most `limit`.
absl::StatusOr<std::vector<int64_t>> SelectJobNumbers(Connection& connection,
                                                      const JobFilter& filter, int64_t before,
                                                      int limit);

}  // namespace mercer::server
