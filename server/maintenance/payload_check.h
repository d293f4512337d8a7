// Whether every stored message can be read: events, requests, descriptions of data sets, summaries of models.
#pragma once

#include "absl/status/status.h"

#include "server/storage/finding.h"
#include "server/storage/sqlite/database/connection.h"

namespace mercer::server {

// Errors: those of the database.
absl::Status CheckPayloads(Connection& connection, const FindingSink& sink);

}  // namespace mercer::server
