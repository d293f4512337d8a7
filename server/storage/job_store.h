// The durable queue: jobs, attempts, leases, checkpoints. Every state change writes its event in
// the same transaction, so that a job and its event log never disagree.
//
// The order of the queue. A queued job is READY when its not_before has passed by the clock of the store (or lies further ahead than
// kLongestDelay, as after a clock that was wrong), and its caller is ELIGIBLE while fewer jobs of that caller are held by
// workers than the claim allows. A job that another server can run, and this one never, is in the queue of the other alone.
// Of the ready jobs of eligible callers, the HEAD is the one with
//   1. the highest priority;
//   2. the caller of whom workers hold the fewest jobs;
//   3. the caller whose last claim is the longest ago (one who never had any comes first);
//   4. the greatest age.
// With one caller that is priority, then age. A claim takes the head or nothing: while the head waits for memory, no job
// behind it begins. So nobody starves, priorities apart. INVARIANT: from the moment that no worker holds a job of caller A,
// at most one job of each other caller begins before the next one of A, however large that is and whatever the others
// submit. Proof: A holds the fewest possible (rule 2), so only a caller B that holds none and was served longer ago goes
// before A (rule 3); B's claim makes it the last served, after A, and it stays behind A until A is served. And when
// workers do hold jobs of A, that lasts as long as those jobs: a claim of A's is what is waited for.
//
// Kinds. A claim of kAllButTrainings sees the queue as if it had no trainings: all that is said of "the head" and "ready jobs"
// holds of what it sees, while held jobs and last claims are those of all kinds. The invariant then holds in each of the two
// queues, between the claims of that queue: in the proof, rules 2 and 3 are about callers, whatever they are served with. A
// job that is no training may so begin while the head of the whole queue waits, for a worker or for memory; whoever claims for
// both sees to it that such jobs, one after the other, do not keep that memory for ever (job_manager.cc). A claim of kTrainings has the
// head of the whole queue, and takes it only if it is a training: it waits for a head of another kind, which a claim of kAllButTrainings
// finds as its own head (of the jobs that are no trainings it goes first by every rule), and so overtakes nobody.
#pragma once

#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

#include "server/storage/completion.h"
#include "server/storage/list_filter.h"
#include "server/storage/owner_check.h"
#include "server/storage/records.h"
#include "server/storage/resource_update.h"

