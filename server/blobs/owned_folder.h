// A folder of one process within a folder that several use: what it holds has an owner who is alive, or is left by the dead.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"

#include "core/base/numeric/hash_table.h"
#include "server/blobs/file_system.h"

namespace mercer::server {

// One of parent/1, parent/2, ..., with a flock until this is destroyed; the kernel releases it when the process dies.
class OwnedFolder {
 public:
  // Takes the first that nobody holds, with what the dead have left there, and makes one more when all are held. `inherit` is
  // called for every other one that nobody holds, and nobody takes it meanwhile. `files` must outlive the answer. Errors: those of
  // the file system and of `inherit`.
  using Inherit = absl::FunctionRef<absl::Status(const std::string& left, const OwnedFolder& own)>;
  static absl::StatusOr<std::shared_ptr<OwnedFolder>> Take(FileSystem& files,
                                                           const std::string& parent,
                                                           Inherit inherit);
  // Takes one that is empty. Those of the dead, and `parent` itself, have no files any more, either.
  static absl::StatusOr<std::shared_ptr<OwnedFolder>> TakeEmpty(FileSystem& files,
                                                                const std::string& parent);

  const std::string& path() const { return path_; }
  // The paths of all others.
  absl::StatusOr<std::vector<std::string>> Others() const;

 private:
  OwnedFolder(FileSystem* files, std::string parent, std::string path, ScopedDescriptor lock)
      : files_(*files),
        parent_(std::move(parent)),
        path_(std::move(path)),
        lock_(std::move(lock)) {}

  FileSystem& files_;
  const std::string parent_;
  const std::string path_;
  const ScopedDescriptor lock_;
};

// Pinned so, everything is.
inline constexpr char kPinsAll[] = "";

// Begins the names of the files in the folder of a process that show its pins to others.
inline constexpr char kPinPrefix[] = "pin-";

// The pins of blobs: counted for this process, and shown to others by an empty file with the name of the blob in its folder.
// Outlives the store in the pins that outlive it.
struct PinTable {
  PinTable(FileSystem* file_system, std::shared_ptr<OwnedFolder> folder)
      : files(*file_system), own(std::move(folder)) {}

  FileSystem& files;
  const std::shared_ptr<OwnedFolder> own;
  absl::Mutex mutex;
  HashMap<std::string, int64_t> counts ABSL_GUARDED_BY(mutex);
};

// Until the last copy of the answer goes, which takes the mutex. Errors: those of the file system.
absl::StatusOr<std::shared_ptr<void>> TakePin(const std::shared_ptr<PinTable>& pins,
                                              const std::string& digest)
    ABSL_EXCLUSIVE_LOCKS_REQUIRED(pins->mutex);

// Whether another process pins the blob. `others`: the folders of all others. Errors: those of the file system.
absl::StatusOr<bool> IsPinnedElsewhere(const PinTable& pins, const std::vector<std::string>& others,
                                       const std::string& digest);

}  // namespace mercer::server
