// Refuses new work while the disk is nearly full, so that the work which is under way can end.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/status.h"

#include "core/base/process/live_value.h"
#include "server/blobs/file_system.h"

namespace mercer::server {

// Thread-safe.
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

}  // namespace mercer::server
