// From the files of an upload to the data set.
#pragma once

#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "core/base/status/errors.h"
#include "core/data/table/dataset.h"
#include "core/io/text/readers.h"
#include "mercer/v1/dataset.pb.h"
#include "server/uploads/upload_part_files.h"

namespace mercer::server {

// Reads the parts into a data set; its squares stay in their files, whose mappings it keeps.
// Errors: kInvalidArgument (reasons of the readers, BAD_SIZE, BAD_FIELDS: patches that do not suit an image), kResourceExhausted (DATASET_TOO_LARGE:
// the table, inflated or in memory, exceeds `max_bytes`), kCancelled (`is_cancelled` says so; it is
// asked again and again).
absl::StatusOr<Dataset> ReadUploadedParts(
    const google::protobuf::RepeatedPtrField<v1::UploadPart>& parts, const UploadFiles& files,
    int64_t max_bytes, const std::function<bool()>& is_cancelled);

// How much memory that takes at most. Errors: those of the file system; of images those that their
// headers show, and DATASET_TOO_LARGE when that is more than `max_bytes`.
absl::StatusOr<int64_t> ParseBytes(const google::protobuf::RepeatedPtrField<v1::UploadPart>& parts,
                                   const UploadFiles& files, int64_t max_bytes);

// Errors: kCancelled, when `is_cancelled` says so.
absl::Status CheckWanted(const std::function<bool()>& is_cancelled);

// kInvalidArgument with reason BAD_SIZE.
absl::Status BadSize(const std::string& message);

// kResourceExhausted with reason DATASET_TOO_LARGE: `what` needs more bytes than the limit.
absl::Status DatasetTooLarge(const std::string& what, int64_t limit_bytes);

// Refuses parts that say themselves that their cells will not fit. Errors: kResourceExhausted.
absl::Status CheckAnnouncedSize(const google::protobuf::RepeatedPtrField<v1::UploadPart>& parts,
                                int64_t limit_bytes);

// Checks the parts' descriptions: the first a table, all others squares with names.
void CheckUploadParts(const google::protobuf::RepeatedPtrField<v1::UploadPart>& parts,
                      FieldViolations& violations);

}  // namespace mercer::server
