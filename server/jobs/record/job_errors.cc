#include "server/jobs/record/job_errors.h"

#include "absl/strings/str_cat.h"

#include "core/base/status/errors.h"

namespace mercer::server {

absl::Status JobTooLarge(int64_t estimate_bytes, int64_t budget_bytes) {
  return WithReason(
      absl::ResourceExhaustedError(absl::StrCat(
          "the job needs up to ", estimate_bytes,
          " bytes of memory, more than the server's budget of ", budget_bytes, " bytes")),
      "JOB_TOO_LARGE",
      {{"estimate_bytes", absl::StrCat(estimate_bytes)},
       {"budget_bytes", absl::StrCat(budget_bytes)}});
}

absl::Status ServerDraining() {
  return WithReason(absl::UnavailableError("the server is shutting down and takes no new jobs"),
                    "DRAINING");
}

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
