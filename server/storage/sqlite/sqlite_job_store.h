// JobStore in SQLite.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "server/storage/job_store.h"
#include "server/storage/sqlite/database/reader_pool.h"
#include "server/storage/sqlite/database/write_queue.h"
#include "server/storage/sqlite/sqlite_storage.h"

namespace mercer::server {

class SqliteJobStore final : public JobStore {
 public:
  // All must outlive the store and, the clock, the writer.
  SqliteJobStore(WriteQueue* writer, ReaderPool* readers, const StorageClock* clock)
      : writer_(writer), readers_(readers), clock_(*clock) {}

  void CreateJob(NewJob job, Done<CreatedJob> done) override;
  absl::StatusOr<std::optional<JobRecord>> FindRequest(const std::string& caller,
                                                       const std::string& request_id,
                                                       const std::string& request_digest) override;
  void ClaimJob(ClaimRequest request, Done<std::optional<JobRecord>> done) override;
  absl::StatusOr<absl::Time> NextReadyTime() override;
  void RenewLease(Lease lease, absl::Duration duration, Done<RenewedLease> done) override;
  absl::StatusOr<std::vector<HeldJob>> HeldJobs() override;
  void BeginVerifying(Lease lease, EventDraft event, absl::Time now,
                      Done<EventRecord> done) override;
  void SaveCheckpoint(Lease lease, NewCheckpoint checkpoint,
                      Done<std::optional<BlobDigest>> done) override;
  void EndAttempt(AttemptEnd end, Done<EndedAttempt> done) override;
  void CancelJob(CancelRequest request, Done<EndedAttempt> done) override;
  void StopJob(StopRequest request, Done<EndedAttempt> done) override;
  void DeleteFinishedJobs(FinishedJobs which, Done<DeletedJobs> done) override;
  void UpdateJob(std::string id, Labels labels, OwnerCheck check, Done<JobRecord> done) override;
  void DeleteJob(std::string id, OwnerCheck check, Done<DeletedJob> done) override;
  absl::StatusOr<JobRecord> GetJob(const std::string& id) override;
  absl::StatusOr<Page<JobRecord>> ListJobs(const JobFilter& filter,
                                           const PageRequest& page) override;
  absl::StatusOr<std::vector<AttemptRecord>> ListAttempts(const std::string& job_id) override;
  absl::StatusOr<std::optional<CheckpointRecord>> GetCheckpoint(const std::string& job_id) override;
  absl::StatusOr<std::map<JobState, int64_t>> CountJobs() override;

 private:
  WriteQueue* const writer_;
  ReaderPool* const readers_;
  const StorageClock& clock_;
};

}  // namespace mercer::server
