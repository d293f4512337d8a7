// From a backup to a data folder.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

#include "server/backup/backup_format.h"
#include "server/blobs/file_system.h"

namespace mercer::server {

// While this file is in a data folder, a restore into it has not ended.
inline constexpr char kUnfinishedRestore[] = "mercer.db.restoring";

struct RestoreOptions {
  std::string archive;   // the file
  std::string data_dir;  // made when missing; must be empty
  FileSystem* files = &PosixFileSystem();
};

// Writes the data folder. The database gets its name last, after every digest has been found right, so that no server
// takes half of a backup for a data folder. What an error leaves is removed again. Errors: kFailedPrecondition (reasons
// RESTORE_FOLDER_NOT_EMPTY, DATA_FOLDER_LOCKED, NEWER_FORMAT, NEWER_SCHEMA, STORAGE_READ_ONLY), kDataLoss (reason
// BACKUP_DAMAGED: cut off, changed, or no backup), kNotFound (no such archive), kResourceExhausted (reason DISK_FULL).
absl::StatusOr<BackupManifest> RestoreBackup(const RestoreOptions& options);

}  // namespace mercer::server
