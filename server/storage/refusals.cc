#include "server/storage/refusals.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

#include "core/base/status/errors.h"

namespace mercer::server {

absl::Status DatasetNotFound(const std::string& id) {
  return WithReason(absl::NotFoundError(absl::StrCat("there is no data set '", id, "'")),
                    "DATASET_NOT_FOUND", {{"dataset", id}});
}

absl::Status UploadKnown(const std::string& dataset_id) {
  return WithReason(absl::AlreadyExistsError(
                        absl::StrCat("the upload has made the data set '", dataset_id, "' before")),
                    "UPLOAD_KNOWN", {{"dataset", dataset_id}});
}

absl::Status DatasetExists(const std::string& id) {
  return WithReason(
      absl::AlreadyExistsError(absl::StrCat("there is a data set '", id,
                                            "' already; take another id, or delete it first")),
      "DATASET_EXISTS", {{"dataset", id}});
}

absl::Status CheckStoredBytes(int64_t needed, int64_t stored, int64_t max_stored_bytes) {
  if (max_stored_bytes == 0 || needed <= max_stored_bytes - stored) {
    return absl::OkStatus();
  }
  return WithReason(
      absl::ResourceExhaustedError(absl::StrCat(
          "the data set needs ", needed, " bytes, the others have ", stored,
          ", and all together may have ", max_stored_bytes, " (mercer-server --max-stored-bytes)")),
      "STORAGE_QUOTA_EXCEEDED",
      {{"needed_bytes", absl::StrCat(needed)},
       {"used_bytes", absl::StrCat(stored)},
       {"limit_bytes", absl::StrCat(max_stored_bytes)}});
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

namespace {

absl::Status LeaseRefusal(const Lease& lease, const char* what, const char* reason) {
  return WithReason(
      absl::AbortedError(absl::StrCat("worker '", lease.worker, "', epoch ", lease.epoch, ", ",
                                      what, " the job '", lease.job_id, "'")),
      reason,
      {{"job", lease.job_id}, {"worker", lease.worker}, {"epoch", absl::StrCat(lease.epoch)}});
}

}  // namespace

absl::Status LeaseLost(const Lease& lease) {
  return LeaseRefusal(lease, "does not hold", "LEASE_LOST");
}

absl::Status LeaseHeld(const Lease& lease) {
  return LeaseRefusal(lease, "still holds", "LEASE_HELD");
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

absl::Status JobNotFinal(const std::string& job_id, JobState state) {
  const std::string name(JobStateName(state));
  return WithReason(
      absl::FailedPreconditionError(absl::StrCat("the job '", job_id, "' has not ended, it is ",
                                                 name, "; cancel it or wait for its end")),
      "JOB_NOT_FINAL", {{"job", job_id}, {"state", name}});
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

absl::Status AliasNotFound(const std::string& model, const std::string& alias) {
  return WithReason(
      absl::NotFoundError(absl::StrCat("the model '", model, "' has no alias '", alias, "'")),
      "ALIAS_NOT_FOUND", {{"model", model}, {"alias", alias}});
}

absl::Status VersionHasAlias(const std::string& model, int64_t version,
                             const std::vector<std::string>& aliases) {
  const std::string names = absl::StrJoin(aliases, ",");
  const std::string what =
      version == 0 ? absl::StrCat("the model '", model, "' has")
                   : absl::StrCat("version ", version, " of the model '", model, "' has");
  return WithReason(absl::FailedPreconditionError(
                        absl::StrCat(what, " the aliases ", names, ": move or remove them first")),
                    "VERSION_HAS_ALIAS",
                    {{"model", model}, {"version", absl::StrCat(version)}, {"aliases", names}});
}

absl::Status StaleEtag(const std::string& what, const std::string& given,
                       const std::string& current) {
  return WithReason(absl::AbortedError(absl::StrCat(what, " has the etag '", current, "', not '",
                                                    given, "': somebody else has changed it")),
                    "STALE_ETAG", {{"etag", current}, {"given", given}});
}

absl::Status NoEarlierVersion(const std::string& model, const std::string& alias) {
  return WithReason(absl::FailedPreconditionError(
                        absl::StrCat("the last change of the alias '", alias, "' of the model '",
                                     model, "' made it, so there is nothing to go back to")),
                    "NO_EARLIER_VERSION", {{"model", model}, {"alias", alias}});
}

absl::Status MoveIdReused(const std::string& request_id) {
  return WithReason(absl::AlreadyExistsError(absl::StrCat(
                        "request_id '", request_id, "' was used for another change of an alias")),
                    "REQUEST_ID_REUSED", {{"request_id", request_id}});
}

}  // namespace mercer::server
