// Room on the disk, kept for the work which is under way and for deletions.
#pragma once

#include <cstdint>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"

#include "core/base/process/live_value.h"
#include "core/base/status/errors.h"
#include "server/blobs/file_system.h"

namespace mercer::server {

// Refuses new work while the disk is nearly full, so that the work which is under way can end. Thread-safe.
class DiskGuard {
 public:
  // So much of the disk that holds `folder` is kept free; 0 stands for the smaller of 1 GiB and 2 % of the disk.
  // `files` must outlive the guard.
  DiskGuard(std::string folder, int64_t min_free_bytes, FileSystem& files = PosixFileSystem())
      : folder_(std::move(folder)), min_free_bytes_(min_free_bytes), files_(files) {}

  // Whether so much stays free after `more` bytes were written. Errors: kResourceExhausted (reason DISK_NEARLY_FULL, metadata
  // free_bytes and needed_bytes). A disk that cannot be asked is taken for one with room: writing to it says what is wrong.
  absl::Status CheckRoom(int64_t more = 0) const;
  // For what is asked from now on.
  void SetMinFreeBytes(int64_t min_free_bytes) { min_free_bytes_ = min_free_bytes; }

 private:
  const std::string folder_;
  LiveValue<int64_t> min_free_bytes_;
  FileSystem& files_;
};

// A file that holds room on the disk for deletions: a full disk has none for the log that a deletion is written to. Thread-safe.
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
