// Jobs that a dead process has left running.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "server/jobs/attempt_environment.h"
#include "server/jobs/upkeep/crash_notes.h"
#include "server/storage/job_store.h"

namespace mercer::server {

// A job that has taken the server down so often is not tried again. One crash may be somebody else's doing: a defective
// memory cell, another thread that wrote where it should not.
inline constexpr int kMaxCrashesOfAJob = 2;

// How its last attempt ends and what becomes of the job.
struct OrphanVerdict {
  JobState state = JobState::kQueued;  // or kCancelled, kFailed
  AttemptReason reason = AttemptReason::kWorkerLost;
  absl::Status error;  // kFailed: why; kCancelled: NO_MODEL, or none

  friend bool operator==(const OrphanVerdict&, const OrphanVerdict&) = default;
};

// `crashes`: the attempts of the dead process that took it down, if any. The job goes back to the queue unless
//   - it was being cancelled: CANCELLED;
//   - kMaxCrashesOfAJob of its attempts have taken the server down: FAILED, reason JOB_CRASHED_WORKER;
//   - `max_lost_attempts` of its attempts were lost for an unknown reason (the process was killed, the machine lost its
//     power, memory ran out) since its newest checkpoint: FAILED, reason JOB_LOST_REPEATEDLY;
//   - it was to stop and is no training, so that there is nothing to keep: CANCELLED, reason NO_MODEL. The next attempt at a training
//     keeps the model that there was, or finds that there was none.
// A job whose server was taken down by another one bears no blame: such attempts count for nothing.
OrphanVerdict JudgeOrphan(const Orphan& orphan, const std::vector<CrashedAttempt>& crashes,
                          int max_lost_attempts);

// Ends the attempt that has this lease, if it has expired; false: it has not, or somebody else was quicker. `crashes`: as above.
// Errors: those of the storage.
absl::StatusOr<bool> TakeOver(const AttemptEnvironment& environment, const Lease& lease,
                              const std::vector<CrashedAttempt>& crashes = {});

// Ends all attempts whose leases have expired; to be called before the first claim. The notes of crashes are used up. Errors:
// those of the storage; a second call goes on where the first one failed.
absl::Status RecoverOrphans(const AttemptEnvironment& environment);

}  // namespace mercer::server
