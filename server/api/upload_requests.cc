#include "server/api/upload_requests.h"

#include <utility>

#include "core/base/status_macros.h"
#include "server/api/dataset_translator.h"

namespace mercer::server {
namespace {

// Records read at once: their descriptions can be megabytes.
constexpr int32_t kRecordsAtOnce = 32;

// Empty for an upload without one, and for a description that cannot be read.
std::string RequestIdOf(const DatasetRecord& record) {
  absl::StatusOr<DatasetInfo> info = DecodeDatasetInfo(record.info);
  return info.ok() ? std::move(info->request_id) : std::string();
}

}  // namespace

absl::Status UploadRequests::ReadAll(DatasetStore& datasets) {
  PageRequest request{kRecordsAtOnce, ""};
  do {
    MERCER_ASSIGN_OR_RETURN(Page<DatasetRecord> page, datasets.ListDatasets(request));
    for (const DatasetRecord& record : page.items) {
      if (std::string request_id = RequestIdOf(record); !request_id.empty()) {
        ids_.emplace(std::move(request_id), record.id);
      }
    }
    request.token = std::move(page.next_token);
  } while (!request.token.empty());
  read_ = true;
  return absl::OkStatus();
}

absl::StatusOr<std::optional<DatasetRecord>> UploadRequests::FindEarlier(
    DatasetStore& datasets, const std::string& request_id) {
  const auto found = ids_.find(request_id);
  if (found == ids_.end()) {
    return std::optional<DatasetRecord>();
  }
  absl::StatusOr<DatasetRecord> record = datasets.GetDataset(found->second);
  if (record.ok() && RequestIdOf(*record) == request_id) {
    return std::optional<DatasetRecord>(*std::move(record));
  }
  if (!record.ok() && record.status().code() != absl::StatusCode::kNotFound) {
    return record.status();
  }
  ids_.erase(found);  // deleted since; perhaps another upload has taken the id
  return std::optional<DatasetRecord>();
}

absl::StatusOr<CreatedDataset> UploadRequests::CreateOnce(DatasetStore& datasets,
                                                          const std::string& request_id,
                                                          DatasetRecord record) {
  if (request_id.empty()) {
    MERCER_ASSIGN_OR_RETURN(DatasetRecord stored, datasets.CreateDataset(std::move(record)));
    return CreatedDataset{std::move(stored), true};
  }
  absl::MutexLock lock(&mutex_);
  if (!read_) {
    MERCER_RETURN_IF_ERROR(ReadAll(datasets));
  }
  MERCER_ASSIGN_OR_RETURN(std::optional<DatasetRecord> earlier, FindEarlier(datasets, request_id));
  if (earlier.has_value()) {
    return CreatedDataset{*std::move(earlier), false};
  }
  MERCER_ASSIGN_OR_RETURN(DatasetRecord stored, datasets.CreateDataset(std::move(record)));
  ids_[request_id] = stored.id;
  return CreatedDataset{std::move(stored), true};
}

void UploadRequests::Forget(const DatasetRecord& deleted) {
  const std::string request_id = RequestIdOf(deleted);
  absl::MutexLock lock(&mutex_);
  const auto found = ids_.find(request_id);
  if (found != ids_.end() && found->second == deleted.id) {
    ids_.erase(found);
  }
}

size_t UploadRequests::size() const {
  absl::MutexLock lock(&mutex_);
  return ids_.size();
}

}  // namespace mercer::server
