#include "server/blobs/disk_guard.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <random>

#include "absl/strings/str_cat.h"

#include "core/base/status/errors.h"
#include "core/base/status/status_macros.h"

namespace mercer::server {
namespace {

constexpr int64_t kMostByDefault = int64_t{1} << 30;
constexpr int64_t kShareByDefault = 50;  // one of so many parts
constexpr int64_t kPieceBytes = int64_t{1} << 20;

// In full: a file with a hole would hold no room, nor would zeros on a file system that compresses.
absl::Status Fill(FileSystem& files, const std::string& path, int64_t bytes) {
  MERCER_ASSIGN_OR_RETURN(const std::unique_ptr<WritableFile> file, files.Create(path));
  std::mt19937_64 random;  // the same bytes each time
  std::string piece(kPieceBytes, '\0');
  for (int64_t written = 0; written < bytes; written += kPieceBytes) {
    std::generate(piece.begin(), piece.end(), [&random] { return static_cast<char>(random()); });
    MERCER_RETURN_IF_ERROR(file->Append(piece));
  }
  MERCER_RETURN_IF_ERROR(file->Sync());
  return file->Close();
}

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

absl::Status DiskReserve::Refill() {
  absl::MutexLock lock(&mutex_);
  const absl::StatusOr<FileIdentity> found = files_.Identify(path_);
  if (found.ok() && found->size == kBytes) {
    return absl::OkStatus();
  }
  if (found.ok()) {
    MERCER_RETURN_IF_ERROR(files_.Remove(path_));  // a crash has left a part of it
  }
  MERCER_ASSIGN_OR_RETURN(const DiskSpace space, files_.Space(FolderOf(path_)));
  if (space.free_bytes < 2 * kBytes) {
    return WithReason(absl::ResourceExhaustedError(
                          absl::StrCat("the disk has ", space.free_bytes, " free bytes")),
                      "DISK_FULL");
  }
  const absl::Status filled = Fill(files_, path_, kBytes);
  if (!filled.ok()) {
    files_.Remove(path_).IgnoreError();  // the first error says more
  }
  return filled;
}

bool DiskReserve::Release() {
  absl::MutexLock lock(&mutex_);
  return files_.Remove(path_).ok();
}

}  // namespace mercer::server
