#include "server/storage/refusals.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

#include "core/base/errors.h"

namespace mercer::server {

absl::Status DatasetNotFound(const std::string& id) {
  return WithReason(absl::NotFoundError(absl::StrCat("there is no data set '", id, "'")),
                    "DATASET_NOT_FOUND", {{"dataset", id}});
}

absl::Status DatasetExists(const std::string& id) {
  return WithReason(
      absl::AlreadyExistsError(absl::StrCat("there is a data set '", id, "' already")),
      "DATASET_EXISTS", {{"dataset", id}});
}

absl::Status DatasetInUse(const std::string& id, const std::string& job_id) {
  return WithReason(absl::FailedPreconditionError(absl::StrCat(
                        "the data set '", id, "' is needed by the job '", job_id, "'")),
                    "DATASET_IN_USE", {{"dataset", id}, {"job", job_id}});
}

absl::Status JobNotFound(const std::string& id) {
  return WithReason(absl::NotFoundError(absl::StrCat("there is no job '", id, "'")),
                    "JOB_NOT_FOUND", {{"job", id}});
}

absl::Status JobExists(const std::string& id) {
  return WithReason(absl::AlreadyExistsError(absl::StrCat("there is a job '", id, "' already")),
                    "JOB_EXISTS", {{"job", id}});
}

absl::Status RequestIdReused(const std::string& request_id, const std::string& job_id) {
  return WithReason(
      absl::AlreadyExistsError(absl::StrCat(
          "request_id '", request_id, "' was used with other content, by the job '", job_id, "'")),
      "REQUEST_ID_REUSED", {{"request_id", request_id}, {"job", job_id}});
}

absl::Status QuotaExceeded(std::string_view what, int64_t limit, int64_t current) {
  return WithReason(absl::ResourceExhaustedError(absl::StrCat(
                        "there are ", current, " ", std::string(what), " already, at most ", limit,
                        " are allowed; try again when some have begun")),
                    "QUOTA_EXCEEDED",
                    {{"what", std::string(what)},
                     {"limit", absl::StrCat(limit)},
                     {"current", absl::StrCat(current)}});
}

absl::Status LeaseLost(const Lease& lease) {
  return WithReason(
      absl::AbortedError(absl::StrCat("worker '", lease.worker, "', epoch ", lease.epoch,
                                      ", does not hold the job '", lease.job_id, "'")),
      "LEASE_LOST",
      {{"job", lease.job_id}, {"worker", lease.worker}, {"epoch", absl::StrCat(lease.epoch)}});
}

absl::Status CancelRequested(const std::string& job_id) {
  return WithReason(
      absl::FailedPreconditionError(absl::StrCat("the job '", job_id, "' is being cancelled")),
      "CANCEL_REQUESTED", {{"job", job_id}});
}

absl::Status JobIsFinal(const std::string& job_id, JobState state) {
  const std::string name(JobStateName(state));
  return WithReason(absl::FailedPreconditionError(
                        absl::StrCat("the job '", job_id, "' has ended already: ", name)),
                    "JOB_IS_FINAL", {{"job", job_id}, {"state", name}});
}

absl::Status ModelNotFound(const std::string& name, int64_t version) {
  if (version == 0) {
    return WithReason(absl::NotFoundError(absl::StrCat("there is no model '", name, "'")),
                      "MODEL_NOT_FOUND", {{"model", name}});
  }
  return WithReason(
      absl::NotFoundError(absl::StrCat("the model '", name, "' has no version ", version)),
      "MODEL_NOT_FOUND", {{"model", name}, {"version", absl::StrCat(version)}});
}

std::string DescribeJobsQuery(const std::vector<JobState>& states, const Labels& labels) {
  std::vector<JobState> sorted = states;
  std::sort(sorted.begin(), sorted.end());
  sorted.erase(std::unique(sorted.begin(), sorted.end()), sorted.end());
  std::string query = "jobs";
  for (const JobState state : sorted) {
    absl::StrAppend(&query, "|", static_cast<int>(state));
  }
  for (const auto& [key, value] : labels) {
    absl::StrAppend(&query, "|", key.size(), ":", key, "=", value.size(), ":", value);
  }
  return query;
}

}  // namespace mercer::server