namespace mercer::server {

// What the queue takes; 0: no limit.
struct QueueLimits {
  int64_t queued_jobs = 0;
  int64_t queued_jobs_per_caller = 0;
};

struct NewJob {
  std::string id;
  JobKind kind = JobKind::kTraining;
  std::string caller;
  std::string trace_id;
  QueueLimits limits;
  int32_t priority = 0;
  std::string request;
  std::string request_id;  // empty: every call makes a job
  std::string
      request_digest;  // of the request's content; compared when the request_id is known already
  std::string display_name;
  std::string learner;
  std::vector<std::string> dataset_ids;
  Labels labels;
  std::string model_name;    // trainings alone
  std::string used_model;    // other kinds: of the version that they use
  int64_t used_version = 0;  // of used_model
  int64_t memory_bytes = 0;
  absl::Time now;
  EventDraft event;  // "queued", sequence 1
  // Trainings alone. Asked of the model's owner; of one that has no versions yet, of the caller of the first job that is to make one.
  OwnerCheck check = nullptr;
};

struct CreatedJob {
  JobRecord job;
  bool created = false;  // false: the request_id was known, `job` is the earlier one
};

// Which queue a worker takes jobs from.
enum class ClaimedJobs : uint8_t { kAll, kAllButTrainings, kTrainings };

struct ClaimRequest {
  std::string worker;
  std::string host;
  absl::Time now;
  absl::Duration lease;  // how long the worker holds the job unless it renews that
  // The head of the queue is claimed only when it fits.
  int64_t free_memory_bytes = 0;
  EventDraft event;  // "running"
  // A head that needs more than this will never fit: it is claimed all the same, so that its worker
  // can end it.
  int64_t memory_budget_bytes = std::numeric_limits<int64_t>::max();
  // A caller of whom workers hold so many jobs is passed over; 0: no limit.
  int64_t max_running_per_caller = 0;
  // The largest budget of all servers that claim from this storage; 0: there is no other. Jobs that exceed the budget of
  // this server, but not that one, are passed over: they are in nobody's way here.
  int64_t largest_budget_bytes = 0;
  ClaimedJobs jobs = ClaimedJobs::kAll;
};

// A not_before further ahead than this is taken for the mistake of a clock.
inline constexpr absl::Duration kLongestDelay = absl::Minutes(10);

// What a worker learns when it extends its lease: what another process may have accepted meanwhile.
struct RenewedLease {
  JobState state = JobState::kRunning;
  bool stop_requested = false;
};

// A job that a worker holds.
struct HeldJob {
  Lease lease;
  JobState state = JobState::kRunning;  // or kVerifying, kCancelling
  bool stop_requested = false;
  bool expired = false;  // the lease: anybody may end the attempt
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
  // kSucceeded only, and of a training then at least one: become the next versions of the job's model, in this order; the last is
  // the job's own.
  std::vector<NewVersion> versions;
  // kSucceeded only: is stored, and belongs to the job's caller. Its blob must be pinned until then.
  std::optional<DatasetRecord> dataset;
  int64_t max_stored_bytes = 0;  // with it: as in DatasetStore::CreateDataset
  std::string result;            // becomes the job's
  // kQueued only: from now on no worker takes the job for so long.
  absl::Duration delay = absl::ZeroDuration();
  absl::Time now;
  std::vector<EventDraft> events;  // the last one tells the new state
};

// A job whose worker has not renewed its lease in time.
struct Orphan {
  JobRecord job;                               // without its request, labels and data sets
  std::vector<AttemptRecord> attempts;         // the last one is the orphaned
  std::optional<CheckpointRecord> checkpoint;  // the newest
};
// How the attempt ends and what becomes of the job, without lease and time.
using OrphanJudge = std::function<AttemptEnd(const Orphan& orphan)>;

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
  EventDraft cancelling;       // written when a worker holds the job
  EventDraft cancelled;        // written when the job was still queued
  OwnerCheck check = nullptr;  // asked of the job's caller
};

struct StopRequest {
  std::string job_id;
  absl::Time now;
  // The one of the state that the job stays in is written.
  EventDraft queued;
  EventDraft running;
  EventDraft verifying;
  // A queued job that has no checkpoint has nothing to keep.
  EventDraft cancelled;
  StoredError no_model;
  OwnerCheck check = nullptr;  // asked of the job's caller
};

// One batch of a deletion. Jobs that have ended before, the oldest ends first: at most `max_jobs` of them, and none but the
// first that would make them hold more than `max_events` events together.
struct FinishedJobs {
  absl::Time ended_before;
  int max_jobs = 100;
  int64_t max_events = 20'000;
};

struct DeletedJobs {
  std::vector<std::string> ids;
  std::vector<BlobDigest> released_blobs;  // as in EndedAttempt
};

struct DeletedJob {
  JobRecord job;                           // as it last was
  std::vector<BlobDigest> released_blobs;  // as in EndedAttempt
};

struct JobUpdate : ResourceUpdate {
  std::string id;
};

struct JobFilter {
  std::vector<JobState> states;     // empty: all
  Labels labels;                    // all of them must be there with these values
  ListQuery query = {};             // of ListJobs alone
  std::vector<JobKind> kinds = {};  // empty: all
};

// Thread-safe; common errors as in DatasetStore. A method that takes a Lease changes nothing and
// answers kAborted with reason LEASE_LOST unless (worker, epoch) still hold the job.
//
// Leases and delays run by the clock of the store: the transaction that claims, renews or delays stamps the end, and the one that
// takes over or claims compares it. The `now` of a request is what its caller's clock says; it stands in records and events, and
// decides about nothing.
class JobStore {
 public:
  virtual ~JobStore() = default;

