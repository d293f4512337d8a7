// Images of an upload: their files, one after the other in one part, become a table of patches.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "core/base/status/errors.h"
#include "core/data/table/dataset.h"
#include "mercer/v1/dataset.pb.h"

namespace mercer::server {

// Violations are named below `path`.
void CheckImagesFormat(const v1::ImagesFormat& format, const std::string& path,
                       FieldViolations& violations);

// Refuses what says itself that it will not fit, before its bytes come. Errors: kResourceExhausted (DATASET_TOO_LARGE).
absl::Status CheckAnnouncedImages(const v1::ImagesFormat& format, int64_t limit_bytes);

// How much memory ReadImages, and what is found out of the data set afterwards, takes at most: known from the images' headers.
// Errors: those of ReadImages that the headers show.
absl::StatusOr<int64_t> ImageParseBytes(const v1::ImagesFormat& format, const std::string& file,
                                        int64_t max_bytes);

// Reads the images of `file` one by one; it is cancelled between two of them. Errors: kInvalidArgument (BAD_IMAGE with `image`, its
// name; BAD_SIZE; BAD_FIELDS below header.parts[0].images: the patches do not suit an image), kResourceExhausted
// (DATASET_TOO_LARGE: ImageParseBytes is more than `max_bytes`), kCancelled.
absl::StatusOr<Dataset> ReadImages(const v1::ImagesFormat& format, const std::string& file,
                                   int64_t max_bytes, const std::function<bool()>& is_cancelled);

}  // namespace mercer::server
