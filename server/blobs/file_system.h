// The few file operations that the blob store stands on, as a seam: tests put a double beneath it
// that runs out of space or fails at a chosen call.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace mercer::server {

// Closes what it holds.
class ScopedDescriptor {
 public:
  explicit ScopedDescriptor(int value) : value_(value) {}
  ~ScopedDescriptor();
  ScopedDescriptor(ScopedDescriptor&& other) noexcept : value_(std::exchange(other.value_, -1)) {}
  ScopedDescriptor& operator=(ScopedDescriptor&&) = delete;

  int get() const { return value_; }
  int Release() { return std::exchange(value_, -1); }

 private:
  int value_;
};

// A file being written. Destroying it closes it without any promise.
class WritableFile {
 public:
  virtual ~WritableFile() = default;
  virtual absl::Status Append(std::string_view bytes) = 0;
  virtual absl::Status Sync() = 0;  // bytes and size are on the disk
  virtual absl::Status Close() = 0;
};

// Bytes of a whole file, mapped read-only; valid as long as the object lives, also after the file
// is removed.
class MappedFile {
 public:
  virtual ~MappedFile() = default;
  virtual std::string_view contents() const = 0;
};

// What tells one state of a file from another.
struct FileIdentity {
  uint64_t inode = 0;
  int64_t size = 0;
  int64_t modified_nanoseconds = 0;

  friend bool operator==(const FileIdentity&, const FileIdentity&) = default;
};

struct DiskSpace {
  int64_t free_bytes = 0;   // for users without privileges
  int64_t total_bytes = 0;  // of the disk
};

// Thread-safe. Errors: kNotFound, kAlreadyExists, kResourceExhausted (reason DISK_FULL),
// kFailedPrecondition (reason STORAGE_READ_ONLY), kInternal (anything else the system reports).
class FileSystem {
 public:
  virtual ~FileSystem() = default;

  virtual absl::StatusOr<std::unique_ptr<WritableFile>> Create(
      const std::string& path) = 0;  // must not exist
  // To write behind the first `size` bytes; those after them are cut off. Errors besides: kDataLoss (it has fewer).
  virtual absl::StatusOr<std::unique_ptr<WritableFile>> Reopen(const std::string& path,
                                                               int64_t size) = 0;
  virtual absl::StatusOr<std::unique_ptr<MappedFile>> Map(const std::string& path) = 0;
  virtual absl::StatusOr<FileIdentity> Identify(const std::string& path) = 0;
  virtual absl::Status Rename(const std::string& from, const std::string& to) = 0;
  virtual absl::Status Remove(const std::string& path) = 0;
  virtual absl::Status MakeFolder(
      const std::string& path) = 0;  // its parent exists; OK when it exists already
  virtual absl::Status SyncFolder(
      const std::string& path) = 0;  // renames and removals in it are on the disk
  virtual absl::StatusOr<std::vector<std::string>> List(
      const std::string& folder) = 0;  // names, sorted
  // Of the disk that the folder is on.
  virtual absl::StatusOr<DiskSpace> Space(const std::string& folder) = 0;
};

// The real one. Lives for ever.
FileSystem& PosixFileSystem();

// The folder of the file.
inline std::string FolderOf(const std::string& path) { return path.substr(0, path.rfind('/')); }

// Makes the folder `path` and those above it, as far as they are missing, and puts the name of each on the disk, where it is
// still when the power has been lost. One whose parent may not be read is made all the same: whoever forbids that has to make it
// durable himself.
std::error_code MakeFolders(const std::string& path, FileSystem& files = PosixFileSystem());

}  // namespace mercer::server
