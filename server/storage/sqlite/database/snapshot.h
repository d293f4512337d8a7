// A copy of the database as of one moment, made while others write.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

#include "server/storage/records.h"
#include "server/storage/sqlite/database/connection.h"

namespace mercer::server {

// Every blob that a row names, sorted, each once.
absl::StatusOr<std::vector<BlobDigest>> ReadReferencedBlobs(Connection& connection);

absl::StatusOr<bool> IsReferenced(Connection& connection, const BlobDigest& blob);

// Copies the database of `source` to the new file `path`; answers the blobs that the copy names. Writers go on. Errors:
// kCancelled (`is_cancelled`, asked again and again), kResourceExhausted (reason DISK_FULL).
absl::StatusOr<std::vector<BlobDigest>> CopyDatabase(Connection& source, const std::string& path,
                                                     const std::function<bool()>& is_cancelled);

}  // namespace mercer::server
