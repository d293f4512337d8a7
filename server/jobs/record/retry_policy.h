// Attempts that the server has failed, and not the job: a full disk, a busy database, no more file handles.
//
// Such an attempt ends with RETRY, and the job goes back to the queue with its checkpoint. It waits RetryDelay, doubled
// with every attempt in a row that ended so, without chance, so that what an operator sees is what was meant. A new
// checkpoint starts the count again. Errors of request and data are never tried again: they would be the same.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

#include "server/storage/job_store.h"

namespace mercer::server {

// Whether another try may succeed, by what the error is alone: kUnavailable, and the reasons of disk and database.
bool IsMomentary(const absl::Status& error);

// Whether what disk or storage was asked for is not there or not usable, however often one asks.
bool IsForGood(const absl::Status& error);

// Before attempt n + 1, when the last n ended with RETRY (n >= 1): 2 s, 4 s, 8 s, ..., at most kLongestDelay.
absl::Duration RetryDelay(int retries);

// The end of an attempt, without lease and time. `error` is stored unless it is none; its event says `why`, or the reason of the error.
AttemptEnd EndOf(JobState state, AttemptReason reason, const absl::Status& error = absl::OkStatus(),
                 std::string_view why = "");

// How an attempt ends that `error`, one of the server's, has cut: QUEUED with a delay, or FAILED with that error when
// it is attempt number `max_attempts` of those. Without lease, time and progress. Errors: those of the storage.
absl::StatusOr<AttemptEnd> EndOfFailedServer(JobStore& jobs, int max_attempts,
                                             const std::string& job_id, const absl::Status& error);

// Stores the end of an attempt, or CANCELLED when a cancellation came first, or FAILED when its data set is more than may be stored:
// `end` says so then. `tells_verifying`: by its last event but one, which a job that is CANCELLING never becomes.
absl::StatusOr<EndedAttempt> EndOrCancel(JobStore& jobs, AttemptEnd& end, bool tells_verifying);

}  // namespace mercer::server
