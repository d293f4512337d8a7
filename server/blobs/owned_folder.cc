#include "server/blobs/owned_folder.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <optional>
#include <sys/file.h>
#include <utility>

#include "absl/strings/str_cat.h"

#include "core/base/memory/memory_reserve.h"
#include "core/base/status/status_macros.h"

namespace mercer::server {
namespace {

// None: somebody holds it.
absl::StatusOr<std::optional<ScopedDescriptor>> TryToHold(const std::string& path) {
  ScopedDescriptor descriptor(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (descriptor.get() >= 0 && flock(descriptor.get(), LOCK_EX | LOCK_NB) == 0) {
    return descriptor;
  }
  if (descriptor.get() >= 0 && errno == EWOULDBLOCK) {
    return std::nullopt;
  }
  return absl::InternalError(
      absl::StrCat("cannot lock the folder '", path, "': ", std::strerror(errno)));
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

std::string MarkOf(const std::string& owner, const std::string& digest) {
  return absl::StrCat(owner, "/", kPinPrefix, digest);
}

}  // namespace

absl::StatusOr<std::shared_ptr<OwnedFolder>> OwnedFolder::Take(FileSystem& files,
                                                               const std::string& parent,
                                                               Inherit inherit) {
  std::shared_ptr<OwnedFolder> own;
  for (int number = 1; own == nullptr; ++number) {
    std::string path = absl::StrCat(parent, "/", number);
    MERCER_RETURN_IF_ERROR(files.MakeFolder(path));
    MERCER_ASSIGN_OR_RETURN(std::optional<ScopedDescriptor> held, TryToHold(path));
    if (held.has_value()) {
      own.reset(new OwnedFolder(&files, parent, std::move(path), *std::move(held)));
    }
  }
  MERCER_ASSIGN_OR_RETURN(const std::vector<std::string> others, own->Others());
  for (const std::string& path : others) {
    MERCER_ASSIGN_OR_RETURN(const std::optional<ScopedDescriptor> held, TryToHold(path));
    if (held.has_value()) {
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

absl::StatusOr<std::shared_ptr<void>> TakePin(const std::shared_ptr<PinTable>& pins,
                                              const std::string& digest) {
  const ScopedAllocations scope(Allocations::kNeeded);  // one that is not made would be given back
  const std::string mark = MarkOf(pins->own->path(), digest);
  if (!pins->counts.contains(digest)) {
    const absl::Status marked = pins->files.Create(mark).status();
    if (!marked.ok() && !absl::IsAlreadyExists(marked)) {
      return marked;
    }
  }
  ++pins->counts[digest];
  // The pointee does not matter, only what happens when the last copy goes.
  return std::shared_ptr<void>(pins.get(), [pins, digest, mark](void*) {
    absl::MutexLock lock(&pins->mutex);
    if (--pins->counts[digest] == 0) {
      pins->counts.erase(digest);
      // What cannot be removed now keeps others from deleting the blob until the next start.
      pins->files.Remove(mark).IgnoreError();
    }
  });
}

absl::StatusOr<bool> IsPinnedElsewhere(const PinTable& pins, const std::vector<std::string>& others,
                                       const std::string& digest) {
  for (const std::string& owner : others) {
    for (const std::string& name : {digest, std::string(kPinsAll)}) {
      const absl::Status found = pins.files.Identify(MarkOf(owner, name)).status();
      if (!absl::IsNotFound(found)) {
        return found.ok() ? absl::StatusOr<bool>(true) : found;
      }
    }
  }
  return false;
}

}  // namespace mercer::server
