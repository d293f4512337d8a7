#include "server/jobs/orphans.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include <spdlog/logger.h>

#include "core/base/status/errors.h"
#include "core/base/status/status_macros.h"
#include "core/training/run/no_model.h"
#include "server/jobs/record/job_log.h"
#include "server/jobs/record/retry_policy.h"
#include "server/jobs/upkeep/blob_collector.h"

namespace mercer::server {
namespace {

// The crash that the orphaned attempt is to blame for; null if none.
const CrashedAttempt* FindCrash(const JobRecord& job, const std::vector<CrashedAttempt>& crashes) {
  const auto found = std::find_if(crashes.begin(), crashes.end(), [&](const CrashedAttempt& crash) {
    return crash.job_id == job.id && crash.attempt == job.attempt;
  });
  return found == crashes.end() ? nullptr : &*found;
}

// Attempts that ended for `reason` after attempt number `after`, the orphaned one included.
int CountAttempts(const Orphan& orphan, AttemptReason reason, int32_t after) {
  const auto count = std::count_if(orphan.attempts.begin(), orphan.attempts.end(),
                                   [&](const AttemptRecord& attempt) {
                                     return attempt.reason == reason && attempt.attempt > after;
                                   });
  return static_cast<int>(count) + (orphan.job.attempt > after ? 1 : 0);
}

// So many attempts of the job took the server down, the last with `signal`. Not kInternal, of which clients see neither message nor
// metadata.
absl::Status JobCrashedWorker(int attempts, int signal) {
  return WithReason(absl::AbortedError(absl::StrCat("the job took the server down ", attempts,
                                                    " times, the last time with signal ", signal,
                                                    "; it is not tried again")),
                    "JOB_CRASHED_WORKER",
                    {{"attempts", absl::StrCat(attempts)}, {"signal", absl::StrCat(signal)}});
}

absl::Status JobLostRepeatedly(int attempts) {
  return WithReason(
      absl::AbortedError(absl::StrCat("the server died ", attempts,
                                      " times while the job ran, without a new checkpoint in "
                                      "between; it is not tried again")),
      "JOB_LOST_REPEATEDLY", {{"attempts", absl::StrCat(attempts)}});
}

OrphanVerdict JudgeCrash(const Orphan& orphan, int signal) {
  const int crashes = CountAttempts(orphan, AttemptReason::kCrashed, 0);
  if (crashes < kMaxCrashesOfAJob) {
    return {JobState::kQueued, AttemptReason::kCrashed, absl::OkStatus()};
  }
  return {JobState::kFailed, AttemptReason::kCrashed, JobCrashedWorker(crashes, signal)};
}

OrphanVerdict JudgeLoss(const Orphan& orphan, int max_lost_attempts) {
  const int32_t checkpoint = orphan.checkpoint.has_value() ? orphan.checkpoint->attempt : 0;
  const int losses = CountAttempts(orphan, AttemptReason::kWorkerLost, checkpoint);
  if (losses < max_lost_attempts) {
    return {JobState::kQueued, AttemptReason::kWorkerLost, absl::OkStatus()};
  }
  return {JobState::kFailed, AttemptReason::kWorkerLost, JobLostRepeatedly(losses)};
}

// The word that watchers get; none for a cancellation that was asked for, which says all.
std::string WhyOf(const OrphanVerdict& verdict) {
  if (verdict.state == JobState::kCancelled) {
    return GetReason(verdict.error);
  }
  return verdict.error.ok() ? std::string(AttemptReasonName(verdict.reason))
                            : GetReason(verdict.error);
}

// After what became of the attempt; nothing but our own words.
void LogVerdict(spdlog::logger* log, const JobRecord& job, const OrphanVerdict& verdict) {
  if (log != nullptr) {
    log->log(verdict.state == JobState::kFailed ? spdlog::level::err : spdlog::level::warn,
             "{} was left by a dead process: {}, the job is {}: {}", LogAttemptOf(job),
             AttemptReasonName(verdict.reason), JobStateName(verdict.state), WhyOf(verdict));
  }
}

}  // namespace

OrphanVerdict JudgeOrphan(const Orphan& orphan, const std::vector<CrashedAttempt>& crashes,
                          int max_lost_attempts) {
  const CrashedAttempt* crash = FindCrash(orphan.job, crashes);
  if (orphan.job.state == JobState::kCancelling) {
    return {JobState::kCancelled, AttemptReason::kCancelled, absl::OkStatus()};
  }
  OrphanVerdict verdict;
  if (crash != nullptr) {
    verdict = JudgeCrash(orphan, crash->signal);
  } else if (!crashes.empty()) {
    verdict = {JobState::kQueued, AttemptReason::kServerCrashed, absl::OkStatus()};
  } else {
    verdict = JudgeLoss(orphan, max_lost_attempts);
  }
  // What was trained is kept by the next attempt, with a checkpoint or without one.
  const bool has_nothing = orphan.job.stop_requested && orphan.job.kind != JobKind::kTraining;
  if (verdict.state == JobState::kQueued && has_nothing) {
    verdict.state = JobState::kCancelled;
    verdict.error = NoModelError(StopReason::kStopRequested);
  }
  return verdict;
}

absl::StatusOr<bool> TakeOver(const AttemptEnvironment& environment, const Lease& lease,
                              const std::vector<CrashedAttempt>& crashes) {
  const JobManagerDependencies& dependencies = environment.dependencies;
  OrphanVerdict verdict;
  const absl::StatusOr<EndedAttempt> ended = dependencies.storage->jobs().TakeOver(
      lease, dependencies.clock->Now(), [&](const Orphan& orphan) {
        verdict = JudgeOrphan(orphan, crashes, environment.options.max_lost_attempts);
        return EndOf(verdict.state, verdict.reason, verdict.error, WhyOf(verdict));
      });
  if (absl::IsAborted(ended.status())) {
    return false;
  }
  MERCER_RETURN_IF_ERROR(ended.status());
  LogVerdict(dependencies.log.get(), ended->job, verdict);
  // What cannot be deleted now is collected later.
  DeleteReleasedBlobs(*dependencies.storage, *dependencies.blobs, ended->released_blobs)
      .IgnoreError();
  return true;
}

absl::Status RecoverOrphans(const AttemptEnvironment& environment) {
  CrashNotes* const crash_notes = environment.dependencies.crash_notes;
  const std::vector<CrashedAttempt> crashes =
      crash_notes != nullptr ? crash_notes->found() : std::vector<CrashedAttempt>();
  MERCER_ASSIGN_OR_RETURN(const std::vector<HeldJob> held,
                          environment.dependencies.storage->jobs().HeldJobs());
  for (const HeldJob& job : held) {
    if (job.expired) {
      MERCER_RETURN_IF_ERROR(TakeOver(environment, job.lease, crashes).status());
    }
  }
  return crash_notes != nullptr ? crash_notes->Clear() : absl::OkStatus();
}

}  // namespace mercer::server
