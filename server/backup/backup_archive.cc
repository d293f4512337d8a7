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

}  // namespace

absl::StatusOr<std::unique_ptr<BackupArchive>> BackupArchive::Begin(
    const BackupSources& sources, const std::function<bool()>& is_cancelled) {
  std::unique_ptr<BackupArchive> archive(new BackupArchive(sources));
  MERCER_RETURN_IF_ERROR(archive->TakeSnapshot(is_cancelled));
  return archive;
}

BackupArchive::~BackupArchive() {
  const ScopedAllocations scope(Allocations::kNeeded);
  file_.reset();
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
    if (sent_ == PartBytes()) {
      if (ended_) {
        break;
      }
      MERCER_RETURN_IF_ERROR(OpenNextPart());
    }
    const std::string_view rest = Rest().substr(0, max_bytes - piece.size());
    if (!digested_) {
      hash_.Update(rest);
    }
    piece.append(rest);
    sent_ += rest.size();
  }
  return piece;
}

std::string_view BackupArchive::Content() const {
  return file_ != nullptr ? file_->contents() : std::string_view(text_);
}

size_t BackupArchive::PartBytes() const {
  return before_.size() + Content().size() + after_.size();
}

std::string_view BackupArchive::Rest() const {
  size_t skip = sent_;
  for (const std::string_view piece : {std::string_view(before_), Content()}) {
    if (skip < piece.size()) {
      return piece.substr(skip);
    }
    skip -= piece.size();
  }
  return std::string_view(after_).substr(skip);
}

absl::Status BackupArchive::OpenNextPart() {
  const size_t part = next_part_++;
  const size_t digest_part = kFixedParts + blobs_.size();
  if (part == 0) {
    SetPart(kBackupManifest, EncodeManifest(manifest_));
  } else if (part == 1) {
    MERCER_ASSIGN_OR_RETURN(std::unique_ptr<MappedFile> file,
                            sources_.files->Map(sources_.database_copy));
    SetPart(kBackupDatabase, std::move(file));
  } else if (part < digest_part) {
    const std::string& digest = blobs_[part - kFixedParts].digest();
    MERCER_ASSIGN_OR_RETURN(std::unique_ptr<MappedFile> file, sources_.blobs->Read(digest));
    SetPart(BackupBlobName(digest), std::move(file));
  } else if (part == digest_part) {
    digested_ = true;
    SetPart(kBackupDigest, hash_.FinishHex() + "\n");
  } else {
    before_ = TarEnd();
    text_.clear();
    after_.clear();
    sent_ = 0;
    ended_ = true;
  }
  return absl::OkStatus();
}

void BackupArchive::SetPart(const std::string& name, std::string content) {
  const auto size = static_cast<int64_t>(content.size());
  before_ = TarHeader(name, size, manifest_.time);
  file_.reset();
  text_ = std::move(content);
  after_ = TarPadding(size);
  sent_ = 0;
}

void BackupArchive::SetPart(const std::string& name, std::unique_ptr<MappedFile> file) {
  const auto size = static_cast<int64_t>(file->contents().size());
  before_ = TarHeader(name, size, manifest_.time);
  file_ = std::move(file);
  text_.clear();
  after_ = TarPadding(size);
  sent_ = 0;
}

}  // namespace mercer::server
