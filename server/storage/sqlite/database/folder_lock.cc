#include "server/storage/sqlite/database/folder_lock.h"

#include <cerrno>
#include <fcntl.h>
#include <filesystem>
#include <sys/file.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"

#include "core/base/status/errors.h"
#include "core/base/status/status_macros.h"

namespace mercer::server {
namespace {

absl::Status SystemError(int error, const std::string& what, const std::string& path) {
  const std::string message =
      absl::StrCat(what, " '", path, "': ", std::system_category().message(error));
  if (error == EROFS || error == EACCES || error == EPERM) {
    return WithReason(absl::FailedPreconditionError(message), "STORAGE_READ_ONLY",
                      {{"path", path}});
  }
  if (error == ENOSPC) {
    return WithReason(absl::ResourceExhaustedError(message), "DISK_FULL", {{"path", path}});
  }
  return absl::InternalError(message);
}

// The holder's process id as it stands in the lock file; "unknown" when it cannot be read.
std::string ReadHolder(int descriptor) {
  char text[32] = {};
  const ssize_t size = pread(descriptor, text, sizeof(text) - 1, 0);
  std::string digits(text, size > 0 ? static_cast<size_t>(size) : 0);
  absl::StripTrailingAsciiWhitespace(&digits);
  return digits.empty() ? "unknown" : digits;
}

absl::Status Lock(int descriptor, const std::string& folder) {
  if (flock(descriptor, LOCK_EX | LOCK_NB) == 0) {
    return absl::OkStatus();
  }
  if (errno != EWOULDBLOCK) {
    return SystemError(errno, "cannot lock", absl::StrCat(folder, "/lock"));
  }
  const std::string holder = ReadHolder(descriptor);
  return WithReason(
      absl::FailedPreconditionError(absl::StrCat("the data folder '", folder,
                                                 "' is used by another server, process ", holder)),
      "DATA_FOLDER_LOCKED", {{"folder", folder}, {"holder", holder}});
}

// False with errno. A disk that is nearly full may take a part of the text only.
bool WriteHolder(int descriptor, const std::string& text) {
  size_t done = 0;
  while (done < text.size()) {
    const ssize_t size =
        pwrite(descriptor, text.data() + done, text.size() - done, static_cast<off_t>(done));
    if (size < 0 && errno != EINTR) {
      return false;
    }
    done += size > 0 ? static_cast<size_t>(size) : 0;
  }
  return true;
}

// The folder's own name is in the folder above, and may have been made just now. Whoever may not read that one has to make
// the folder durable himself.
void SyncFolderAbove(const std::string& folder) {
  std::filesystem::path path = std::filesystem::absolute(folder).lexically_normal();
  if (!path.has_filename()) {
    path = path.parent_path();  // of "data/" that is "data" itself
  }
  const std::string above = path.parent_path();
  const int descriptor = open(above.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor >= 0) {
    fsync(descriptor);
    close(descriptor);
  }
}

}  // namespace

absl::StatusOr<std::unique_ptr<FolderLock>> FolderLock::Acquire(const std::string& folder) {
  if (mkdir(folder.c_str(), 0750) != 0 && errno != EEXIST) {
    return SystemError(errno, "cannot make the data folder", folder);
  }
  const std::string path = absl::StrCat(folder, "/lock");
  const int descriptor = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0640);
  if (descriptor < 0) {
    return SystemError(errno, "cannot write", path);
  }
  std::unique_ptr<FolderLock> lock(new FolderLock(descriptor));
  MERCER_RETURN_IF_ERROR(Lock(descriptor, folder));
  const std::string content = absl::StrCat(getpid(), "\n");
  if (ftruncate(descriptor, 0) != 0 || !WriteHolder(descriptor, content)) {
    return SystemError(errno, "cannot write", path);
  }
  SyncFolderAbove(folder);
  return lock;
}

absl::StatusOr<std::unique_ptr<FolderLock>> FolderLock::AcquireIfThere(const std::string& folder) {
  const std::string path = absl::StrCat(folder, "/lock");
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) {
    if (errno == ENOENT) {
      return nullptr;
    }
    return SystemError(errno, "cannot read", path);
  }
  std::unique_ptr<FolderLock> lock(new FolderLock(descriptor));
  MERCER_RETURN_IF_ERROR(Lock(descriptor, folder));
  return lock;
}

FolderLock::~FolderLock() { close(descriptor_); }

}  // namespace mercer::server
