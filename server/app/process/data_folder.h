// What a start looks at and makes in the data folder.
#pragma once

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "server/blobs/file_system.h"
#include "server/blobs/owned_folder.h"

namespace mercer::server {

// With all folders above it. Errors: kResourceExhausted (DISK_FULL), kFailedPrecondition (STORAGE_READ_ONLY), kInternal.
absl::Status MakeFolder(const std::string& path);

// The folder without what an earlier process has left there. Errors: those of MakeFolder.
absl::Status MakeEmptyFolder(const std::string& path);

// A folder of this process' own in that one (owned_folder.h), empty; those of the dead are empty, too. Errors: those of MakeFolder.
absl::StatusOr<std::shared_ptr<OwnedFolder>> TakeEmptyFolder(const std::string& path);

// Likewise, with the unfinished uploads of the dead. Those of a server that knew no owners lie in the folder `path` itself.
absl::StatusOr<std::shared_ptr<OwnedFolder>> TakeUploadFolder(const std::string& path);

// A new database would leave every blob without reference, and such blobs are deleted. Errors: kDataLoss
// (DATABASE_MISSING, RESTORE_UNFINISHED).
absl::Status CheckBlobsHaveDatabase(const std::string& folder);

// The file that tells on which port a server listens: there while it does, for scripts that start one on a free port. Whoever
// waits for it never reads half of it. Errors: those of the file system; `path` is then as it was.
absl::Status WritePortFile(FileSystem& files, const std::string& path, int port);

// A file that is not there is no error.
absl::Status RemovePortFile(FileSystem& files, const std::string& path);

}  // namespace mercer::server
