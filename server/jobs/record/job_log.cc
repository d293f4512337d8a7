#include "server/jobs/record/job_log.h"

#include "absl/strings/str_cat.h"

#include "core/base/status/errors.h"

namespace mercer::server {
namespace {

std::string TraceOf(const JobRecord& job) {
  return job.trace_id.empty() ? "" : absl::StrCat(" trace=", job.trace_id);
}

}  // namespace

std::string LogNameOf(const JobRecord& job) { return absl::StrCat("job=", job.id, TraceOf(job)); }

std::string LogAttemptOf(const JobRecord& job) {
  return absl::StrCat("job=", job.id, " attempt=", job.attempt, TraceOf(job));
}

std::string LogTextOf(const absl::Status& error) {
  std::string text = absl::StrCat(absl::StatusCodeToString(error.code()), " ", GetReason(error));
  const bool may_quote_data = absl::IsInvalidArgument(error) || absl::IsOutOfRange(error) ||
                              absl::IsFailedPrecondition(error);
  if (!may_quote_data) {
    absl::StrAppend(&text, ": ", error.message());
  }
  return text;
}

}  // namespace mercer::server
