#include "server/storage/sqlite/sqlite_storage.h"

#include <algorithm>
#include <filesystem>
#include <functional>
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
#include "server/storage/sqlite/dataset_rows.h"
#include "server/storage/sqlite/jobs.h"
#include "server/storage/sqlite/models.h"
#include "server/storage/sqlite/tables.h"

namespace mercer::server {
namespace {

// What the stores do stands in functions on a connection (jobs.h, models.h, dataset_rows.h); here is which one they run on.
class Database {
 public:
  Database(Connection* connection, std::unique_ptr<ReaderPool> readers, int max_batch)
      : readers_(std::move(readers)), writer_(connection, max_batch) {}

  // Answers change(connection, arguments...), which runs on the connection that writes.
  template <typename T, typename Function, typename... Arguments>
  void Change(Done<T> done, Function change, Arguments... arguments) {
    SubmitChange(writer_, std::move(done), change, std::move(arguments)...);
  }
  // read(connection, arguments...) with one that only reads.
  template <typename Function, typename... Arguments>
  auto Read(Function read, const Arguments&... arguments) {
    const ReaderPool::Loan reader = readers_->Borrow();
    return read(*reader, arguments...);
  }

 private:
  const std::unique_ptr<ReaderPool> readers_;
  WriteQueue writer_;
};

absl::Status CheckDatabase(Connection& connection) {
  MERCER_ASSIGN_OR_RETURN(const std::optional<std::string> answer,
                          connection.SelectFirst<std::string>("PRAGMA quick_check(1)"));
  if (answer != "ok") {
    return WithReason(
        absl::DataLossError(absl::StrCat("database: damaged: ", answer.value_or("no answer"))),
        "DATABASE_DAMAGED");
  }
  return absl::OkStatus();
}

class SqliteStorage final : public Storage,
                            private DatasetStore,
                            private JobStore,
                            private EventLog,
                            private ModelStore {
 public:
  SqliteStorage(const SqliteOptions& options, std::string path, std::unique_ptr<FolderLock> lock,
                std::unique_ptr<Connection> connection, std::unique_ptr<ReaderPool> readers)
      : path_(std::move(path)),
        clock_(options.clock),
        lock_(std::move(lock)),
        connection_(std::move(connection)),
        database_(connection_.get(), std::move(readers), options.max_batch) {}

  DatasetStore& datasets() override { return *this; }
  JobStore& jobs() override { return *this; }
  EventLog& events() override { return *this; }
  ModelStore& models() override { return *this; }

  absl::StatusOr<bool> IsBlobReferenced(const BlobDigest& blob) override {
    return database_.Read(IsReferenced, blob);
  }
  absl::StatusOr<std::vector<BlobDigest>> ReferencedBlobs() override {
    return database_.Read(ReadReferencedBlobs);
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
  // DatasetStore
  void CreateDataset(DatasetRecord dataset, int64_t max_stored_bytes,
                     Done<DatasetRecord> done) override {
    database_.Change(std::move(done), InsertDataset, std::move(dataset), max_stored_bytes);
  }
  void UpdateDataset(DatasetUpdate update, Done<DatasetRecord> done) override {
    database_.Change(std::move(done), ChangeDataset, std::move(update));
  }
  void DeleteDataset(std::string id, OwnerCheck check, Done<DatasetRecord> done) override {
    database_.Change(std::move(done), RemoveDataset, std::move(id), std::move(check));
  }
  void HideDataset(std::string id, OwnerCheck check, Done<DatasetRecord> done) override {
    database_.Change(std::move(done), MarkHidden, std::move(id), std::move(check));
  }
  absl::StatusOr<std::vector<std::string>> UnusedHiddenDatasets() override {
    return database_.Read(FindUnusedHiddenDatasets);
  }
  void DeleteHiddenDataset(std::string id, Done<DatasetRecord> done) override {
    database_.Change(std::move(done), RemoveHiddenDataset, std::move(id));
  }
  absl::StatusOr<DatasetRecord> GetDataset(const std::string& id) override {
    return database_.Read(ReadDataset, id);
  }
  absl::StatusOr<std::optional<DatasetRecord>> FindByKey(const std::string& key) override {
    return database_.Read(FindDatasetByKey, key);
  }
  absl::StatusOr<Page<DatasetRecord>> ListDatasets(const PageRequest& page,
                                                   const ListQuery& query) override {
    return database_.Read(ReadDatasetPage, page, query);
  }
  absl::StatusOr<int64_t> StoredBytes(const BlobDigest& except) override {
    return database_.Read(CountStoredBytes, except);
  }

  // JobStore
  void CreateJob(NewJob job, Done<CreatedJob> done) override {
    database_.Change(std::move(done), InsertJob, std::move(job));
  }
  absl::StatusOr<std::optional<JobRecord>> FindRequest(const std::string& caller,
                                                       const std::string& request_id,
                                                       const std::string& request_digest) override {
    return database_.Read(FindRequestedJob, caller, request_id, request_digest);
  }
  void ClaimJob(ClaimRequest request, Done<std::optional<JobRecord>> done) override {
    database_.Change(std::move(done), ClaimNextJob, std::move(request), std::cref(clock_));
  }
  absl::StatusOr<bool> HasDueJobs() override { return database_.Read(FindDueJobs, clock_); }
  void RenewLease(Lease lease, absl::Duration duration, Done<RenewedLease> done) override {
    database_.Change(std::move(done), ExtendLease, std::move(lease), duration, std::cref(clock_));
  }
  absl::StatusOr<std::vector<HeldJob>> HeldJobs() override {
    return database_.Read(FindHeldJobs, clock_);
  }
  void BeginVerifying(Lease lease, EventDraft event, absl::Time now,
                      Done<EventRecord> done) override {
    database_.Change(std::move(done), MarkVerifying, std::move(lease), std::move(event), now);
  }
  void SaveCheckpoint(Lease lease, NewCheckpoint checkpoint,
                      Done<std::optional<BlobDigest>> done) override {
    database_.Change(std::move(done), ReplaceCheckpoint, std::move(lease), std::move(checkpoint));
  }
  void EndAttempt(AttemptEnd end, Done<EndedAttempt> done) override {
    database_.Change(std::move(done), FinishAttempt, std::move(end), std::cref(clock_));
  }
  void TakeOver(Lease lease, absl::Time now, OrphanJudge judge, Done<EndedAttempt> done) override {
    database_.Change(std::move(done), EndOrphan, std::move(lease), now, std::move(judge),
                     std::cref(clock_));
  }
  void CancelJob(CancelRequest request, Done<EndedAttempt> done) override {
    database_.Change(std::move(done), MarkCancelled, std::move(request));
  }
  void StopJob(StopRequest request, Done<EndedAttempt> done) override {
    database_.Change(std::move(done), MarkStopping, std::move(request));
  }
  void DeleteFinishedJobs(FinishedJobs which, Done<DeletedJobs> done) override {
    database_.Change(std::move(done), RemoveFinishedJobs, which);
  }
  void UpdateJob(JobUpdate update, Done<JobRecord> done) override {
    database_.Change(std::move(done), ChangeJob, std::move(update));
  }
  void DeleteJob(std::string id, OwnerCheck check, Done<DeletedJob> done) override {
    database_.Change(std::move(done), RemoveJob, std::move(id), std::move(check));
  }
  absl::StatusOr<JobRecord> GetJob(const std::string& id) override {
    return database_.Read(ReadJob, id);
  }
  absl::StatusOr<Page<JobRecord>> ListJobs(const JobFilter& filter,
                                           const PageRequest& page) override {
    return database_.Read(ReadJobPage, filter, page);
  }
  absl::StatusOr<std::vector<AttemptRecord>> ListAttempts(const std::string& job_id) override {
    return database_.Read(ReadAttempts, job_id);
  }
  absl::StatusOr<std::optional<CheckpointRecord>> GetCheckpoint(
      const std::string& job_id) override {
    return database_.Read(ReadCheckpoint, job_id);
  }
  absl::StatusOr<std::map<JobState, int64_t>> CountJobs() override {
    return database_.Read(CountStates);
  }

  // EventLog
  void Append(Lease lease, std::vector<EventDraft> events, absl::Time now,
              Done<std::vector<EventRecord>> done) override {
    database_.Change(std::move(done), AppendLeased, std::move(lease), std::move(events), now);
  }
  absl::StatusOr<std::vector<EventRecord>> Read(const std::string& job_id, int64_t after_sequence,
                                                int limit) override {
    return database_.Read(ReadEvents, job_id, after_sequence, limit);
  }

  // ModelStore
  void DeleteModel(std::string name, int64_t version, absl::Time now, OwnerCheck check,
                   Done<DeletedVersions> done) override {
    database_.Change(std::move(done), DeleteVersions, std::move(name), version, now,
                     std::move(check));
  }
  absl::StatusOr<ModelRecord> GetModel(const std::string& name) override {
    return database_.Read(FindModel, name);
  }
  absl::StatusOr<VersionRecord> GetVersion(const std::string& name, int64_t version) override {
    return database_.Read(FindVersion, name, version);
  }
  absl::StatusOr<Page<ModelRecord>> ListModels(const PageRequest& page,
                                               const ListQuery& query) override {
    return database_.Read(ReadModelPage, page, query);
  }
  absl::StatusOr<Page<VersionRecord>> ListVersions(const std::string& name, const PageRequest& page,
                                                   const VersionFilter& filter) override {
    return database_.Read(ReadVersionPage, name, page, filter);
  }
  void UpdateModel(ModelUpdate update, Done<ModelRecord> done) override {
    database_.Change(std::move(done), ChangeModel, std::move(update));
  }
  void UpdateVersion(VersionUpdate update, Done<VersionRecord> done) override {
    database_.Change(std::move(done), ChangeVersion, std::move(update));
  }
  void SetRetention(RetentionChange change, Done<DeletedVersions> done) override {
    database_.Change(std::move(done), ChangeRetention, std::move(change));
  }
  void MoveAlias(AliasMove move, Done<AliasRecord> done) override {
    database_.Change(std::move(done), ApplyMove, std::move(move));
  }
  absl::StatusOr<std::optional<AliasRecord>> FindMove(const std::string& caller,
                                                      const std::string& request_id,
                                                      const std::string& request_digest) override {
    return database_.Read(FindAliasMove, caller, request_id, request_digest);
  }
  absl::StatusOr<AliasRecord> GetAlias(const std::string& model,
                                       const std::string& alias) override {
    return GetAliasAt(model, alias, absl::InfiniteFuture());
  }
  absl::StatusOr<AliasRecord> GetAliasAt(const std::string& model, const std::string& alias,
                                         absl::Time time) override {
    return database_.Read(ReadAliasAt, model, alias, time);
  }
  absl::StatusOr<Page<AliasRecord>> ListAliases(const std::string& model,
                                                const PageRequest& page) override {
    return database_.Read(ReadAliasPage, model, page);
  }
  absl::StatusOr<Page<AliasChange>> ListAliasChanges(const std::string& model,
                                                     const std::string& alias,
                                                     const PageRequest& page) override {
    return database_.Read(ReadChangePage, model, alias, page);
  }

  const std::string path_;  // of the database
  const StorageClock clock_;
  // Destroyed from the last to the first: the writer finishes its queue while the connection and
  // the lock still exist.
  std::unique_ptr<FolderLock> lock_;
  std::unique_ptr<Connection> connection_;
  Database database_;
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
