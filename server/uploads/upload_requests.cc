#include "server/uploads/upload_requests.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

#include "core/base/memory/memory_reserve.h"
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
std::vector<std::string> KeysOf(const std::string& owner, const DatasetRecord& record) {
  std::vector<std::string> keys;
  const absl::StatusOr<DatasetInfo> info = DecodeDatasetInfo(record.info);
  if (info.ok() && !info->request_id.empty()) {
    keys.push_back(KeyOf(owner, "request", info->request_id));
  }
  if (info.ok() && !info->upload_id.empty()) {
    keys.push_back(KeyOfUpload(owner, info->upload_id));
  }
  return keys;
}

std::vector<std::string> KeysOf(const DatasetRecord& record) {
  return KeysOf(record.owner, record);
}

}  // namespace

absl::Status UploadRequests::ReadAll(DatasetStore& datasets) {
  PageRequest request{kRecordsAtOnce, ""};
  do {
    MERCER_ASSIGN_OR_RETURN(Page<DatasetRecord> page, datasets.ListDatasets(request));
    for (const DatasetRecord& record : page.items) {
      for (std::string& key : KeysOf(record)) {
        ids_.emplace(std::move(key), record.id);
      }
    }
    request.token = std::move(page.next_token);
  } while (!request.token.empty());
  read_ = true;
  return absl::OkStatus();
}

absl::StatusOr<std::optional<DatasetRecord>> UploadRequests::FindEarlier(DatasetStore& datasets,
                                                                         const std::string& key) {
  if (!read_) {
    MERCER_RETURN_IF_ERROR(ReadAll(datasets));
  }
  const auto found = ids_.find(key);
  if (found == ids_.end()) {
    return std::optional<DatasetRecord>();
  }
  absl::StatusOr<DatasetRecord> record = datasets.GetDataset(found->second);
  if (record.ok() && !record->hidden) {
    const std::vector<std::string> keys = KeysOf(*record);
    if (std::find(keys.begin(), keys.end(), key) != keys.end()) {
      return std::optional<DatasetRecord>(*std::move(record));
    }
  } else if (!record.ok() && !absl::IsNotFound(record.status())) {
    return record.status();
  }
  ids_.erase(found);  // deleted since; perhaps another upload has taken the id
  return std::optional<DatasetRecord>();
}

absl::StatusOr<CreatedDataset> UploadRequests::CreateOnce(DatasetStore& datasets,
                                                          DatasetRecord record,
                                                          int64_t max_stored_bytes) {
  const std::vector<std::string> keys = KeysOf(record);
  if (keys.empty() && max_stored_bytes == 0) {
    MERCER_ASSIGN_OR_RETURN(DatasetRecord stored, datasets.CreateDataset(std::move(record)));
    return CreatedDataset{std::move(stored), true};
  }
  // A data set of before owners were kept may be that of the call which is repeated now.
  std::vector<std::string> all_keys = keys;
  for (std::string& key : KeysOf("", record)) {
    all_keys.push_back(std::move(key));
  }
  absl::MutexLock lock(&mutex_);
  for (const std::string& key : all_keys) {
    MERCER_ASSIGN_OR_RETURN(std::optional<DatasetRecord> earlier, FindEarlier(datasets, key));
    if (earlier.has_value()) {
      return CreatedDataset{*std::move(earlier), false};
    }
  }
  MERCER_RETURN_IF_ERROR(CheckStoredBytes(datasets, record, max_stored_bytes));
  MERCER_ASSIGN_OR_RETURN(DatasetRecord stored, datasets.CreateDataset(std::move(record)));
  const ScopedAllocations scope(
      Allocations::kNeeded);  // without its keys it would not be found again
  for (const std::string& key : keys) {
    ids_[key] = stored.id;
  }
  return CreatedDataset{std::move(stored), true};
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
  for (const std::string& key : KeysOf(deleted)) {
    const auto found = ids_.find(key);
    if (found != ids_.end() && found->second == deleted.id) {
      ids_.erase(found);
    }
  }
}

size_t UploadRequests::size() const {
  absl::MutexLock lock(&mutex_);
  return ids_.size();
}

}  // namespace mercer::server
