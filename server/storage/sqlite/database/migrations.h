// The schema, as numbered steps. A released step never changes; a change of the schema is a new
// step.
#pragma once

#include <cstdint>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

#include "server/storage/sqlite/database/connection.h"

namespace mercer::server {

// The newest schema of a release, whose databases tests/fixtures/database holds; a release with a newer one raises it.
inline constexpr int64_t kReleasedSchema = 1;

// The schema that this program reads and writes.
int64_t CurrentSchemaVersion();
// From this one on jobs have a kind and a result.
inline constexpr int64_t kSchemaWithKinds = 8;

// The newest step that was applied to the database; 0 when it has none of our tables. Changes nothing.
absl::StatusOr<int64_t> ReadSchemaVersion(Connection& connection);
// Errors: kFailedPrecondition (reason NEWER_SCHEMA, metadata found and supported). Changes nothing.
absl::Status CheckSchemaVersion(Connection& connection);

// Brings the database to the current schema, each step in a transaction of its own. Errors:
// kFailedPrecondition (reason NEWER_SCHEMA, metadata found and supported).
absl::Status MigrateDatabase(Connection& connection, absl::Time now);
// The same, to the schema `target` only, as a program of that time would have done.
absl::Status MigrateDatabaseTo(Connection& connection, int64_t target, absl::Time now);

}  // namespace mercer::server
