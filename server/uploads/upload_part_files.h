// The bytes of one upload on disk, one file per part.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "server/blobs/file_system.h"

namespace mercer::server {

// Makes an empty file in the place of one that may be there: what a failed beginning or removal has left is nobody's.
absl::StatusOr<std::unique_ptr<WritableFile>> CreateAnew(FileSystem& files,
                                                         const std::string& path);

// Not thread-safe. `file_system` outlives it.
class UploadFiles {
 public:
  // `stem`: a path that no other upload uses; part i goes to "<stem>.<i>". `sizes`: the bytes of the parts that are there
  // already; what their files hold besides is cut off before something is appended.
  explicit UploadFiles(std::string stem, std::vector<int64_t> sizes = {},
                       FileSystem& file_system = PosixFileSystem());
  // Removes the files unless they are to be kept.
  ~UploadFiles();
  UploadFiles(const UploadFiles&) = delete;
  UploadFiles& operator=(const UploadFiles&) = delete;

  void set_kept(bool kept) { kept_ = kept; }

  // Makes the file of the next part and closes the one before. Errors: those of the file system.
  absl::Status BeginPart();
  // To the last part. After an error the file may hold any part of `bytes`: see Rewind.
  absl::Status Append(std::string_view bytes);
  // All of the last part is on the disk.
  absl::Status Sync();
  absl::Status Close();
  // Takes back what came after `sizes`.
  void Rewind(std::vector<int64_t> sizes);

  int parts() const { return static_cast<int>(sizes_.size()); }
  const std::vector<int64_t>& sizes() const { return sizes_; }
  std::string path(int part) const;
  // Whether the part holds these bytes there.
  absl::StatusOr<bool> Holds(int part, int64_t offset, std::string_view bytes) const;

 private:
  absl::Status Open();

  const std::string stem_;
  FileSystem& file_system_;
  std::vector<int64_t> sizes_;
  std::unique_ptr<WritableFile> file_;  // of the last part; null: not open
  bool kept_ = false;
};

}  // namespace mercer::server
