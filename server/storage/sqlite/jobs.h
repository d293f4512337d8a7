// Jobs on a connection. The changes of JobStore and EventLog run on the writer's, each inside the savepoint of its request: it reads
// the job's row, asks job_transitions.h what becomes of it, and writes that. Errors are those of the methods.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

#include "server/storage/job_store.h"
#include "server/storage/job_transitions.h"
#include "server/storage/sqlite/database/connection.h"
#include "server/storage/sqlite/lists.h"
#include "server/storage/sqlite/sqlite_storage.h"

namespace mercer::server {

absl::StatusOr<std::optional<JobRecord>> FindRequestedJob(Connection& connection,
                                                          const std::string& caller,
                                                          const std::string& request_id,
                                                          const std::string& request_digest);
absl::StatusOr<CreatedJob> InsertJob(Connection& connection, const NewJob& job);
// Writes what a transition has decided of a job that is there.
absl::Status WriteTransition(Connection& connection, const JobTransition& change);

absl::StatusOr<std::vector<EventRecord>> AppendLeased(Connection& connection, const Lease& lease,
                                                      const std::vector<EventDraft>& events,
                                                      absl::Time now);
// Here and below `clock` is that of the storage.
absl::StatusOr<RenewedLease> ExtendLease(Connection& connection, const Lease& lease,
                                         absl::Duration duration, const StorageClock& clock);
// Whoever holds them.
absl::Status EndAllLeases(Connection& connection);
absl::StatusOr<std::vector<HeldJob>> FindHeldJobs(Connection& connection,
                                                  const StorageClock& clock);
absl::StatusOr<EventRecord> MarkVerifying(Connection& connection, const Lease& lease,
                                          const EventDraft& event, absl::Time now);
absl::StatusOr<std::optional<BlobDigest>> ReplaceCheckpoint(Connection& connection,
                                                            const Lease& lease,
                                                            const NewCheckpoint& checkpoint);
absl::StatusOr<EndedAttempt> FinishAttempt(Connection& connection, const AttemptEnd& end,
                                           const StorageClock& clock);
absl::StatusOr<EndedAttempt> EndOrphan(Connection& connection, const Lease& lease, absl::Time now,
                                       const OrphanJudge& judge, const StorageClock& clock);
absl::StatusOr<JobRecord> ChangeJob(Connection& connection, const JobUpdate& update);
absl::StatusOr<EndedAttempt> MarkCancelled(Connection& connection, const CancelRequest& request);
absl::StatusOr<EndedAttempt> MarkStopping(Connection& connection, const StopRequest& request);
absl::StatusOr<DeletedJobs> RemoveFinishedJobs(Connection& connection, const FinishedJobs& which);
absl::StatusOr<DeletedJob> RemoveJob(Connection& connection, const std::string& id,
                                     const OwnerCheck& check);

// The order of the queue and its limits (job_store.h).
absl::Status CheckQuota(Connection& connection, const NewJob& job);
// What the column not_before holds: 0 for a job that may be taken at once.
int64_t NotBeforeColumn(absl::Time not_before);
absl::StatusOr<std::optional<JobRecord>> ClaimNextJob(Connection& connection,
                                                      const ClaimRequest& request,
                                                      const StorageClock& clock);
absl::StatusOr<bool> FindDueJobs(Connection& connection, const StorageClock& clock);

// Behind the key `after` (empty: from the start), at most `limit`; a key is what the order says of the job, ties by its number.
absl::StatusOr<FoundRows> FindJobs(Connection& connection, const JobFilter& filter,
                                   std::string_view after, int limit);
absl::StatusOr<Page<JobRecord>> ReadJobPage(Connection& connection, const JobFilter& filter,
                                            const PageRequest& page);

}  // namespace mercer::server
