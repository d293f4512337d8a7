#include "server/backup/backup_archive.h"

#include <algorithm>
#include <utility>

#include "absl/time/clock.h"

#include "core/base/memory/memory_reserve.h"
#include "core/base/status/status_macros.h"
#include "server/backup/tar.h"

namespace mercer::server {
namespace {

constexpr size_t kFixedParts = 2;  // before the blobs

// The content of a file, which stays mapped as long as any of it is there.
absl::Cord ContentOf(std::unique_ptr<MappedFile> file) {
  const absl::string_view bytes(file->contents().data(), file->contents().size());
  return absl::MakeCordFromExternal(bytes, [kept = std::move(file)] {});
}

}  // namespace

absl::StatusOr<std::unique_ptr<BackupArchive>> BackupArchive::Begin(
    const BackupSources& sources, const std::function<bool()>& is_cancelled) {
  std::unique_ptr<BackupArchive> archive(new BackupArchive(sources));
  MERCER_RETURN_IF_ERROR(archive->TakeSnapshot(is_cancelled));
  return archive;
}

BackupArchive::~BackupArchive() {
  const ScopedAllocations scope(Allocations::kNeeded);
  part_.Clear();
  sources_.files->Remove(sources_.database_copy)
      .IgnoreError();  // the next start removes it otherwise
}

absl::Status BackupArchive::TakeSnapshot(const std::function<bool()>& is_cancelled) {
  // A blob that the copy names may lose its row as soon as the copy is made.
  MERCER_ASSIGN_OR_RETURN(const std::shared_ptr<void> hold, sources_.blobs->HoldDeletions());
  manifest_.code_version = sources_.code_version;
  manifest_.time = absl::Now();
  MERCER_ASSIGN_OR_RETURN(const std::vector<BlobDigest> named,
                          sources_.storage->WriteSnapshot(sources_.database_copy, is_cancelled));
  blobs_.reserve(named.size());
  for (const BlobDigest& digest : named) {
    absl::StatusOr<PinnedBlob> blob = sources_.blobs->Pin(digest);
    if (absl::IsNotFound(blob.status())) {
      return BlobMissing(digest);
    }
    MERCER_RETURN_IF_ERROR(blob.status());
    manifest_.blob_bytes += blob->size();
    blobs_.push_back(*std::move(blob));
  }
  manifest_.num_blobs = static_cast<int64_t>(blobs_.size());
  return absl::OkStatus();
}

absl::StatusOr<std::string> BackupArchive::Next(size_t max_bytes) {
  std::string piece;
  while (piece.size() < max_bytes) {
    if (part_.empty()) {
      if (ended_) {
        break;
      }
      MERCER_RETURN_IF_ERROR(OpenNextPart());
    }
    const absl::string_view chunk = *part_.chunk_begin();
    const std::string_view rest(chunk.data(), std::min(chunk.size(), max_bytes - piece.size()));
    if (!digested_) {
      hash_.Update(rest);
    }
    piece.append(rest);
    part_.RemovePrefix(rest.size());
  }
  return piece;
}

absl::Status BackupArchive::OpenNextPart() {
  const size_t part = next_part_++;
  const size_t digest_part = kFixedParts + blobs_.size();
  if (part == 0) {
    SetPart(kBackupManifest, absl::Cord(EncodeManifest(manifest_)));
  } else if (part == 1) {
    MERCER_ASSIGN_OR_RETURN(std::unique_ptr<MappedFile> file,
                            sources_.files->Map(sources_.database_copy));
    SetPart(kBackupDatabase, ContentOf(std::move(file)));
  } else if (part < digest_part) {
    const std::string& digest = blobs_[part - kFixedParts].digest();
    MERCER_ASSIGN_OR_RETURN(std::unique_ptr<MappedFile> file, sources_.blobs->Read(digest));
    SetPart(BackupBlobName(digest), ContentOf(std::move(file)));
  } else if (part == digest_part) {
    digested_ = true;
    SetPart(kBackupDigest, absl::Cord(hash_.FinishHex() + "\n"));
  } else {
    part_ = TarEnd();
    ended_ = true;
  }
  return absl::OkStatus();
}

void BackupArchive::SetPart(const std::string& name, absl::Cord content) {
  const auto size = static_cast<int64_t>(content.size());
  part_ = TarHeader(name, size, manifest_.time);
  part_.Append(std::move(content));
  part_.Append(TarPadding(size));
}

}  // namespace mercer::server
