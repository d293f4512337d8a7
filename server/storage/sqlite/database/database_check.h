// Whether the database keeps its promises: those of SQLite, and the invariants of docs/formats/database.md.
#pragma once

#include "absl/status/status.h"

#include "server/storage/finding.h"
#include "server/storage/sqlite/database/connection.h"

namespace mercer::server {

// Tells `sink` everything that is wrong with the file itself: pages, indexes, foreign keys, schema. Changes nothing.
// Errors: those of the database, as far as they keep it from being looked at at all; kFailedPrecondition (reason
// NEWER_SCHEMA).
absl::Status CheckDatabaseFile(Connection& connection, const FindingSink& sink);

// The same for what the rows say of each other. The file must be sound.
absl::Status CheckDatabaseRows(Connection& connection, const FindingSink& sink);

}  // namespace mercer::server
