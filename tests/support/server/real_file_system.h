// The real files, for doubles that change one kind of call.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "server/blobs/file_system.h"

namespace mercer::server {

class RealFileSystem : public FileSystem {
 public:
  absl::StatusOr<std::unique_ptr<WritableFile>> Create(const std::string& path) override {
    return PosixFileSystem().Create(path);
  }
  absl::StatusOr<std::unique_ptr<WritableFile>> Reopen(const std::string& path,
                                                       int64_t size) override {
    return PosixFileSystem().Reopen(path, size);
  }
  absl::StatusOr<std::unique_ptr<MappedFile>> Map(const std::string& path) override {
    return PosixFileSystem().Map(path);
  }
  absl::StatusOr<FileIdentity> Identify(const std::string& path) override {
    return PosixFileSystem().Identify(path);
  }
  absl::Status Rename(const std::string& from, const std::string& to) override {
    return PosixFileSystem().Rename(from, to);
  }
  absl::Status Remove(const std::string& path) override { return PosixFileSystem().Remove(path); }
  absl::Status MakeFolder(const std::string& path) override {
    return PosixFileSystem().MakeFolder(path);
  }
  absl::Status SyncFolder(const std::string& path) override {
    return PosixFileSystem().SyncFolder(path);
  }
  absl::StatusOr<std::vector<std::string>> List(const std::string& folder) override {
    return PosixFileSystem().List(folder);
  }
  absl::StatusOr<DiskSpace> Space(const std::string& folder) override {
    return PosixFileSystem().Space(folder);
  }
};

}  // namespace mercer::server
