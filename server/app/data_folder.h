// What a start looks at and makes in the data folder before anything is opened.
#pragma once

#include <string>

#include "absl/status/status.h"

namespace mercer::server {

// With all folders above it. Errors: kResourceExhausted (DISK_FULL), kFailedPrecondition (STORAGE_READ_ONLY), kInternal.
absl::Status MakeFolder(const std::string& path);

// The folder without what an earlier process has left there. Errors: those of MakeFolder.
absl::Status MakeEmptyFolder(const std::string& path);

// A new database would leave every blob without reference, and such blobs are deleted. Errors: kDataLoss
// (DATABASE_MISSING, RESTORE_UNFINISHED).
absl::Status CheckBlobsHaveDatabase(const std::string& folder);

}  // namespace mercer::server