  // Each caller has request_ids of his own. Errors: kNotFound (a data set; reason DATASET_NOT_FOUND, metadata "dataset"),
  // kAlreadyExists (the id; or the caller's request_id with another digest, reason REQUEST_ID_REUSED), kResourceExhausted
  // (reason QUOTA_EXCEEDED, metadata "what", "limit", "current"), those of the check; a repeated request_id meets neither of
  // the last two.
  virtual void CreateJob(NewJob job, Done<CreatedJob> done) = 0;
  absl::StatusOr<CreatedJob> CreateJob(NewJob job) {
    return WaitFor(this, &JobStore::CreateJob, std::move(job));
  }

  // The job that CreateJob would answer without making one. Errors: kAlreadyExists as there.
  virtual absl::StatusOr<std::optional<JobRecord>> FindRequest(
      const std::string& caller, const std::string& request_id,
      const std::string& request_digest) = 0;

  // Takes the head of the queue and begins its next attempt, in state RUNNING. Answers nothing when there is no head or
  // it has to wait for memory.
  virtual void ClaimJob(ClaimRequest request, Done<std::optional<JobRecord>> done) = 0;
  absl::StatusOr<std::optional<JobRecord>> ClaimJob(ClaimRequest request) {
    return WaitFor(this, &JobStore::ClaimJob, std::move(request));
  }

  // Whether there are delayed jobs that have become ready since the last claim.
  virtual absl::StatusOr<bool> HasDueJobs() = 0;

  // From now on for so long.
  virtual void RenewLease(Lease lease, absl::Duration duration, Done<RenewedLease> done) = 0;
  absl::StatusOr<RenewedLease> RenewLease(Lease lease, absl::Duration duration) {
    return WaitFor(this, &JobStore::RenewLease, std::move(lease), duration);
  }

  // All jobs that workers hold, in no order: cheap, to be asked again and again. A store that nobody else can have opened begins
  // with all leases expired: whoever holds one is dead.
  virtual absl::StatusOr<std::vector<HeldJob>> HeldJobs() = 0;

  // RUNNING -> VERIFYING. Errors: kFailedPrecondition (reason CANCEL_REQUESTED).
  virtual void BeginVerifying(Lease lease, EventDraft event, absl::Time now,
                              Done<EventRecord> done) = 0;
  absl::StatusOr<EventRecord> BeginVerifying(Lease lease, EventDraft event, absl::Time now) {
    return WaitFor(this, &JobStore::BeginVerifying, std::move(lease), std::move(event), now);
  }

  // Replaces the job's checkpoint. Answers the blob of the one before, if another: the caller
  // releases it.
  virtual void SaveCheckpoint(Lease lease, NewCheckpoint checkpoint,
                              Done<std::optional<BlobDigest>> done) = 0;
  absl::StatusOr<std::optional<BlobDigest>> SaveCheckpoint(Lease lease, NewCheckpoint checkpoint) {
    return WaitFor(this, &JobStore::SaveCheckpoint, std::move(lease), std::move(checkpoint));
  }

  // Ends the attempt: job, attempt, events, the model's new versions and the new data set in one
  // transaction. A final state drops the checkpoint. Errors: kFailedPrecondition (reason
  // CANCEL_REQUESTED: the job is CANCELLING, so only kCancelled is accepted), those of DatasetStore::CreateDataset.
  virtual void EndAttempt(AttemptEnd end, Done<EndedAttempt> done) = 0;
  absl::StatusOr<EndedAttempt> EndAttempt(AttemptEnd end) {
    return WaitFor(this, &JobStore::EndAttempt, std::move(end));
  }

  // The same on behalf of somebody who is not the worker, if the lease has expired. `judge` is asked in the transaction. Errors:
  // kAborted (reason LEASE_HELD: it has not).
  virtual void TakeOver(Lease lease, absl::Time now, OrphanJudge judge,
                        Done<EndedAttempt> done) = 0;
  absl::StatusOr<EndedAttempt> TakeOver(Lease lease, absl::Time now, OrphanJudge judge) {
    return WaitFor(this, &JobStore::TakeOver, std::move(lease), now, std::move(judge));
  }

