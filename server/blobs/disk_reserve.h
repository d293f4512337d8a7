// A file that holds room on the disk for deletions: a full disk has none for the log that a deletion is written to.
#pragma once

#include <cstdint>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"

#include "core/base/status/errors.h"
#include "server/blobs/file_system.h"

namespace mercer::server {

// Thread-safe.
class DiskReserve {
 public:
  static constexpr int64_t kBytes = int64_t{4} << 20;

  // `files` must outlive the reserve.
  explicit DiskReserve(std::string path, FileSystem& files = PosixFileSystem())
      : path_(std::move(path)), files_(files) {}

  // Makes the file unless it is there in full. Leaves the last of the disk alone: as much again must stay free. Errors:
  // those of the file system; kResourceExhausted (reason DISK_FULL).
  absl::Status Refill() ABSL_LOCKS_EXCLUDED(mutex_);
  // Removes the file; whether that has made room.
  bool Release() ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  const std::string path_;
  FileSystem& files_;
  absl::Mutex mutex_;
};

// Makes a change that frees space, such as a deletion. On a full disk even that must be written down: it is tried again
// with the room of the reserve, which may be null.
template <typename Change>
auto ChangeThatFrees(DiskReserve* reserve, const Change& change) {
  auto result = change();
  if (reserve != nullptr && GetReason(result.status()) == "DISK_FULL" && reserve->Release()) {
    result = change();
  }
  return result;
}

}  // namespace mercer::server
