#include "server/api/upload_space.h"

#include "absl/strings/str_cat.h"

#include "core/base/errors.h"

namespace mercer::server {

absl::Status UploadSpaceExceeded(int64_t limit_bytes) {
  return WithReason(
      absl::ResourceExhaustedError(absl::StrCat(
          "all unfinished uploads together may take ", limit_bytes,
          " bytes (mercer-server --upload-space); finish, delete or await the others")),
      "UPLOAD_SPACE_EXCEEDED", {{"limit_bytes", absl::StrCat(limit_bytes)}});
}

}  // namespace mercer::server
