#include "server/blobs/owned_folder.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <optional>
#include <sys/file.h>
#include <unistd.h>
#include <utility>

#include "absl/strings/str_cat.h"

#include "core/base/status/status_macros.h"

namespace mercer::server {
namespace {

// None: somebody holds it.
absl::StatusOr<std::optional<int>> TryToHold(const std::string& path) {
  const int descriptor = open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor >= 0 && flock(descriptor, LOCK_EX | LOCK_NB) == 0) {
    return descriptor;
  }
  const int error = errno;
  if (descriptor >= 0) {
    close(descriptor);
  }
  if (descriptor >= 0 && error == EWOULDBLOCK) {
    return std::nullopt;
  }
  return absl::InternalError(
      absl::StrCat("cannot lock the folder '", path, "': ", std::strerror(error)));
}

// Whether a folder that is made so may have this name.
bool IsOwnedName(const std::string& name) {
  return !name.empty() && name.size() < 10 && name[0] != '0' &&
         std::all_of(name.begin(), name.end(), [](char c) { return c >= '0' && c <= '9'; });
}

absl::Status RemoveFilesIn(FileSystem& files, const std::string& folder) {
  MERCER_ASSIGN_OR_RETURN(const std::vector<std::string> names, files.List(folder));
  for (const std::string& name : names) {
    const std::string path = absl::StrCat(folder, "/", name);
    const absl::Status removed = files.List(path).ok() ? absl::OkStatus() : files.Remove(path);
    if (!absl::IsNotFound(removed)) {  // of the folder that all share, another one may remove it
      MERCER_RETURN_IF_ERROR(removed);
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<std::string>> FoldersIn(FileSystem& files, const std::string& parent) {
  MERCER_ASSIGN_OR_RETURN(const std::vector<std::string> names, files.List(parent));
  std::vector<std::string> paths;
  for (const std::string& name : names) {
    if (IsOwnedName(name) && files.List(absl::StrCat(parent, "/", name)).ok()) {
      paths.push_back(absl::StrCat(parent, "/", name));
    }
  }
  return paths;
}

}  // namespace

OwnedFolder::OwnedFolder(FileSystem* files, std::string parent, std::string path, int descriptor)
    : files_(*files), parent_(std::move(parent)), path_(std::move(path)), descriptor_(descriptor) {}

OwnedFolder::~OwnedFolder() { close(descriptor_); }

absl::StatusOr<std::shared_ptr<OwnedFolder>> OwnedFolder::Take(FileSystem& files,
                                                               const std::string& parent,
                                                               Inherit inherit) {
  std::shared_ptr<OwnedFolder> own;
  for (int number = 1; own == nullptr; ++number) {
    std::string path = absl::StrCat(parent, "/", number);
    MERCER_RETURN_IF_ERROR(files.MakeFolder(path));
    MERCER_ASSIGN_OR_RETURN(const std::optional<int> held, TryToHold(path));
    if (held.has_value()) {
      own.reset(new OwnedFolder(&files, parent, std::move(path), *held));
    }
  }
  MERCER_ASSIGN_OR_RETURN(const std::vector<std::string> others, own->Others());
  for (const std::string& path : others) {
    MERCER_ASSIGN_OR_RETURN(const std::optional<int> held, TryToHold(path));
    if (held.has_value()) {
      const OwnedFolder left(&files, parent, path, *held);
      MERCER_RETURN_IF_ERROR(inherit(path, *own));
    }
  }
  return own;
}

absl::StatusOr<std::shared_ptr<OwnedFolder>> OwnedFolder::TakeEmpty(FileSystem& files,
                                                                    const std::string& parent) {
  MERCER_RETURN_IF_ERROR(RemoveFilesIn(files, parent));
  MERCER_ASSIGN_OR_RETURN(
      std::shared_ptr<OwnedFolder> own,
      Take(files, parent, [&files](const std::string& left, const OwnedFolder& /*own*/) {
        return RemoveFilesIn(files, left);
      }));
  MERCER_RETURN_IF_ERROR(RemoveFilesIn(files, own->path()));
  return own;
}

absl::StatusOr<std::vector<std::string>> OwnedFolder::Others() const {
  MERCER_ASSIGN_OR_RETURN(std::vector<std::string> paths, FoldersIn(files_, parent_));
  std::erase(paths, path_);
  return paths;
}

}  // namespace mercer::server
