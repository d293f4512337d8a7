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

// `other` with what `end` tells but for its last `dropped` events.
AttemptEnd InPlaceOf(const AttemptEnd& end, AttemptEnd other, int dropped) {
  other.lease = end.lease;
  other.now = end.now;
  other.events.back().iteration = end.events.back().iteration;
  other.events.insert(other.events.begin(), end.events.begin(), end.events.end() - dropped);
  return other;
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

AttemptEnd EndOf(JobState state, AttemptReason reason, const absl::Status& error,
                 std::string_view why) {
  AttemptEnd end;
  end.state = state;
  end.reason = reason;
  if (!error.ok()) {
    end.error = EncodeError(error);
  }
  end.events = {StateEvent(state, why.empty() ? GetReason(error) : std::string(why))};
  return end;
}

absl::StatusOr<AttemptEnd> EndOfFailedServer(JobStore& jobs, int max_attempts,
                                             const std::string& job_id, const absl::Status& error) {
  MERCER_ASSIGN_OR_RETURN(const int earlier, CountRetries(jobs, job_id));
  const int retries = earlier + 1;
  AttemptEnd end = EndOf(JobState::kFailed, AttemptReason::kFailed, error);
  if (retries < max_attempts) {
    end = EndOf(JobState::kQueued, AttemptReason::kRetry, error,
                GetReason(error).empty() ? AttemptReasonName(AttemptReason::kRetry) : "");
    end.delay = RetryDelay(retries);
  }
  return end;
}

absl::StatusOr<EndedAttempt> EndOrCancel(JobStore& jobs, AttemptEnd& end, bool tells_verifying) {
  while (true) {
    absl::StatusOr<EndedAttempt> ended = jobs.EndAttempt(end);
    const std::string reason = GetReason(ended.status());
    if (reason == "CANCEL_REQUESTED" && end.state != JobState::kCancelled) {
      end = InPlaceOf(end, EndOf(JobState::kCancelled, AttemptReason::kCancelled),
                      tells_verifying ? 2 : 1);
    } else if (reason == "STORAGE_QUOTA_EXCEEDED" && end.dataset.has_value()) {
      end = InPlaceOf(end, EndOf(JobState::kFailed, AttemptReason::kFailed, ended.status()), 1);
    } else {
      return ended;
    }
  }
}

}  // namespace mercer::server
