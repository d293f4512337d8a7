// The data sets that the server knows. Their rows are blobs; this is the table of contents.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"

#include "server/storage/completion.h"
#include "server/storage/list_filter.h"
#include "server/storage/owner_check.h"
#include "server/storage/records.h"
#include "server/storage/resource_update.h"

namespace mercer::server {

struct DatasetUpdate : ResourceUpdate {
  std::string id;
};

// Thread-safe. Besides the errors listed, every method may return those of the storage itself:
// kUnavailable, kResourceExhausted (reason DISK_FULL), kDataLoss, kFailedPrecondition (reason
// STORAGE_READ_ONLY), kInternal.
class DatasetStore {
 public:
  virtual ~DatasetStore() = default;

  // Answers the stored record. `max_stored_bytes` is the limit for StoredBytes, 0: none. Errors: kAlreadyExists (the id is taken,
  // reason DATASET_EXISTS; a key is, reason UPLOAD_KNOWN), kResourceExhausted (reason STORAGE_QUOTA_EXCEEDED).
  virtual void CreateDataset(DatasetRecord dataset, int64_t max_stored_bytes,
                             Done<DatasetRecord> done) = 0;
  absl::StatusOr<DatasetRecord> CreateDataset(DatasetRecord dataset, int64_t max_stored_bytes = 0) {
    return WaitFor(this, &DatasetStore::CreateDataset, std::move(dataset), max_stored_bytes);
  }

  // Errors: kNotFound (also of one that is hidden), kAborted (reason STALE_ETAG), those of the check.
  virtual void UpdateDataset(DatasetUpdate update, Done<DatasetRecord> done) = 0;
  absl::StatusOr<DatasetRecord> UpdateDataset(DatasetUpdate update) {
    return WaitFor(this, &DatasetStore::UpdateDataset, std::move(update));
  }

  // Answers the deleted record; the caller releases its blob. Errors: kNotFound,
  // kFailedPrecondition (reason DATASET_IN_USE: a job that is not final needs it; metadata names
  // the job), those of `check`.
  virtual void DeleteDataset(std::string id, OwnerCheck check, Done<DatasetRecord> done) = 0;
  absl::StatusOr<DatasetRecord> DeleteDataset(std::string id, OwnerCheck check = nullptr) {
    return WaitFor(this, &DatasetStore::DeleteDataset, std::move(id), std::move(check));
  }

  // Answers the record, hidden from now on: no list and no new job has it. Errors: kNotFound, those of
  // `check`.
  virtual void HideDataset(std::string id, OwnerCheck check, Done<DatasetRecord> done) = 0;
  absl::StatusOr<DatasetRecord> HideDataset(std::string id, OwnerCheck check = nullptr) {
    return WaitFor(this, &DatasetStore::HideDataset, std::move(id), std::move(check));
  }
  // Ids of the hidden ones that no job needs which is not final, in the order of creation.
  virtual absl::StatusOr<std::vector<std::string>> UnusedHiddenDatasets() = 0;
  // Like DeleteDataset, of a hidden one alone: kNotFound also when `id` is by now that of another data set.
  virtual void DeleteHiddenDataset(std::string id, Done<DatasetRecord> done) = 0;
  absl::StatusOr<DatasetRecord> DeleteHiddenDataset(std::string id) {
    return WaitFor(this, &DatasetStore::DeleteHiddenDataset, std::move(id));
  }

  // Also when it is hidden: the jobs that need it go on. Errors: kNotFound.
  virtual absl::StatusOr<DatasetRecord> GetDataset(const std::string& id) = 0;
  // The one that has this request_key or upload_key and is not hidden.
  virtual absl::StatusOr<std::optional<DatasetRecord>> FindByKey(const std::string& key) = 0;
  // Newest first, unless the query says otherwise. Errors: kInvalidArgument (negative size, reason BAD_PAGE_SIZE; foreign token,
  // reason BAD_PAGE_TOKEN).
  virtual absl::StatusOr<Page<DatasetRecord>> ListDatasets(const PageRequest& page,
                                                           const ListQuery& query) = 0;
  absl::StatusOr<Page<DatasetRecord>> ListDatasets(const PageRequest& page) {
    return ListDatasets(page, {});
  }
  // Bytes of the blobs of all data sets, each counted once, without `except`.
  virtual absl::StatusOr<int64_t> StoredBytes(const BlobDigest& except) = 0;
};

}  // namespace mercer::server
