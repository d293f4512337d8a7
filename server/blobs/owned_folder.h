// A folder of one process within a folder that several use: what it holds has an owner who is alive, or is left by the dead.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"

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
  ~OwnedFolder();
  OwnedFolder(const OwnedFolder&) = delete;
  OwnedFolder& operator=(const OwnedFolder&) = delete;

  const std::string& path() const { return path_; }
  // The paths of all others.
  absl::StatusOr<std::vector<std::string>> Others() const;

 private:
  OwnedFolder(FileSystem* files, std::string parent, std::string path, int descriptor);

  FileSystem& files_;
  const std::string parent_;
  const std::string path_;
  const int descriptor_;
};

}  // namespace mercer::server
