#include "server/jobs/record/retry_policy.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

#include "core/base/status/errors.h"
#include "core/base/status/status_macros.h"
#include "server/jobs/record/job_event.h"

namespace mercer::server {
namespace {

constexpr absl::Duration kFirstDelay = absl::Seconds(2);

constexpr std::array<std::string_view, 4> kMomentaryReasons = {
    "DISK_FULL", "DATABASE_BUSY", "DATABASE_ERROR", "STORAGE_READ_ONLY"};

bool HasMomentaryReason(const absl::Status& error) {
  const std::string reason = GetReason(error);
  return std::find(kMomentaryReasons.begin(), kMomentaryReasons.end(), reason) !=
         kMomentaryReasons.end();
}

// The attempts that ended with RETRY since the newest checkpoint.
absl::StatusOr<int> CountRetries(JobStore& jobs, const std::string& job_id) {
  MERCER_ASSIGN_OR_RETURN(const std::vector<AttemptRecord> attempts, jobs.ListAttempts(job_id));
  MERCER_ASSIGN_OR_RETURN(const std::optional<CheckpointRecord> checkpoint,
                          jobs.GetCheckpoint(job_id));
  const int32_t since = checkpoint.has_value() ? checkpoint->attempt : 0;
  return static_cast<int>(
      std::count_if(attempts.begin(), attempts.end(), [since](const AttemptRecord& attempt) {
        return attempt.reason == AttemptReason::kRetry && attempt.attempt >= since;
      }));
}

}  // namespace

bool IsMomentary(const absl::Status& error) {
  return absl::IsUnavailable(error) || HasMomentaryReason(error);
}

bool IsForGood(const absl::Status& error) {
  const bool wrong_state = absl::IsFailedPrecondition(error) && !HasMomentaryReason(error);
  return absl::IsNotFound(error) || absl::IsDataLoss(error) || absl::IsInvalidArgument(error) ||
         wrong_state;
}

absl::Duration RetryDelay(int retries) {
  absl::Duration delay = kFirstDelay;
  for (int i = 1; i < retries && delay < kLongestDelay; ++i) {
    delay *= 2;
  }
  return std::min(delay, kLongestDelay);
}

absl::StatusOr<AttemptEnd> EndOfFailedServer(const RetryContext& context, const std::string& job_id,
                                             const absl::Status& error) {
  MERCER_ASSIGN_OR_RETURN(const int earlier, CountRetries(*context.jobs, job_id));
  const int retries = earlier + 1;
  AttemptEnd end;
  end.error = EncodeError(error);
  std::string why = GetReason(error);
  if (retries < context.max_attempts) {
    end.state = JobState::kQueued;
    end.reason = AttemptReason::kRetry;
    end.not_before = context.now + RetryDelay(retries);
    why = why.empty() ? std::string(AttemptReasonName(end.reason)) : why;
  } else {
    end.state = JobState::kFailed;
    end.reason = AttemptReason::kFailed;
  }
  end.events = {StateEvent(end.state, why)};
  return end;
}

}  // namespace mercer::server
