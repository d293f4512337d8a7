#include "server/maintenance/restore.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"

#include "core/base/status/errors.h"
#include "core/base/status/status_macros.h"
#include "server/backup/tar.h"
#include "server/blobs/file_system.h"
#include "server/digest/sha256.h"
#include "server/storage/sqlite/database/connection.h"
#include "server/storage/sqlite/database/folder_lock.h"
#include "server/storage/sqlite/database/migrations.h"
#include "server/storage/sqlite/database/snapshot.h"

namespace mercer::server {
namespace {

constexpr size_t kBufferBytes = size_t{1} << 20;
constexpr int64_t kMaxTextBytes = 64 << 10;  // of manifest and digest

absl::Status Damaged(const std::string& what) {
  return WithReason(absl::DataLossError(absl::StrCat("the backup is damaged: ", what)),
                    "BACKUP_DAMAGED");
}

// Made by the file systems of disks at their top.
bool IsForeign(const std::filesystem::path& name) { return name == "lost+found"; }

// `locked`: by this process, so that the file of the lock is no content.
absl::Status CheckIsEmpty(const std::string& folder, bool locked) {
  std::error_code error;
  std::filesystem::directory_iterator entry(folder, error);
  if (error) {
    return WithReason(absl::FailedPreconditionError(absl::StrCat(
                          "the folder '", folder, "' cannot be used: ", error.message())),
                      "STORAGE_READ_ONLY");
  }
  const bool empty = std::all_of(begin(entry), end(entry), [&](const auto& found) {
    const std::filesystem::path name = found.path().filename();
    return IsForeign(name) || (locked && name == "lock");
  });
  return empty ? absl::OkStatus()
               : WithReason(absl::FailedPreconditionError(absl::StrCat(
                                "the folder '", folder,
                                "' is not empty: a backup is restored into an empty one")),
                            "RESTORE_FOLDER_NOT_EMPTY", {{"folder", folder}});
}

absl::Status MakeEmptyFolder(const std::string& folder) {
  MakeFolders(folder);  // that it is not there is said below
  return CheckIsEmpty(folder, false);
}

// Removes what an unsuccessful restore has made.
void EmptyFolder(const std::string& folder) {
  std::error_code error;
  std::vector<std::filesystem::path> found;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    if (!IsForeign(entry.path().filename())) {
      found.push_back(entry.path());
    }
  }
  for (const std::filesystem::path& path : found) {
    std::filesystem::remove_all(path, error);  // the next try says what stays
  }
}

class Restore {
 public:
  Restore(const RestoreOptions& options, std::istream& input)
      : folder_(options.data_dir), files_(*options.files), archive_(input, kBackupDigest) {}

  absl::StatusOr<BackupManifest> Run() {
    MERCER_ASSIGN_OR_RETURN(std::optional<TarFile> file, archive_.Next());
    MERCER_RETURN_IF_ERROR(Expect(file, kBackupManifest));
    MERCER_ASSIGN_OR_RETURN(const std::string text, ReadText(file));
    MERCER_ASSIGN_OR_RETURN(const BackupManifest manifest, DecodeManifest(text));
    MERCER_ASSIGN_OR_RETURN(file, archive_.Next());
    MERCER_RETURN_IF_ERROR(Expect(file, kBackupDatabase));
    MERCER_RETURN_IF_ERROR(Write(DatabasePath()).status());
    MERCER_RETURN_IF_ERROR(files_.SyncFolder(folder_));
    MERCER_RETURN_IF_ERROR(files_.MakeFolder(folder_ + "/blobs"));
    MERCER_RETURN_IF_ERROR(WriteBlobs());
    const absl::Status checked = CheckDatabase(manifest);
    if (!checked.ok()) {
      // DATABASE_ERROR: it is sound, but lacks a table or column of ours.
      const std::string reason = GetReason(checked);
      return reason == "DATABASE_DAMAGED" || reason == "DATABASE_ERROR"
                 ? Damaged("its database is damaged")
                 : checked;
    }
    MERCER_RETURN_IF_ERROR(Finish());
    return manifest;
  }

 private:
  std::string DatabasePath() const { return absl::StrCat(folder_, "/", kUnfinishedRestore); }
  absl::Status Expect(const std::optional<TarFile>& file, const std::string& name) const {
    return file.has_value() && file->name == name
               ? absl::OkStatus()
               : Damaged(absl::StrCat(
                     "it should hold '", name, "' where it holds ",
                     file.has_value() ? absl::StrCat("'", file->name, "'") : "nothing"));
  }

  absl::StatusOr<std::string> ReadText(const std::optional<TarFile>& file) {
    if (file->size > kMaxTextBytes) {
      return Damaged(absl::StrCat("'", file->name, "' is too large"));
    }
    std::string text(static_cast<size_t>(file->size), '\0');
    MERCER_RETURN_IF_ERROR(archive_.Read(text.data(), text.size()).status());
    return text;
  }

