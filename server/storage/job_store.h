// The durable queue: jobs, attempts, leases, checkpoints. Every state change writes its event in
// the same transaction, so that a job and its event log never disagree.
#pragma once

#include <limits>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

#include "server/storage/completion.h"
#include "server/storage/records.h"

namespace mercer::server {

struct NewJob {
  std::string id;
  int32_t priority = 0;
  std::string request;
  std::string request_id;  // empty: every call makes a job
  std::string
      request_digest;  // of the request's content; compared when the request_id is known already
  std::string learner;
  std::vector<std::string> dataset_ids;
  Labels labels;
  std::string model_name;
  int64_t memory_bytes = 0;
  absl::Time now;
  EventDraft event;  // "queued", sequence 1
};

struct CreatedJob {
  JobRecord job;
  bool created = false;  // false: the request_id was known, `job` is the earlier one
};

struct ClaimRequest {
  std::string worker;
  std::string host;
  absl::Time now;
  absl::Time lease_until;
  // The head of the queue is claimed only when it fits; jobs behind it never overtake it, so a
  // large job is not starved.
  int64_t free_memory_bytes = 0;
  EventDraft event;  // "running"
  // A head that needs more than this will never fit: it is claimed all the same, so that its worker
  // can end it.
  int64_t memory_budget_bytes = std::numeric_limits<int64_t>::max();
};

struct NewCheckpoint {
  int64_t iteration = 0;
  std::string code_version;
  BlobDigest blob;
  absl::Time now;
};

struct NewVersion {
  std::string learner;
  BlobDigest model_blob;
  int64_t model_bytes = 0;
  BlobDigest witness_blob;  // may be empty
  int64_t witness_bytes = 0;
  std::string summary;
  Labels labels;
};

// The end of an attempt.
struct AttemptEnd {
  Lease lease;
  JobState state = JobState::kQueued;  // kQueued, or a final state
  AttemptReason reason = AttemptReason::kWorkerLost;
  std::optional<StoredError> error;
  std::optional<NewVersion>
      version;  // kSucceeded only: becomes the next version of the job's model
  absl::Time now;
  std::vector<EventDraft> events;  // the last one tells the new state
};

struct EndedAttempt {
  JobRecord job;
  std::vector<EventRecord> events;  // as stored
  // No longer named by this job, or by the versions deleted; others may name them.
  std::vector<BlobDigest> released_blobs;
  std::vector<int64_t> deleted_versions;  // of the job's model, which no longer keeps them
};

struct CancelRequest {
  std::string job_id;
  absl::Time now;
  EventDraft cancelling;  // written when a worker holds the job
  EventDraft cancelled;   // written when the job was still queued
};

struct JobFilter {
  std::vector<JobState> states;  // empty: all
  Labels labels;                 // all of them must be there with these values
};

// Thread-safe; common errors as in DatasetStore. A method that takes a Lease changes nothing and
// answers kAborted with reason LEASE_LOST unless (worker, epoch) still hold the job.
class JobStore {
 public:
  virtual ~JobStore() = default;

  // Errors: kNotFound (a data set; reason DATASET_NOT_FOUND, metadata "dataset"), kAlreadyExists
  // (the id; or the request_id with another digest, reason REQUEST_ID_REUSED).
  virtual void CreateJob(NewJob job, Done<CreatedJob> done) = 0;
  absl::StatusOr<CreatedJob> CreateJob(NewJob job);

  // The job that CreateJob would answer without making one. Errors: kAlreadyExists as there.
  virtual absl::StatusOr<std::optional<JobRecord>> FindRequest(
      const std::string& request_id, const std::string& request_digest) = 0;

  // Takes the queued job of the highest priority, the oldest among equals; begins its next attempt
  // in state RUNNING. Answers nothing when the queue is empty or its head has to wait for memory.
  virtual void ClaimJob(ClaimRequest request, Done<std::optional<JobRecord>> done) = 0;
  absl::StatusOr<std::optional<JobRecord>> ClaimJob(ClaimRequest request);

  // Answers the state, so that a worker learns of a cancellation that another process has accepted.
  virtual void RenewLease(Lease lease, absl::Time lease_until, Done<JobState> done) = 0;
  absl::StatusOr<JobState> RenewLease(Lease lease, absl::Time lease_until);

  // RUNNING -> VERIFYING. Errors: kFailedPrecondition (reason CANCEL_REQUESTED).
  virtual void BeginVerifying(Lease lease, EventDraft event, absl::Time now,
                              Done<EventRecord> done) = 0;
  absl::StatusOr<EventRecord> BeginVerifying(Lease lease, EventDraft event, absl::Time now);

  // Replaces the job's checkpoint. Answers the blob of the one before, if another: the caller
  // releases it.
  virtual void SaveCheckpoint(Lease lease, NewCheckpoint checkpoint,
                              Done<std::optional<BlobDigest>> done) = 0;
  absl::StatusOr<std::optional<BlobDigest>> SaveCheckpoint(Lease lease, NewCheckpoint checkpoint);

  // Ends the attempt: job, attempt, events and (with `version`) the model's new version in one
  // transaction. A final state drops the checkpoint. Errors: kFailedPrecondition (reason
  // CANCEL_REQUESTED: the job is CANCELLING, so only kCancelled is accepted).
  virtual void EndAttempt(AttemptEnd end, Done<EndedAttempt> done) = 0;
  absl::StatusOr<EndedAttempt> EndAttempt(AttemptEnd end);

  // QUEUED -> CANCELLED; RUNNING, VERIFYING -> CANCELLING; CANCELLING stays. Errors: kNotFound,
  // kFailedPrecondition (reason JOB_IS_FINAL).
  virtual void CancelJob(CancelRequest request, Done<EndedAttempt> done) = 0;
  absl::StatusOr<EndedAttempt> CancelJob(CancelRequest request);

  // Errors: kNotFound.
  virtual absl::StatusOr<JobRecord> GetJob(const std::string& id) = 0;
  // Newest first. Errors: as DatasetStore::ListDatasets.
  virtual absl::StatusOr<Page<JobRecord>> ListJobs(const JobFilter& filter,
                                                   const PageRequest& page) = 0;
  // In order. An unknown job has none.
  virtual absl::StatusOr<std::vector<AttemptRecord>> ListAttempts(const std::string& job_id) = 0;
  virtual absl::StatusOr<std::optional<CheckpointRecord>> GetCheckpoint(
      const std::string& job_id) = 0;
  // States without jobs are left out.
  virtual absl::StatusOr<std::map<JobState, int64_t>> CountJobs() = 0;
};

}  // namespace mercer::server
