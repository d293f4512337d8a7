// The errors that every implementation of the stores gives in the same words.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"

#include "server/storage/records.h"

namespace mercer::server {

absl::Status DatasetNotFound(const std::string& id);
absl::Status DatasetExists(const std::string& id);
absl::Status UploadKnown(const std::string& dataset_id);
// Whether a data set that needs so much may be stored beside the others, which have `stored` bytes; a limit of 0: none.
absl::Status CheckStoredBytes(int64_t needed, int64_t stored, int64_t max_stored_bytes);
absl::Status DatasetInUse(const std::string& id, const std::string& job_id);
absl::Status JobNotFound(const std::string& id);
absl::Status JobExists(const std::string& id);
absl::Status RequestIdReused(const std::string& request_id, const std::string& job_id);
// `what`: the key of the limit, as "queued_jobs".
absl::Status QuotaExceeded(std::string_view what, int64_t limit, int64_t current);
absl::Status LeaseLost(const Lease& lease);
// Its lease has not expired.
absl::Status LeaseHeld(const Lease& lease);
absl::Status CancelRequested(const std::string& job_id);
absl::Status JobIsFinal(const std::string& job_id, JobState state);
absl::Status JobNotFinal(const std::string& job_id, JobState state);
absl::Status ModelNotFound(const std::string& name,
                           int64_t version);  // version 0: the model itself
absl::Status AliasNotFound(const std::string& model, const std::string& alias);
// `aliases` sorted, at least one; version 0: of the whole model.
absl::Status VersionHasAlias(const std::string& model, int64_t version,
                             const std::vector<std::string>& aliases);
// `what`: "the alias 'live' of the model 'm'".
absl::Status StaleEtag(const std::string& what, const std::string& given,
                       const std::string& current);
absl::Status NoEarlierVersion(const std::string& model, const std::string& alias);
absl::Status MoveIdReused(const std::string& request_id);

}  // namespace mercer::server
