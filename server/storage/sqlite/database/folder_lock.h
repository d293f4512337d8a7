// Makes sure that one server at a time uses a data folder.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"

namespace mercer::server {

// Holds an exclusive flock on folder/lock until destroyed; the kernel releases it when the process
// dies.
class FolderLock {
 public:
  // Makes the folder (not its parents) when it is missing. Errors: kFailedPrecondition (reason
  // DATA_FOLDER_LOCKED, metadata folder and holder, the other process' id; reason
  // STORAGE_READ_ONLY), kInternal.
  static absl::StatusOr<std::unique_ptr<FolderLock>> Acquire(const std::string& folder);
  // The same for a folder that may be a copy, or on a disk that cannot be written: null when there is no file
  // folder/lock, so that no server has ever used the folder. Changes nothing.
  static absl::StatusOr<std::unique_ptr<FolderLock>> AcquireIfThere(const std::string& folder);
  ~FolderLock();
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

 private:
  explicit FolderLock(int descriptor) : descriptor_(descriptor) {}

  int descriptor_;
};

}  // namespace mercer::server
