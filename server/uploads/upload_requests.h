// Which data set each request_id and each upload_id of a caller's uploads has made, whatever its id.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"

#include "core/base/numeric/hash_table.h"
#include "server/storage/dataset_store.h"

namespace mercer::server {

struct CreatedDataset {
  DatasetRecord record;
  bool created =
      false;  // false: the request_id or upload_id was known, `record` is the earlier one
};

// Thread-safe. The store keeps ids unique, whoever uploads. Those of data sets that were made before it did stand within their
// info alone: the first call reads them all.
class UploadRequests {
 public:
  // Creates `record` (whose info names the ids) unless an upload of its owner, or of nobody, with its request_id or its
  // upload_id has made a data set that is still there. With neither it always creates. `max_stored_bytes` is the limit for all data sets together, 0:
  // none. Errors: those of DatasetStore::CreateDataset; kResourceExhausted (STORAGE_QUOTA_EXCEEDED).
  absl::StatusOr<CreatedDataset> CreateOnce(DatasetStore& datasets, DatasetRecord record,
                                            int64_t max_stored_bytes) ABSL_LOCKS_EXCLUDED(mutex_);
  // The data set that the upload of `caller`, or of nobody, with this upload_id has made.
  absl::StatusOr<std::optional<DatasetRecord>> FindUpload(DatasetStore& datasets,
                                                          const std::string& caller,
                                                          const std::string& upload_id)
      ABSL_LOCKS_EXCLUDED(mutex_);
  // `deleted` is not there any more.
  void Forget(const DatasetRecord& deleted) ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  absl::Status ReadAll(DatasetStore& datasets) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::StatusOr<std::optional<DatasetRecord>> FindEarlier(DatasetStore& datasets,
                                                           const std::string& key)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  absl::Mutex mutex_;  // held while a data set is created, so that two keep to the limit
  bool read_ ABSL_GUARDED_BY(mutex_) = false;
  HashMap<std::string, std::string> former_ids_ ABSL_GUARDED_BY(mutex_);  // by key
};

}  // namespace mercer::server
