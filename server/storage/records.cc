#include "server/storage/records.h"

#include "absl/strings/str_cat.h"

namespace mercer::server {

std::string DatasetEtag(const DatasetRecord& dataset) {
  return absl::StrCat(absl::ToUnixMicros(dataset.create_time), "-", dataset.revision);
}

std::string JobEtag(const JobRecord& job) { return absl::StrCat(job.revision); }

std::string ModelEtag(const ModelRecord& model) { return absl::StrCat(model.revision); }

std::string VersionEtag(const VersionRecord& version) {
  return absl::StrCat(version.version, "-", version.revision);
}

namespace {

// By the number of the value.
constexpr std::string_view kJobStates[] = {"UNKNOWN",   "QUEUED",    "RUNNING", "CANCELLING",
                                           "VERIFYING", "SUCCEEDED", "FAILED",  "CANCELLED"};
constexpr std::string_view kAttemptReasons[] = {"RUNNING",   "SUCCEEDED",      "FAILED",
                                                "CANCELLED", "DRAINED",        "WORKER_LOST",
                                                "CRASHED",   "SERVER_CRASHED", "RETRY"};

template <size_t Count>
std::string_view NameOf(const std::string_view (&names)[Count], size_t number) {
  return number < Count ? names[number] : "UNKNOWN";
}

}  // namespace

std::string_view JobStateName(JobState state) {
  return NameOf(kJobStates, static_cast<size_t>(state));
}

std::string_view AttemptReasonName(AttemptReason reason) {
  return NameOf(kAttemptReasons, static_cast<size_t>(reason));
}

}  // namespace mercer::server