  // QUEUED -> CANCELLED; RUNNING, VERIFYING -> CANCELLING; CANCELLING stays. Errors: kNotFound,
  // kFailedPrecondition (reason JOB_IS_FINAL), before it those of the check.
  virtual void CancelJob(CancelRequest request, Done<EndedAttempt> done) = 0;
  absl::StatusOr<EndedAttempt> CancelJob(CancelRequest request) {
    return WaitFor(this, &JobStore::CancelJob, std::move(request));
  }

  // Asks for the best model so far: sets stop_requested, and makes a queued job ready. A queued job without checkpoint,
  // or of another kind than a training, becomes CANCELLED with the error no_model, and its checkpoint goes. A job that is stopping or CANCELLING already stays as it is, without an
  // event. Errors: as CancelJob.
  virtual void StopJob(StopRequest request, Done<EndedAttempt> done) = 0;
  absl::StatusOr<EndedAttempt> StopJob(StopRequest request) {
    return WaitFor(this, &JobStore::StopJob, std::move(request));
  }

  // Deletes jobs in final states with their requests, events, attempts, labels and checkpoints; their request_ids are
  // forgotten. Their models stay. Answers no ids when there is nothing (more) to delete.
  virtual void DeleteFinishedJobs(FinishedJobs which, Done<DeletedJobs> done) = 0;
  absl::StatusOr<DeletedJobs> DeleteFinishedJobs(FinishedJobs which) {
    return WaitFor(this, &JobStore::DeleteFinishedJobs, which);
  }

  // Of a job in any state; a worker that holds it has read what was there before. Errors: kNotFound, kAborted (reason STALE_ETAG),
  // those of the check, which is asked of the job's caller.
  virtual void UpdateJob(JobUpdate update, Done<JobRecord> done) = 0;
  absl::StatusOr<JobRecord> UpdateJob(JobUpdate update) {
    return WaitFor(this, &JobStore::UpdateJob, std::move(update));
  }

  // Deletes one job in a final state as DeleteFinishedJobs does. Errors: kNotFound, those of the check, which is asked of the
  // job's caller, kFailedPrecondition (reason JOB_NOT_FINAL).
  virtual void DeleteJob(std::string id, OwnerCheck check, Done<DeletedJob> done) = 0;
  absl::StatusOr<DeletedJob> DeleteJob(std::string id, OwnerCheck check = nullptr) {
    return WaitFor(this, &JobStore::DeleteJob, std::move(id), std::move(check));
  }

  // Errors: kNotFound.
  virtual absl::StatusOr<JobRecord> GetJob(const std::string& id) = 0;
  // Newest first, unless the filter's query says otherwise. Errors: as DatasetStore::ListDatasets.
  virtual absl::StatusOr<Page<JobRecord>> ListJobs(const JobFilter& filter,
                                                   const PageRequest& page) = 0;
  // In order. An unknown job has none.
  virtual absl::StatusOr<std::vector<AttemptRecord>> ListAttempts(const std::string& job_id) = 0;
  virtual absl::StatusOr<std::optional<CheckpointRecord>> GetCheckpoint(
      const std::string& job_id) = 0;
  // States without jobs are left out.
  virtual absl::StatusOr<std::map<JobState, int64_t>> CountJobs() = 0;
};

// Progress of jobs: append-only, numbered without gaps. Thread-safe; common errors as in DatasetStore.
class EventLog {
 public:
  virtual ~EventLog() = default;

  // Appends on behalf of the worker that holds the job; the last one becomes the job's last event.
  // Answers the events as stored. Errors: kAborted (reason LEASE_LOST).
  virtual void Append(Lease lease, std::vector<EventDraft> events, absl::Time now,
                      Done<std::vector<EventRecord>> done) = 0;
  absl::StatusOr<std::vector<EventRecord>> Append(Lease lease, std::vector<EventDraft> events,
                                                  absl::Time now) {
    return WaitFor(this, &EventLog::Append, std::move(lease), std::move(events), now);
  }

  // At most `limit` events with a sequence above `after_sequence`, in order. An unknown job has
  // none.
  virtual absl::StatusOr<std::vector<EventRecord>> Read(const std::string& job_id,
                                                        int64_t after_sequence, int limit) = 0;
};

}  // namespace mercer::server
