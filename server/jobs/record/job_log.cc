#include "server/jobs/record/job_log.h"

#include "absl/strings/str_cat.h"

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

}  // namespace mercer::server