  // Writes the content of the present file; answers its digest.
  absl::StatusOr<std::string> Write(const std::string& path) {
    MERCER_ASSIGN_OR_RETURN(const std::unique_ptr<WritableFile> file, files_.Create(path));
    Sha256 hash;
    std::string buffer(kBufferBytes, '\0');
    while (true) {
      MERCER_ASSIGN_OR_RETURN(const size_t size, archive_.Read(buffer.data(), buffer.size()));
      if (size == 0) {
        break;
      }
      const std::string_view bytes(buffer.data(), size);
      hash.Update(bytes);
      MERCER_RETURN_IF_ERROR(file->Append(bytes));
    }
    MERCER_RETURN_IF_ERROR(file->Sync());
    MERCER_RETURN_IF_ERROR(file->Close());
    return hash.FinishHex();
  }

  absl::Status WriteBlob(const TarFile& file) {
    const std::string digest = DigestOfBackupBlob(file.name);
    if (digest.empty()) {
      return Damaged(absl::StrCat("'", file.name, "' is no file of a backup"));
    }
    if (!digests_.insert(digest).second) {
      return Damaged(absl::StrCat("'", file.name, "' is there twice"));
    }
    const std::string folder = absl::StrCat(folder_, "/blobs/", digest.substr(0, 2));
    if (folders_.insert(folder).second) {
      MERCER_RETURN_IF_ERROR(files_.MakeFolder(folder));
    }
    MERCER_ASSIGN_OR_RETURN(const std::string found, Write(absl::StrCat(folder, "/", digest)));
    blob_bytes_ += file.size;
    return found == digest
               ? absl::OkStatus()
               : Damaged(absl::StrCat("the content of '", file.name, "' has another digest"));
  }

  absl::Status WriteBlobs() {
    std::optional<TarFile> file;
    while (true) {
      MERCER_ASSIGN_OR_RETURN(file, archive_.Next());
      if (!file.has_value() || file->name == kBackupDigest) {
        break;
      }
      MERCER_RETURN_IF_ERROR(WriteBlob(*file));
    }
    MERCER_RETURN_IF_ERROR(Expect(file, kBackupDigest));
    MERCER_ASSIGN_OR_RETURN(std::string digest, ReadText(file));
    absl::StripTrailingAsciiWhitespace(&digest);
    if (digest != archive_.digest()) {
      return Damaged("its bytes have another digest than it says");
    }
    MERCER_ASSIGN_OR_RETURN(file, archive_.Next());
    return file.has_value() ? Damaged("something follows its digest") : absl::OkStatus();
  }

  absl::Status CheckDatabase(const BackupManifest& manifest) const {
    MERCER_ASSIGN_OR_RETURN(const std::unique_ptr<Connection> connection,
                            Connection::Open(DatabasePath(), Connection::Mode::kImmutable));
    MERCER_RETURN_IF_ERROR(CheckSchemaVersion(*connection));
    MERCER_ASSIGN_OR_RETURN(Statement check, connection->Prepare("PRAGMA integrity_check(1)"));
    MERCER_ASSIGN_OR_RETURN(const bool answered, check.Step());
    if (!answered || check.Bytes(0) != "ok") {
      return Damaged("its database is damaged");
    }
    MERCER_ASSIGN_OR_RETURN(const std::vector<BlobDigest> named, ReadReferencedBlobs(*connection));
    const bool complete = std::equal(named.begin(), named.end(), digests_.begin(), digests_.end());
    return complete && manifest.num_blobs == static_cast<int64_t>(digests_.size()) &&
                   manifest.blob_bytes == blob_bytes_
               ? absl::OkStatus()
               : Damaged("it does not hold the files that its database names");
  }

  absl::Status Finish() {
    for (const std::string& folder : folders_) {
      MERCER_RETURN_IF_ERROR(files_.SyncFolder(folder));
    }
    MERCER_RETURN_IF_ERROR(files_.SyncFolder(folder_ + "/blobs"));
    MERCER_RETURN_IF_ERROR(
        files_.Rename(DatabasePath(), absl::StrCat(folder_, "/", kBackupDatabase)));
    return files_.SyncFolder(folder_);
  }

  const std::string folder_;
  FileSystem& files_;
  TarReader archive_;
  std::set<std::string> digests_;
  std::set<std::string> folders_;
  int64_t blob_bytes_ = 0;
};

}  // namespace

absl::StatusOr<BackupManifest> RestoreBackup(const RestoreOptions& options) {
  std::ifstream input(options.archive, std::ios::binary);
  if (!input.is_open()) {
    return absl::NotFoundError(absl::StrCat("cannot read the archive '", options.archive, "'"));
  }
  MERCER_RETURN_IF_ERROR(MakeEmptyFolder(options.data_dir));
  MERCER_ASSIGN_OR_RETURN(const std::unique_ptr<FolderLock> lock,
                          FolderLock::Acquire(options.data_dir));
  // A server may have begun to use the folder between the two.
  MERCER_RETURN_IF_ERROR(CheckIsEmpty(options.data_dir, true));
  absl::StatusOr<BackupManifest> restored = Restore(options, input).Run();
  if (!restored.ok()) {
    EmptyFolder(options.data_dir);
  }
  return restored;
}

}  // namespace mercer::server
