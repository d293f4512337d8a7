#include "server/blobs/disk_reserve.h"

#include <algorithm>
#include <memory>
#include <random>
#include <string>

#include "absl/strings/str_cat.h"

#include "core/base/status/errors.h"
#include "core/base/status/status_macros.h"

namespace mercer::server {
namespace {

constexpr int64_t kPieceBytes = int64_t{1} << 20;

std::string FolderOf(const std::string& path) { return path.substr(0, path.rfind('/')); }

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
