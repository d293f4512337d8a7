#include "server/blobs/disk_guard.h"

#include <algorithm>
#include <limits>

#include "absl/strings/str_cat.h"

#include "core/base/status/errors.h"

namespace mercer::server {
namespace {

constexpr int64_t kMostByDefault = int64_t{1} << 30;
constexpr int64_t kShareByDefault = 50;  // one of so many parts

}  // namespace

absl::Status DiskGuard::CheckRoom(int64_t more) const {
  const absl::StatusOr<DiskSpace> space = files_.Space(folder_);
  if (!space.ok()) {
    return absl::OkStatus();
  }
  const int64_t min_free_bytes = min_free_bytes_;
  const int64_t kept = min_free_bytes > 0
                           ? min_free_bytes
                           : std::min(kMostByDefault, space->total_bytes / kShareByDefault);
  const int64_t needed = kept + std::min(more, std::numeric_limits<int64_t>::max() - kept);
  if (space->free_bytes >= needed) {
    return absl::OkStatus();
  }
  return WithReason(
      absl::ResourceExhaustedError(
          absl::StrCat("the server's disk is nearly full: ", space->free_bytes,
                       " bytes are free, new work needs ", needed,
                       "; delete data sets or models, or make room")),
      "DISK_NEARLY_FULL",
      {{"free_bytes", absl::StrCat(space->free_bytes)}, {"needed_bytes", absl::StrCat(needed)}});
}

}  // namespace mercer::server
