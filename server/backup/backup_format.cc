#include "server/backup/backup_format.h"

#include <algorithm>
#include <map>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

#include "core/base/status/errors.h"
#include "core/base/status/status_macros.h"

namespace mercer::server {
namespace {

constexpr std::string_view kFolder = "blobs/";
constexpr size_t kDigestDigits = 64;

absl::Status Damaged(const std::string& what) {
  return WithReason(absl::DataLossError(absl::StrCat("the archive is no backup: ", what)),
                    "BACKUP_DAMAGED");
}

// Takes a number that must be there.
absl::StatusOr<int64_t> TakeNumber(const std::map<std::string, std::string>& lines,
                                   const std::string& name) {
  const auto found = lines.find(name);
  int64_t value = 0;
  if (found == lines.end() || !absl::SimpleAtoi(found->second, &value) || value < 0) {
    return Damaged(absl::StrCat("its manifest does not say '", name, "'"));
  }
  return value;
}

}  // namespace

std::string EncodeManifest(const BackupManifest& manifest) {
  return absl::StrCat("mercer-backup ", kBackupFormatVersion, "\ncode_version ",
                      manifest.code_version, "\ntime ", absl::FormatTime(manifest.time), "\nblobs ",
                      manifest.num_blobs, "\nblob_bytes ", manifest.blob_bytes, "\n");
}

absl::StatusOr<BackupManifest> DecodeManifest(std::string_view text) {
  std::map<std::string, std::string> lines;
  for (const auto line : absl::StrSplit(absl::string_view(text.data(), text.size()), '\n')) {
    const std::vector<std::string> words = absl::StrSplit(line, absl::MaxSplits(' ', 1));
    if (words.size() == 2) {
      lines.emplace(words[0], words[1]);
    }
  }
  MERCER_ASSIGN_OR_RETURN(const int64_t version, TakeNumber(lines, "mercer-backup"));
  if (version > kBackupFormatVersion) {
    return WithReason(
        absl::FailedPreconditionError(absl::StrCat("the backup has format ", version,
                                                   ", written by a newer version; this "
                                                   "one reads ",
                                                   kBackupFormatVersion)),
        "NEWER_FORMAT");
  }
  BackupManifest manifest;
  manifest.code_version = lines["code_version"];
  std::string error;
  if (!absl::ParseTime(absl::RFC3339_full, lines["time"], &manifest.time, &error)) {
    return Damaged("its manifest says no time");
  }
  MERCER_ASSIGN_OR_RETURN(manifest.num_blobs, TakeNumber(lines, "blobs"));
  MERCER_ASSIGN_OR_RETURN(manifest.blob_bytes, TakeNumber(lines, "blob_bytes"));
  return manifest;
}

std::string BackupBlobName(const std::string& digest) {
  return absl::StrCat("blobs/", digest.substr(0, 2), "/", digest);
}

std::string DigestOfBackupBlob(std::string_view name) {
  if (name.size() != kFolder.size() + 3 + kDigestDigits) {
    return "";
  }
  const std::string digest(name.substr(kFolder.size() + 3));
  const bool is_digest = std::all_of(digest.begin(), digest.end(), [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
  });
  return is_digest && BackupBlobName(digest) == name ? digest : "";
}

}  // namespace mercer::server
