// A backup under way: the bytes of the archive, piece by piece, while the server works.
//
//   MERCER_ASSIGN_OR_RETURN(const auto archive, BackupArchive::Begin(sources, is_cancelled));
//   while (true) {
//     MERCER_ASSIGN_OR_RETURN(const std::string piece, archive->Next(1 << 20));
//     if (piece.empty()) break;
//     ... send it ...
//   }
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/cord.h"
#include "absl/time/time.h"

#include "server/backup/backup_format.h"
#include "server/blobs/blob_store.h"
#include "server/digest/sha256.h"
#include "server/storage/storage.h"

namespace mercer::server {

// All outlive the archive.
struct BackupSources {
  Storage* storage = nullptr;
  BlobStore* blobs = nullptr;
  std::string database_copy;  // a path for the copy of the database, which no other uses
  std::string code_version;
  FileSystem* files = &PosixFileSystem();
};

// Holds the copy of the database on the disk and a pin on each of its blobs, until it is destroyed; in memory it has
// the digests and one piece. Not thread-safe.
class BackupArchive {
 public:
  // Copies the database and pins its blobs. Errors: those of the storage; kCancelled; kDataLoss (reason BLOB_MISSING: a
  // row names a blob that is lost).
  static absl::StatusOr<std::unique_ptr<BackupArchive>> Begin(
      const BackupSources& sources, const std::function<bool()>& is_cancelled);
  ~BackupArchive();
  BackupArchive(const BackupArchive&) = delete;
  BackupArchive& operator=(const BackupArchive&) = delete;

  // The next bytes, at most `max_bytes` (>= 1) of them; none after the last. Errors: kDataLoss (reason BLOB_DAMAGED: a
  // blob is not what its name says).
  absl::StatusOr<std::string> Next(size_t max_bytes);
  const BackupManifest& manifest() const { return manifest_; }

 private:
  explicit BackupArchive(BackupSources sources) : sources_(std::move(sources)) {}

  absl::Status TakeSnapshot(const std::function<bool()>& is_cancelled);
  // Makes the next file of the archive, or its end, the one that Next() reads from.
  absl::Status OpenNextPart();
  void SetPart(const std::string& name, absl::Cord content);

  const BackupSources sources_;
  std::vector<PinnedBlob> blobs_;
  BackupManifest manifest_;
  Sha256 hash_;
  bool digested_ = false;  // hash_ is finished
  // What comes next: the manifest, the database, the blobs from 2 on, the digest, and the end.
  size_t next_part_ = 0;
  bool ended_ = false;
  absl::Cord part_;  // what is left of the present one, with its header and the zeros behind it
};

}  // namespace mercer::server
