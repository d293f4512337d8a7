#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <dirent.h>
#include <fcntl.h>
#include <filesystem>
#include <memory>
#include <string_view>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <system_error>
#include <unistd.h>
#include <utility>

#include "absl/strings/str_cat.h"

#include "core/base/status/errors.h"
#include "server/blobs/file_system.h"

namespace mercer::server {
namespace {

absl::Status SystemError(int error, const std::string& what, const std::string& path) {
  const std::string message =
      absl::StrCat("cannot ", what, " '", path, "': ", std::system_category().message(error));
  switch (error) {
    case ENOENT:
      return absl::NotFoundError(message);
    case EEXIST:
      return absl::AlreadyExistsError(message);
    case ENOSPC:
    case EDQUOT:
      return WithReason(absl::ResourceExhaustedError(message), "DISK_FULL", {{"path", path}});
    case EMFILE:
    case ENFILE:
      return WithReason(absl::UnavailableError(message), "TOO_MANY_FILES", {{"path", path}});
    case EROFS:
    case EACCES:
    case EPERM:
      return WithReason(absl::FailedPreconditionError(message), "STORAGE_READ_ONLY",
                        {{"path", path}});
    default:
      return absl::InternalError(message);
  }
}

absl::Status Result(int result, const std::string& what, const std::string& path) {
  return result == 0 ? absl::OkStatus() : SystemError(errno, what, path);
}

class PosixWritableFile final : public WritableFile {
 public:
  PosixWritableFile(std::string path, ScopedDescriptor descriptor)
      : path_(std::move(path)), descriptor_(std::move(descriptor)) {}

  absl::Status Append(std::string_view bytes) override {
    while (!bytes.empty()) {
      const ssize_t written = write(descriptor_.get(), bytes.data(), bytes.size());
      if (written < 0) {
        if (errno == EINTR) {
          continue;
        }
        return SystemError(errno, "write", path_);
      }
      bytes.remove_prefix(static_cast<size_t>(written));
      unwritten_ += written;
    }
    StartWriting();
    return absl::OkStatus();
  }

  absl::Status Sync() override { return Result(fsync(descriptor_.get()), "sync", path_); }
  absl::Status Close() override { return Result(close(descriptor_.Release()), "close", path_); }

 private:
  // Lets the disk begin with what has come, so that little is left to do when all must be on it. A hint: what cannot be begun
  // is left to Sync.
  void StartWriting() {
    constexpr int64_t kStartBytes = int64_t{2} << 20;
    const off_t end = unwritten_ < kStartBytes ? -1 : lseek(descriptor_.get(), 0, SEEK_CUR);
    if (end >= 0) {
      sync_file_range(descriptor_.get(), end - unwritten_, unwritten_, SYNC_FILE_RANGE_WRITE);
      unwritten_ = 0;
    }
  }

  std::string path_;
  ScopedDescriptor descriptor_;
  int64_t unwritten_ = 0;  // bytes at the end that the disk was not asked to begin with
};

class PosixMappedFile final : public MappedFile {
 public:
  PosixMappedFile(void* address, size_t size) : address_(address), size_(size) {}
  ~PosixMappedFile() override {
    if (address_ != nullptr) {
      munmap(address_, size_);
    }
  }
  PosixMappedFile(const PosixMappedFile&) = delete;
  PosixMappedFile& operator=(const PosixMappedFile&) = delete;

  std::string_view contents() const override { return {static_cast<const char*>(address_), size_}; }

 private:
  void* address_;
  size_t size_;
};

class PosixFiles final : public FileSystem {
 public:
  absl::StatusOr<std::unique_ptr<WritableFile>> Create(const std::string& path) override {
    ScopedDescriptor descriptor(open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0640));
    if (descriptor.get() < 0) {
      return SystemError(errno, "create", path);
    }
    return std::make_unique<PosixWritableFile>(path, std::move(descriptor));
  }

  absl::StatusOr<std::unique_ptr<WritableFile>> Reopen(const std::string& path,
                                                       int64_t size) override {
    ScopedDescriptor descriptor(open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC));
    struct stat info = {};
    if (descriptor.get() < 0 || fstat(descriptor.get(), &info) != 0) {
      return SystemError(errno, "open", path);
    }
    if (info.st_size < size) {
      return absl::DataLossError(
          absl::StrCat("'", path, "' has ", info.st_size, " bytes, it had ", size));
    }
    if (info.st_size > size && ftruncate(descriptor.get(), size) != 0) {
      return SystemError(errno, "cut", path);
    }
    return std::make_unique<PosixWritableFile>(path, std::move(descriptor));
  }

