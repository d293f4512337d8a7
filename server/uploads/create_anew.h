// Files of uploads, whose names are given again.
#pragma once

#include <memory>
#include <string>

#include "absl/status/statusor.h"

#include "server/blobs/file_system.h"

namespace mercer::server {

// Makes an empty file in the place of one that may be there: what a failed beginning or removal has left is nobody's.
inline absl::StatusOr<std::unique_ptr<WritableFile>> CreateAnew(FileSystem& files,
                                                                const std::string& path) {
  absl::StatusOr<std::unique_ptr<WritableFile>> file = files.Create(path);
  if (absl::IsAlreadyExists(file.status()) && files.Remove(path).ok()) {
    file = files.Create(path);
  }
  return file;
}

}  // namespace mercer::server
