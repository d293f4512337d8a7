// The changes of JobStore as functions on the writer's connection; each runs inside the savepoint
// of its request: it reads the job's row, asks job_transitions.h what becomes of it, and writes that.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

#include "server/storage/job_store.h"
#include "server/storage/job_transitions.h"
#include "server/storage/sqlite/database/connection.h"

namespace mercer::server {

// The earlier job of this request_id, if any. Errors: kAlreadyExists (other digest).
absl::StatusOr<std::optional<JobRecord>> FindRequestedJob(Connection& connection,
                                                          const std::string& caller,
                                                          const std::string& request_id,
                                                          const std::string& request_digest);
absl::StatusOr<CreatedJob> InsertJob(Connection& connection, const NewJob& job);

// Writes what a transition has decided of a job that is there.
absl::Status WriteTransition(Connection& connection, const JobTransition& change);

// Here and in FinishAttempt `clock` is what that of the storage says.
absl::StatusOr<RenewedLease> ExtendLease(Connection& connection, const Lease& lease,
                                         absl::Duration duration, absl::Time clock);
// Of jobs that are held, whoever holds them.
absl::Status EndAllLeases(Connection& connection);
absl::StatusOr<std::vector<HeldJob>> FindHeldJobs(Connection& connection, absl::Time clock);
absl::StatusOr<EventRecord> MarkVerifying(Connection& connection, const Lease& lease,
                                          const EventDraft& event, absl::Time now);
absl::StatusOr<std::optional<BlobDigest>> ReplaceCheckpoint(Connection& connection,
                                                            const Lease& lease,
                                                            const NewCheckpoint& checkpoint);
absl::StatusOr<EndedAttempt> FinishAttempt(Connection& connection, const AttemptEnd& end,
                                           absl::Time clock);
absl::StatusOr<JobRecord> ChangeJobLabels(Connection& connection, const std::string& id,
                                          const Labels& labels, const OwnerCheck& check);
absl::StatusOr<EndedAttempt> MarkCancelled(Connection& connection, const CancelRequest& request);
absl::StatusOr<EndedAttempt> MarkStopping(Connection& connection, const StopRequest& request);

}  // namespace mercer::server
