// What an inspection of a data folder looks at beside the database itself.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "server/blobs/file_system.h"
#include "server/storage/finding.h"
#include "server/storage/sqlite/database/connection.h"

namespace mercer::server {

// Whether every stored message can be read: events, requests, descriptions of data sets, summaries of models. Errors: those of the
// database.
absl::Status CheckPayloads(Connection& connection, const FindingSink& sink);

struct BlobReport {
  int64_t num_blobs = 0;  // that rows name and that are sound
  int64_t bytes = 0;      // of these
  // Digests that rows name and whose file is missing, or has other content.
  std::vector<std::string> lost;
  // Paths of files that no row names, and of those that a write has left unfinished.
  std::vector<std::string> leftovers;
};

// Whether every blob that a row names is there, is what its name says, and can be opened; and what lies beside them. Reads every file
// below `folder`, the folder of the blobs, once; changes nothing. Errors: those of the database and of
// the file system, as far as they keep it from looking on.
absl::StatusOr<BlobReport> CheckBlobs(Connection& connection, const std::string& folder,
                                      FileSystem& files, const FindingSink& sink);

}  // namespace mercer::server
