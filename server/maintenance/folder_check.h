// The inspection of a data folder that no server uses, or of an unpacked backup.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"

#include "server/blobs/file_system.h"
#include "server/storage/finding.h"

namespace mercer::server {

// Marks data sets and versions whose files are lost, for whoever lists them; the value is the digest of the lost file.
inline constexpr char kLostLabel[] = "mercer.lost-file";

struct FolderCheckOptions {
  std::string data_dir;
  // Removes files that nothing names and unfinished ones; marks data sets and versions whose files are lost with the
  // label kLostLabel, and takes it from those whose files are back; forgets checkpoints whose files are lost. Nothing
  // else is changed, and no data set, model or job is deleted.
  bool repair = false;
  FileSystem* files = &PosixFileSystem();
};

struct FolderReport {
  int64_t num_errors = 0;  // findings; what was repaired counts too
  int64_t num_notes = 0;
  int64_t num_blobs = 0;  // sound ones that rows name
  int64_t blob_bytes = 0;
  int64_t num_removed = 0;   // files, by the repair
  int64_t num_marked = 0;    // data sets and versions, by the repair
  int64_t num_unmarked = 0;  // by the repair
};

// Tells `sink` everything that is wrong. Without `repair` no file of the folder is changed, and none need be writable.
// Errors: kFailedPrecondition (reasons DATA_FOLDER_LOCKED: a server uses it; NEWER_SCHEMA), kNotFound (no data folder),
// kDataLoss (the database cannot be opened at all).
absl::StatusOr<FolderReport> CheckFolder(const FolderCheckOptions& options,
                                         const FindingSink& sink);

}  // namespace mercer::server
