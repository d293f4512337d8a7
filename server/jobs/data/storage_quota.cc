#include "server/jobs/data/storage_quota.h"

#include "absl/strings/str_cat.h"

#include "core/base/status/errors.h"
#include "core/base/status/status_macros.h"

namespace mercer::server {

absl::Status CheckStoredBytes(DatasetStore& datasets, const DatasetRecord& record,
                              int64_t max_stored_bytes) {
  if (max_stored_bytes == 0) {
    return absl::OkStatus();
  }
  MERCER_ASSIGN_OR_RETURN(const int64_t stored, datasets.StoredBytes(record.blob));
  return CheckStoredBytes(record.size_bytes, stored, max_stored_bytes);
}

absl::Status CheckStoredBytes(int64_t needed, int64_t stored, int64_t max_stored_bytes) {
  if (max_stored_bytes == 0 || needed <= max_stored_bytes - stored) {
    return absl::OkStatus();
  }
  return WithReason(
      absl::ResourceExhaustedError(absl::StrCat(
          "the data set needs ", needed, " bytes, the others have ", stored,
          ", and all together may have ", max_stored_bytes, " (mercer-server --max-stored-bytes)")),
      "STORAGE_QUOTA_EXCEEDED",
      {{"needed_bytes", absl::StrCat(needed)},
       {"used_bytes", absl::StrCat(stored)},
       {"limit_bytes", absl::StrCat(max_stored_bytes)}});
}

}  // namespace mercer::server
