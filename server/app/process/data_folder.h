// What a start looks at and makes in the data folder before anything is opened.
#pragma once

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

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

// Both in the data folder.
struct OwnFolders {
  std::shared_ptr<OwnedFolder> backup;
  std::shared_ptr<OwnedFolder> uploads;
};
absl::StatusOr<OwnFolders> TakeFolders(const std::string& data_folder);

// A new database would leave every blob without reference, and such blobs are deleted. Errors: kDataLoss
// (DATABASE_MISSING, RESTORE_UNFINISHED).
absl::Status CheckBlobsHaveDatabase(const std::string& folder);

}  // namespace mercer::server
