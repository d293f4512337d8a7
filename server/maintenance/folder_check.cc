#include "server/maintenance/folder_check.h"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"

#include "core/base/status/errors.h"
#include "core/base/status/status_macros.h"
#include "server/maintenance/checks.h"
#include "server/maintenance/restore.h"
#include "server/storage/sqlite/database/connection.h"
#include "server/storage/sqlite/database/database_check.h"
#include "server/storage/sqlite/database/folder_lock.h"
#include "server/storage/sqlite/database/migrations.h"
#include "server/storage/sqlite/database/row_checksums.h"

namespace mercer::server {
namespace {

// Changes that only the log beside the database holds must be read with it.
bool HasLog(const std::string& database) {
  std::error_code error;
  return std::filesystem::file_size(database + "-wal", error) > 0 && !error;
}

absl::StatusOr<std::unique_ptr<Connection>> OpenDatabase(const FolderCheckOptions& options) {
  const std::string path = options.data_dir + "/mercer.db";
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) {
    return absl::NotFoundError(
        absl::StrCat("'", options.data_dir, "' is no data folder: it has no mercer.db"));
  }
  if (options.repair) {
    return Connection::Open(path, Connection::Mode::kReadWrite);
  }
  return Connection::Open(
      path, HasLog(path) ? Connection::Mode::kReadOnly : Connection::Mode::kImmutable);
}

// The log of a killed server is read through an index beside it, which must be made.
absl::Status ExplainReadOnly(const absl::Status& status, const std::string& folder) {
  return GetReason(status) != "STORAGE_READ_ONLY"
             ? status
             : WithReason(absl::FailedPreconditionError(absl::StrCat(
                              "'", folder,
                              "' holds changes in mercer.db-wal that cannot be read where nothing "
                              "can be written: inspect a copy")),
                          "STORAGE_READ_ONLY");
}

// Runs one change for each of the digests; answers how many rows it has changed.
absl::StatusOr<int64_t> ForEach(Connection& connection, const std::vector<std::string>& digests,
                                const std::vector<std::string>& changes) {
  int64_t rows = 0;
  for (const std::string& digest : digests) {
    for (const std::string& sql : changes) {
      MERCER_ASSIGN_OR_RETURN(Statement change, connection.Prepare(sql));
      MERCER_RETURN_IF_ERROR(change.Bind(digest).Run());
      rows += connection.changes();
    }
  }
  return rows;
}

// Takes all marks away and sets those that are right.
absl::Status RepairRows(Connection& connection, const std::vector<std::string>& lost,
                        FolderReport& report) {
  const std::string of_mark = absl::StrCat(" WHERE key = '", kLostLabel, "'");
  for (const char* const table : {"dataset_labels", "version_labels"}) {
    MERCER_ASSIGN_OR_RETURN(Statement clear,
                            connection.Prepare(absl::StrCat("DELETE FROM ", table, of_mark)));
    MERCER_RETURN_IF_ERROR(clear.Run());
    report.num_unmarked += connection.changes();
  }
  MERCER_RETURN_IF_ERROR(
      ForEach(connection, lost, {"DELETE FROM checkpoints WHERE blob = ?"}).status());
  MERCER_ASSIGN_OR_RETURN(
      report.num_marked,
      ForEach(connection, lost,
              {absl::StrCat("INSERT INTO dataset_labels(owner, key, value) SELECT number, '",
                            kLostLabel, "', ?1 FROM datasets WHERE blob = ?1"),
               absl::StrCat("INSERT INTO version_labels(owner, key, value) SELECT number, '",
                            kLostLabel,
                            "', ?1 FROM versions WHERE model_blob = ?1 OR witness_blob = ?1 ON "
                            "CONFLICT DO NOTHING")}));
  report.num_unmarked = std::max<int64_t>(0, report.num_unmarked - report.num_marked);
  return absl::OkStatus();
}

absl::Status Repair(const FolderCheckOptions& options, Connection& connection,
                    const BlobReport& blobs, FolderReport& report) {
  MERCER_RETURN_IF_ERROR(MigrateDatabase(connection, absl::Now()));
  MERCER_RETURN_IF_ERROR(AddChecksumTriggers(connection));
  MERCER_RETURN_IF_ERROR(connection.Execute("BEGIN IMMEDIATE"));
  const absl::Status changed = RepairRows(connection, blobs.lost, report);
  if (!changed.ok()) {
    connection.Execute("ROLLBACK").IgnoreError();  // the first error says more
    return changed;
  }
  MERCER_RETURN_IF_ERROR(connection.Execute("COMMIT"));
  for (const std::string& path : blobs.leftovers) {
    MERCER_RETURN_IF_ERROR(options.files->Remove(path));
    ++report.num_removed;
  }
  connection.CheckpointOnClose(true);
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<FolderLock>> Lock(const FolderCheckOptions& options) {
  return options.repair ? FolderLock::Acquire(options.data_dir)
                        : FolderLock::AcquireIfThere(options.data_dir);
}

}  // namespace

absl::StatusOr<FolderReport> CheckFolder(const FolderCheckOptions& options,
                                         const FindingSink& sink) {
  std::error_code error;
  if (!std::filesystem::is_directory(options.data_dir, error)) {
    return absl::NotFoundError(absl::StrCat("there is no folder '", options.data_dir, "'"));
  }
  MERCER_ASSIGN_OR_RETURN(const std::unique_ptr<FolderLock> lock, Lock(options));
  FolderReport report;
  const FindingSink counting = [&](Finding finding) {
    ++(finding.severity == Severity::kError ? report.num_errors : report.num_notes);
    sink(std::move(finding));
  };
  if (std::filesystem::exists(absl::StrCat(options.data_dir, "/", kUnfinishedRestore))) {
    counting({Severity::kError, "RESTORE_UNFINISHED", absl::StrCat("folder ", options.data_dir),
              "a restore into it was broken off", "empty the folder and restore again"});
    return report;
  }
  MERCER_ASSIGN_OR_RETURN(const std::unique_ptr<Connection> connection, OpenDatabase(options));
  const absl::Status file = CheckDatabaseFile(*connection, counting);
  if (GetReason(file) == "DATABASE_DAMAGED") {
    counting({Severity::kError, "DATABASE_DAMAGED", "database", std::string(file.message()),
              "restore a backup"});
    return report;
  }
  MERCER_RETURN_IF_ERROR(ExplainReadOnly(file, options.data_dir));
  if (report.num_errors > 0) {
    return report;  // what a damaged file says of anything else is worth nothing
  }
  MERCER_RETURN_IF_ERROR(CheckDatabaseRows(*connection, counting));
  MERCER_RETURN_IF_ERROR(CheckPayloads(*connection, counting));
  MERCER_ASSIGN_OR_RETURN(
      const BlobReport blobs,
      CheckBlobs(*connection, options.data_dir + "/blobs", *options.files, counting));
  report.num_blobs = blobs.num_blobs;
  report.blob_bytes = blobs.bytes;
  if (options.repair) {
    MERCER_RETURN_IF_ERROR(Repair(options, *connection, blobs, report));
  }
  return report;
}

}  // namespace mercer::server
