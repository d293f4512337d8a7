// JobStore in memory.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "server/storage/job_store.h"
#include "server/storage/memory/memory_state.h"

namespace mercer::server {

class MemoryJobStore final : public JobStore {
 public:
  explicit MemoryJobStore(std::shared_ptr<MemoryState> state) : state_(std::move(state)) {}

  void CreateJob(NewJob job, Done<CreatedJob> done) override;
  absl::StatusOr<std::optional<JobRecord>> FindRequest(const std::string& caller,
                                                       const std::string& request_id,
                                                       const std::string& request_digest) override;
  void ClaimJob(ClaimRequest request, Done<std::optional<JobRecord>> done) override;
  absl::StatusOr<absl::Time> NextReadyTime() override;
  void RenewLease(Lease lease, absl::Time lease_until, Done<RenewedLease> done) override;
  void BeginVerifying(Lease lease, EventDraft event, absl::Time now,
                      Done<EventRecord> done) override;
  void SaveCheckpoint(Lease lease, NewCheckpoint checkpoint,
                      Done<std::optional<BlobDigest>> done) override;
  void EndAttempt(AttemptEnd end, Done<EndedAttempt> done) override;
  void CancelJob(CancelRequest request, Done<EndedAttempt> done) override;
  void StopJob(StopRequest request, Done<EndedAttempt> done) override;
  void DeleteFinishedJobs(FinishedJobs which, Done<DeletedJobs> done) override;
  absl::StatusOr<JobRecord> GetJob(const std::string& id) override;
  absl::StatusOr<Page<JobRecord>> ListJobs(const JobFilter& filter,
                                           const PageRequest& page) override;
  absl::StatusOr<std::vector<AttemptRecord>> ListAttempts(const std::string& job_id) override;
  absl::StatusOr<std::optional<CheckpointRecord>> GetCheckpoint(const std::string& job_id) override;
  absl::StatusOr<std::map<JobState, int64_t>> CountJobs() override;

 private:
  absl::StatusOr<CreatedJob> Create(NewJob job);
  // Of a model that has versions, or else of the open jobs that are to make one, the first of which it will be.
  std::vector<std::string> OwnersOfModel(const std::string& name) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(state_->mutex);
  std::optional<JobRecord> Claim(const ClaimRequest& request);
  absl::StatusOr<EventRecord> MarkVerifying(const Lease& lease, const EventDraft& event,
                                            absl::Time now);
  absl::StatusOr<std::optional<BlobDigest>> ReplaceCheckpoint(const Lease& lease,
                                                              const NewCheckpoint& checkpoint);
  absl::StatusOr<EndedAttempt> Finish(const AttemptEnd& end);
  absl::StatusOr<EndedAttempt> Cancel(const CancelRequest& request);
  absl::StatusOr<EndedAttempt> Stop(const StopRequest& request);
  DeletedJobs RemoveFinished(const FinishedJobs& which);

  const std::shared_ptr<MemoryState> state_;
};

}  // namespace mercer::server
