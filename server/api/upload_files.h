// The bytes of one upload on disk, one file per part, until the data set is made. Nothing stays
// behind.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "core/base/errors.h"
#include "core/data/dataset.h"
#include "core/data/readers.h"
#include "mercer/v1/dataset.pb.h"
#include "server/blobs/file_system.h"

namespace mercer::server {

// Not thread-safe. The destructor deletes the files.
class UploadFiles {
 public:
  // `stem`: a path that no other upload uses; part i goes to "<stem>.<i>".
  explicit UploadFiles(std::string stem) : stem_(std::move(stem)) {}
  ~UploadFiles();
  UploadFiles(const UploadFiles&) = delete;
  UploadFiles& operator=(const UploadFiles&) = delete;

  // Opens the file of the next part and closes the one before. Errors: those of the file system.
  absl::Status BeginPart();
  absl::Status Append(std::string_view bytes);
  absl::Status Close();
  int parts() const { return static_cast<int>(paths_.size()); }
  const std::string& path(int part) const { return paths_[static_cast<size_t>(part)]; }

 private:
  std::string stem_;
  std::vector<std::string> paths_;
  std::unique_ptr<WritableFile> file_;
};

// Reads the parts into a data set; its squares stay in their files, whose mappings it keeps.
// Errors: kInvalidArgument (reasons of the readers, BAD_SIZE), kResourceExhausted (DATASET_TOO_LARGE:
// the table, inflated or in memory, exceeds `max_bytes`), kCancelled (`is_cancelled` says so; it is
// asked again and again).
absl::StatusOr<Dataset> ReadUploadedParts(
    const google::protobuf::RepeatedPtrField<v1::UploadPart>& parts, const UploadFiles& files,
    int64_t max_bytes, const std::function<bool()>& is_cancelled);

// How much memory that takes at most. Errors: those of the file system.
absl::StatusOr<int64_t> ParseBytes(const google::protobuf::RepeatedPtrField<v1::UploadPart>& parts,
                                   const UploadFiles& files, int64_t max_bytes);

// kResourceExhausted with reason DATASET_TOO_LARGE: `what` needs more bytes than the limit.
absl::Status DatasetTooLarge(const std::string& what, int64_t limit_bytes);

// Refuses parts that say themselves that their cells will not fit. Errors: kResourceExhausted.
absl::Status CheckAnnouncedSize(const google::protobuf::RepeatedPtrField<v1::UploadPart>& parts,
                                int64_t limit_bytes);

// Checks the parts' descriptions: the first a table, all others squares with names.
void CheckUploadParts(const google::protobuf::RepeatedPtrField<v1::UploadPart>& parts,
                      FieldViolations& violations);

}  // namespace mercer::server