  absl::StatusOr<std::unique_ptr<MappedFile>> Map(const std::string& path) override {
    const ScopedDescriptor descriptor(open(path.c_str(), O_RDONLY | O_CLOEXEC));
    struct stat info = {};
    if (descriptor.get() < 0 || fstat(descriptor.get(), &info) != 0) {
      return SystemError(errno, "open", path);
    }
    const auto size = static_cast<size_t>(info.st_size);
    if (size == 0) {
      return std::make_unique<PosixMappedFile>(nullptr, 0);
    }
    void* address = mmap(nullptr, size, PROT_READ, MAP_SHARED, descriptor.get(), 0);
    if (address == MAP_FAILED) {
      return SystemError(errno, "map", path);
    }
    return std::make_unique<PosixMappedFile>(address, size);
  }

  absl::StatusOr<FileIdentity> Identify(const std::string& path) override {
    struct stat info = {};
    if (stat(path.c_str(), &info) != 0) {
      return SystemError(errno, "look at", path);
    }
    return FileIdentity{info.st_ino, info.st_size,
                        info.st_mtim.tv_sec * int64_t{1'000'000'000} + info.st_mtim.tv_nsec};
  }

  absl::Status Rename(const std::string& from, const std::string& to) override {
    return Result(rename(from.c_str(), to.c_str()), "rename", from);
  }

  absl::Status Remove(const std::string& path) override {
    return Result(unlink(path.c_str()), "remove", path);
  }

  absl::Status MakeFolder(const std::string& path) override {
    const absl::Status status = Result(mkdir(path.c_str(), 0750), "make the folder", path);
    return absl::IsAlreadyExists(status) ? absl::OkStatus() : status;
  }

  absl::Status SyncFolder(const std::string& path) override {
    const ScopedDescriptor descriptor(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (descriptor.get() < 0) {
      return SystemError(errno, "open the folder", path);
    }
    return Result(fsync(descriptor.get()), "sync the folder", path);
  }

  absl::StatusOr<std::vector<std::string>> List(const std::string& folder) override {
    // Not by std::filesystem, which ends the process where there is no memory for an iterator.
    const std::unique_ptr<DIR, int (*)(DIR*)> stream(opendir(folder.c_str()), closedir);
    if (stream == nullptr) {
      return SystemError(errno, "list", folder);
    }
    std::vector<std::string> names;
    errno = 0;
    while (const dirent* entry = readdir(stream.get())) {
      const std::string_view name = entry->d_name;
      if (name != "." && name != "..") {
        names.emplace_back(name);
      }
      errno = 0;
    }
    if (errno != 0) {
      return SystemError(errno, "list", folder);
    }
    std::sort(names.begin(), names.end());
    return names;
  }

  absl::StatusOr<DiskSpace> Space(const std::string& folder) override {
    struct statvfs info = {};
    if (statvfs(folder.c_str(), &info) != 0) {
      return SystemError(errno, "ask for the space of", folder);
    }
    const auto block = static_cast<int64_t>(info.f_frsize);
    return DiskSpace{static_cast<int64_t>(info.f_bavail) * block,
                     static_cast<int64_t>(info.f_blocks) * block};
  }
};

}  // namespace

ScopedDescriptor::~ScopedDescriptor() {
  if (value_ >= 0) {
    close(value_);
  }
}

FileSystem& PosixFileSystem() {
  static PosixFiles files;
  return files;
}

std::error_code MakeFolders(const std::string& path, FileSystem& files) {
  std::filesystem::path folder = std::filesystem::absolute(path).lexically_normal();
  if (!folder.has_filename()) {
    folder = folder.parent_path();  // of "data/" that is "data" itself
  }
  std::error_code error;
  std::vector<std::filesystem::path> parents;
  for (auto missing = folder; missing.has_relative_path() && !exists(missing, error);
       missing = missing.parent_path()) {
    parents.push_back(missing.parent_path());
  }
  std::filesystem::create_directories(folder, error);
  if (!error) {
    for (const std::filesystem::path& parent : parents) {
      files.SyncFolder(parent.string()).IgnoreError();
    }
  }
  return error;
}

}  // namespace mercer::server
