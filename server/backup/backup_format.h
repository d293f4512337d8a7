// What a backup is: a tar archive with, in this order,
//   MANIFEST                    what it is, as lines "name value"
//   mercer.db                   the database as of one moment
//   blobs/<2 digits>/<digest>   every blob that the database names, sorted
//   SHA256                      the digest of all bytes before the header of this file
// An archive without its last file is not complete. docs/operations.md says how it is made and used.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace mercer::server {

inline constexpr int64_t kBackupFormatVersion = 1;
inline constexpr char kBackupManifest[] = "MANIFEST";
inline constexpr char kBackupDatabase[] = "mercer.db";
inline constexpr char kBackupDigest[] = "SHA256";

struct BackupManifest {
  std::string code_version;  // of the server that made it
  absl::Time time;           // of the database
  int64_t num_blobs = 0;
  int64_t blob_bytes = 0;
};

std::string EncodeManifest(const BackupManifest& manifest);
// Errors: kDataLoss (reason BACKUP_DAMAGED), kFailedPrecondition (reason NEWER_FORMAT).
absl::StatusOr<BackupManifest> DecodeManifest(std::string_view text);

std::string BackupBlobName(const std::string& digest);
// The digest; empty when that is no name of a blob.
std::string DigestOfBackupBlob(std::string_view name);

}  // namespace mercer::server
