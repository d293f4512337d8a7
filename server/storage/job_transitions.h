// The state machine of a job, decided in the same way for every implementation of the stores. Each function takes the
// job as a transaction has read it, and a request; it answers what that transaction writes, or why it writes nothing.
//
//   QUEUED -> RUNNING -> VERIFYING -> SUCCEEDED, FAILED    RUNNING, VERIFYING -> QUEUED (drained, lost, tried again)
//   QUEUED -> CANCELLED                                    RUNNING, VERIFYING -> CANCELLING -> CANCELLED
//
// INVARIANTS. Nothing leaves a final state. A job has a worker in RUNNING, VERIFYING and CANCELLING and in no other state, and
// an open attempt just as long. Each claim, and nothing else, begins an attempt and raises the epoch. What a worker asks for
// changes nothing unless it holds the lease. A change of the state, or of stop_requested, has one event that tells it,
// the last one of the change; the sequence of the events has no gaps.
//
// The store keeps everybody else from the job's row between reading it and writing the change: SQLite by its only writer, others
// by a lock of the row. Which job is the head of the queue, and what becomes of the model's versions, is the store's.
#pragma once

#include <optional>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

#include "server/storage/job_store.h"
#include "server/storage/records.h"

namespace mercer::server {

// What a transaction writes.
struct JobTransition {
  JobRecord job;  // as it is then, but for model_version; its last_event is that of `events`
  std::vector<EventRecord> events = {};  // to append
  // Reason kRunning: an attempt that begins. Otherwise the job's open attempt ends: number, end_time and reason.
  std::optional<AttemptRecord> attempt = std::nullopt;
  std::optional<BlobDigest> dropped_checkpoint = std::nullopt;  // the checkpoint goes; its blob
};

// Errors: kAborted (reason LEASE_LOST). A job that is not there is JobRecord(), which nobody holds.
absl::Status CheckLease(const JobRecord& job, const Lease& lease);

// Whether somebody else may end the attempt that has the lease: it was not renewed in time. Here and below `clock` is what the clock of
// the store says. Errors: kAborted (reasons LEASE_LOST, LEASE_HELD).
absl::Status CheckExpired(const JobRecord& job, const Lease& lease, absl::Time clock);

// Of a job that is new, or leased; the change is of the events alone. Errors: as CheckLease.
JobTransition PlanFirstEvent(const EventDraft& event, absl::Time now);
absl::StatusOr<JobTransition> PlanEvents(const JobRecord& job, const Lease& lease,
                                         const std::vector<EventDraft>& events, absl::Time now);

// None: the job is not ready, waits for memory, or is left to another server.
std::optional<JobTransition> PlanClaim(const JobRecord& job, const ClaimRequest& request,
                                       absl::Time clock);

// Errors: as CheckLease.
absl::StatusOr<JobTransition> PlanRenewal(const JobRecord& job, const Lease& lease,
                                          absl::Duration duration, absl::Time clock);
absl::StatusOr<CheckpointRecord> PlanCheckpoint(const JobRecord& job, const Lease& lease,
                                                const NewCheckpoint& checkpoint);

// Errors: those of JobStore::BeginVerifying, EndAttempt. `checkpoint`: the blob of the job's checkpoint, if it has one.
absl::StatusOr<JobTransition> PlanVerifying(const JobRecord& job, const Lease& lease,
                                            const EventDraft& event, absl::Time now);
absl::StatusOr<JobTransition> PlanEnd(const JobRecord& job,
                                      const std::optional<BlobDigest>& checkpoint,
                                      const AttemptEnd& end, absl::Time clock);

// None: it was asked for before. Errors: those of JobStore::CancelJob but kNotFound.
absl::StatusOr<std::optional<JobTransition>> PlanCancel(const JobRecord& job,
                                                        const std::optional<BlobDigest>& checkpoint,
                                                        const CancelRequest& request);
absl::StatusOr<std::optional<JobTransition>> PlanStop(const JobRecord& job,
                                                      const std::optional<BlobDigest>& checkpoint,
                                                      const StopRequest& request);

}  // namespace mercer::server
