#include "server/storage/sqlite/sqlite_storage.h"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"

#include "core/base/status/errors.h"
#include "core/base/status/status_macros.h"
#include "server/storage/sqlite/database/connection.h"
#include "server/storage/sqlite/database/folder_lock.h"
#include "server/storage/sqlite/database/migrations.h"
#include "server/storage/sqlite/database/reader_pool.h"
#include "server/storage/sqlite/database/row_checksums.h"
#include "server/storage/sqlite/database/snapshot.h"
#include "server/storage/sqlite/database/write_queue.h"
#include "server/storage/sqlite/job_changes.h"
#include "server/storage/sqlite/sqlite_dataset_store.h"
#include "server/storage/sqlite/sqlite_event_log.h"
#include "server/storage/sqlite/sqlite_job_store.h"
#include "server/storage/sqlite/sqlite_model_store.h"

namespace mercer::server {
namespace {

absl::Status CheckDatabase(Connection& connection) {
  MERCER_ASSIGN_OR_RETURN(Statement check, connection.Prepare("PRAGMA quick_check(1)"));
  MERCER_ASSIGN_OR_RETURN(const bool found, check.Step());
  const std::string answer = found ? check.Bytes(0) : "no answer";
  if (answer != "ok") {
    return WithReason(absl::DataLossError(absl::StrCat("database: damaged: ", answer)),
                      "DATABASE_DAMAGED");
  }
  return absl::OkStatus();
}

class SqliteStorage final : public Storage {
 public:
  SqliteStorage(const SqliteOptions& options, std::string path, std::unique_ptr<FolderLock> lock,
                std::unique_ptr<Connection> connection, std::unique_ptr<ReaderPool> readers)
      : path_(std::move(path)),
        clock_(options.clock),
        lock_(std::move(lock)),
        connection_(std::move(connection)),
        readers_(std::move(readers)),
        writer_(connection_.get(), options.max_batch) {}

  DatasetStore& datasets() override { return datasets_; }
  JobStore& jobs() override { return jobs_; }
  EventLog& events() override { return events_; }
  ModelStore& models() override { return models_; }

  absl::StatusOr<bool> IsBlobReferenced(const BlobDigest& blob) override {
    const ReaderPool::Loan reader = readers_->Borrow();
    MERCER_ASSIGN_OR_RETURN(
        Statement select,
        (*reader).Prepare(
            "SELECT EXISTS (SELECT 1 FROM datasets WHERE blob = ?1) OR EXISTS (SELECT 1 FROM "
            "checkpoints "
            "WHERE blob = ?1) OR EXISTS (SELECT 1 FROM versions WHERE model_blob = ?1) OR "
            "EXISTS (SELECT 1 FROM versions WHERE witness_blob = ?1)"));
    MERCER_ASSIGN_OR_RETURN(const bool found, select.Bind(blob).Step());
    return found && select.Int64(0) != 0;
  }

  absl::StatusOr<std::vector<BlobDigest>> ReferencedBlobs() override {
    const ReaderPool::Loan reader = readers_->Borrow();
    return ReadReferencedBlobs(*reader);
  }

  int64_t SnapshotBytes() override {
    int64_t bytes = 0;
    for (const char* const file : {"", "-wal"}) {
      std::error_code error;
      const std::uintmax_t size = std::filesystem::file_size(absl::StrCat(path_, file), error);
      bytes += error ? 0 : static_cast<int64_t>(size);
    }
    return bytes;
  }

  absl::StatusOr<std::vector<BlobDigest>> WriteSnapshot(
      const std::string& path, const std::function<bool()>& is_cancelled) override {
    // A connection of its own: the copy takes as long as it takes.
    MERCER_ASSIGN_OR_RETURN(const std::unique_ptr<Connection> source,
                            Connection::Open(path_, Connection::Mode::kReadOnly));
    return CopyDatabase(*source, path, is_cancelled);
  }

 private:
  const std::string path_;  // of the database
  const StorageClock clock_;
  // Destroyed from the last to the first: the writer finishes its queue while the connection and
  // the lock still exist.
  std::unique_ptr<FolderLock> lock_;
  std::unique_ptr<Connection> connection_;
  std::unique_ptr<ReaderPool> readers_;
  WriteQueue writer_;
  SqliteDatasetStore datasets_{&writer_, readers_.get()};
  SqliteJobStore jobs_{&writer_, readers_.get(), &clock_};
  SqliteEventLog events_{&writer_, readers_.get()};
  SqliteModelStore models_{&writer_, readers_.get()};
};

}  // namespace

absl::StatusOr<std::unique_ptr<Storage>> OpenSqliteStorage(const SqliteOptions& options) {
  MERCER_ASSIGN_OR_RETURN(std::unique_ptr<FolderLock> lock, FolderLock::Acquire(options.folder));
  const std::string path = absl::StrCat(options.folder, "/mercer.db");
  MERCER_ASSIGN_OR_RETURN(std::unique_ptr<Connection> connection,
                          Connection::Open(path, Connection::Mode::kReadWrite));
  if (options.check_at_start) {
    MERCER_RETURN_IF_ERROR(CheckDatabase(*connection));
  }
  MERCER_RETURN_IF_ERROR(MigrateDatabase(*connection, absl::Now()));
  MERCER_RETURN_IF_ERROR(AddChecksumTriggers(*connection));
  MERCER_RETURN_IF_ERROR(AddCheckedViews(*connection));
  MERCER_RETURN_IF_ERROR(EndAllLeases(*connection));
  MERCER_ASSIGN_OR_RETURN(std::unique_ptr<ReaderPool> readers,
                          ReaderPool::Open(path, std::max(1, options.num_readers)));
  connection->CheckpointOnClose(true);
  return std::make_unique<SqliteStorage>(options, path, std::move(lock), std::move(connection),
                                         std::move(readers));
}

}  // namespace mercer::server
