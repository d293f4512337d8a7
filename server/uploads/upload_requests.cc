#include "server/uploads/upload_requests.h"

#include <initializer_list>
#include <utility>

#include "absl/strings/str_cat.h"

#include "core/base/status/errors.h"
#include "core/base/status/status_macros.h"
#include "server/access/ownership.h"

namespace mercer::server {
namespace {

constexpr char kRequest[] = "request";
constexpr char kUpload[] = "upload";

// Each caller has ids of his own; what is nobody's has them together. Neither names nor ids have a line end in them. Empty: no id.
std::string KeyOf(const std::string& owner, const char* kind, const std::string& id) {
  return id.empty() ? "" : absl::StrCat(IsNobody(owner) ? "" : owner, "\n", kind, "\n", id);
}

// By the first of the keys that has one.
absl::StatusOr<std::optional<DatasetRecord>> FindByKeys(DatasetStore& datasets,
                                                        std::initializer_list<std::string> keys) {
  for (const std::string& key : keys) {
    if (!key.empty()) {
      MERCER_ASSIGN_OR_RETURN(std::optional<DatasetRecord> found, datasets.FindByKey(key));
      if (found.has_value()) {
        return found;
      }
    }
  }
  return std::nullopt;
}

}  // namespace

absl::StatusOr<CreatedDataset> CreateOnce(DatasetStore& datasets, DatasetRecord record,
                                          const std::string& request_id,
                                          const std::string& upload_id, int64_t max_stored_bytes) {
  record.request_key = KeyOf(record.owner, kRequest, request_id);
  record.upload_key = KeyOf(record.owner, kUpload, upload_id);
  // A data set of before owners were kept may be that of the call which is repeated now.
  MERCER_ASSIGN_OR_RETURN(
      std::optional<DatasetRecord> earlier,
      FindByKeys(datasets, {record.request_key, record.upload_key, KeyOf("", kRequest, request_id),
                            KeyOf("", kUpload, upload_id)}));
  if (earlier.has_value()) {
    return CreatedDataset{*std::move(earlier), false};
  }
  absl::StatusOr<DatasetRecord> stored =
      datasets.CreateDataset(std::move(record), max_stored_bytes);
  if (GetReason(stored.status()) == "UPLOAD_KNOWN") {  // another stream, or server, was quicker
    const ErrorMetadata metadata = GetErrorMetadata(stored.status());  // the id alone
    MERCER_ASSIGN_OR_RETURN(stored, datasets.GetDataset(metadata.at(0).second));
    return CreatedDataset{*std::move(stored), false};
  }
  MERCER_RETURN_IF_ERROR(stored.status());
  return CreatedDataset{*std::move(stored), true};
}

absl::StatusOr<std::optional<DatasetRecord>> FindUpload(DatasetStore& datasets,
                                                        const std::string& caller,
                                                        const std::string& upload_id) {
  return FindByKeys(datasets, {KeyOf(caller, kUpload, upload_id), KeyOf("", kUpload, upload_id)});
}

}  // namespace mercer::server
