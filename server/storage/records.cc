#include "server/storage/records.h"

#include "absl/strings/str_cat.h"

namespace mercer::server {

std::string ModelEtag(const ModelRecord& model) { return absl::StrCat(model.revision); }

std::string VersionEtag(const VersionRecord& version) {
  return absl::StrCat(version.version, "-", version.revision);
}

std::string_view JobStateName(JobState state) {
  switch (state) {
    case JobState::kQueued:
      return "QUEUED";
    case JobState::kRunning:
      return "RUNNING";
    case JobState::kCancelling:
      return "CANCELLING";
    case JobState::kVerifying:
      return "VERIFYING";
    case JobState::kSucceeded:
      return "SUCCEEDED";
    case JobState::kFailed:
      return "FAILED";
    case JobState::kCancelled:
      return "CANCELLED";
  }
  return "UNKNOWN";
}

std::string_view AttemptReasonName(AttemptReason reason) {
  switch (reason) {
    case AttemptReason::kRunning:
      return "RUNNING";
    case AttemptReason::kSucceeded:
      return "SUCCEEDED";
    case AttemptReason::kFailed:
      return "FAILED";
    case AttemptReason::kCancelled:
      return "CANCELLED";
    case AttemptReason::kDrained:
      return "DRAINED";
    case AttemptReason::kWorkerLost:
      return "WORKER_LOST";
    case AttemptReason::kCrashed:
      return "CRASHED";
    case AttemptReason::kServerCrashed:
      return "SERVER_CRASHED";
    case AttemptReason::kRetry:
      return "RETRY";
  }
  return "UNKNOWN";
}

}  // namespace mercer::server
