#include "server/uploads/upload_requests.h"

#include <utility>

#include "absl/strings/str_cat.h"

#include "core/base/status/errors.h"
#include "core/base/status/status_macros.h"
#include "server/access/ownership.h"
#include "server/jobs/data/storage_quota.h"
#include "server/translation/dataset_translator.h"

namespace mercer::server {
namespace {

// Records read at once: their descriptions can be megabytes.
constexpr int32_t kRecordsAtOnce = 32;

// Each caller has ids of his own; what is nobody's has them together. Neither names nor ids have a line end in them.
std::string KeyOf(const std::string& owner, const char* kind, const std::string& id) {
  return absl::StrCat(IsNobody(owner) ? "" : owner, "\n", kind, "\n", id);
}

std::string KeyOfUpload(const std::string& owner, const std::string& upload_id) {
  return KeyOf(owner, "upload", upload_id);
}

// What a data set of the owner and with the info of the record is found by; nothing for a description that cannot be read.
struct UploadKeys {
  std::string request;
  std::string upload;
};
UploadKeys KeysOf(const std::string& owner, const DatasetRecord& record) {
  UploadKeys keys;
  const absl::StatusOr<DatasetInfo> info = DecodeDatasetInfo(record.info);
  if (info.ok() && !info->request_id.empty()) {
    keys.request = KeyOf(owner, "request", info->request_id);
  }
  if (info.ok() && !info->upload_id.empty()) {
    keys.upload = KeyOfUpload(owner, info->upload_id);
  }
  return keys;
}

UploadKeys KeysOf(const DatasetRecord& record) { return KeysOf(record.owner, record); }

}  // namespace

absl::Status UploadRequests::ReadAll(DatasetStore& datasets) {
  PageRequest request{kRecordsAtOnce, ""};
  do {
    MERCER_ASSIGN_OR_RETURN(Page<DatasetRecord> page, datasets.ListDatasets(request));
    for (const DatasetRecord& record : page.items) {
      if (!record.request_key.empty() || !record.upload_key.empty()) {
        continue;
      }
      const UploadKeys keys = KeysOf(record);
      for (const std::string& key : {keys.request, keys.upload}) {
        if (!key.empty()) {
          former_ids_.emplace(key, record.id);
        }
      }
    }
    request.token = std::move(page.next_token);
  } while (!request.token.empty());
  read_ = true;
  return absl::OkStatus();
}

absl::StatusOr<std::optional<DatasetRecord>> UploadRequests::FindEarlier(DatasetStore& datasets,
                                                                         const std::string& key) {
  if (key.empty()) {
    return std::optional<DatasetRecord>();
  }
  MERCER_ASSIGN_OR_RETURN(std::optional<DatasetRecord> stored, datasets.FindByKey(key));
  if (stored.has_value()) {
    return stored;
  }
  if (!read_) {
    MERCER_RETURN_IF_ERROR(ReadAll(datasets));
  }
  const auto found = former_ids_.find(key);
  if (found == former_ids_.end()) {
    return std::optional<DatasetRecord>();
  }
  absl::StatusOr<DatasetRecord> record = datasets.GetDataset(found->second);
  if (record.ok() && !record->hidden) {
    const UploadKeys keys = KeysOf(*record);
    if (key == keys.request || key == keys.upload) {
      return std::optional<DatasetRecord>(*std::move(record));
    }
  } else if (!record.ok() && !absl::IsNotFound(record.status())) {
    return record.status();
  }
  former_ids_.erase(found);  // deleted since; perhaps another upload has taken the id
  return std::optional<DatasetRecord>();
}

absl::StatusOr<CreatedDataset> UploadRequests::CreateOnce(DatasetStore& datasets,
                                                          DatasetRecord record,
                                                          int64_t max_stored_bytes) {
  const UploadKeys keys = KeysOf(record);
  record.request_key = keys.request;
  record.upload_key = keys.upload;
  if (keys.request.empty() && keys.upload.empty() && max_stored_bytes == 0) {
    MERCER_ASSIGN_OR_RETURN(DatasetRecord stored, datasets.CreateDataset(std::move(record)));
    return CreatedDataset{std::move(stored), true};
  }
  // A data set of before owners were kept may be that of the call which is repeated now.
  const UploadKeys of_nobody = KeysOf("", record);
  absl::MutexLock lock(&mutex_);
  for (const std::string& key : {keys.request, keys.upload, of_nobody.request, of_nobody.upload}) {
    MERCER_ASSIGN_OR_RETURN(std::optional<DatasetRecord> earlier, FindEarlier(datasets, key));
    if (earlier.has_value()) {
      return CreatedDataset{*std::move(earlier), false};
    }
  }
  MERCER_RETURN_IF_ERROR(CheckStoredBytes(datasets, record, max_stored_bytes));
  absl::StatusOr<DatasetRecord> stored = datasets.CreateDataset(std::move(record));
  if (GetReason(stored.status()) == "UPLOAD_KNOWN") {                  // another server was quicker
    const ErrorMetadata metadata = GetErrorMetadata(stored.status());  // the id alone
    MERCER_ASSIGN_OR_RETURN(stored, datasets.GetDataset(metadata.at(0).second));
    return CreatedDataset{*std::move(stored), false};
  }
  MERCER_RETURN_IF_ERROR(stored.status());
  return CreatedDataset{*std::move(stored), true};
}

absl::StatusOr<std::optional<DatasetRecord>> UploadRequests::FindUpload(
    DatasetStore& datasets, const std::string& caller, const std::string& upload_id) {
  absl::MutexLock lock(&mutex_);
  MERCER_ASSIGN_OR_RETURN(std::optional<DatasetRecord> own,
                          FindEarlier(datasets, KeyOfUpload(caller, upload_id)));
  return own.has_value() ? std::move(own) : FindEarlier(datasets, KeyOfUpload("", upload_id));
}

void UploadRequests::Forget(const DatasetRecord& deleted) {
  absl::MutexLock lock(&mutex_);
  const UploadKeys keys = KeysOf(deleted);
  for (const std::string& key : {keys.request, keys.upload}) {
    const auto found = former_ids_.find(key);
    if (found != former_ids_.end() && found->second == deleted.id) {
      former_ids_.erase(found);
    }
  }
}

}  // namespace mercer::server
