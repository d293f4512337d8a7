// Which data set each request_id of an upload has made, whatever its id.
#pragma once

#include <optional>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"

#include "server/storage/dataset_store.h"

namespace mercer::server {

struct CreatedDataset {
  DatasetRecord record;
  bool created = false;  // false: the request_id was known, `record` is the earlier one
};

// Thread-safe. The stores keep the request_id within a data set's info; the first call reads them
// all.
class UploadRequests {
 public:
  // Creates `record` (whose info names the request_id) unless an upload with this request_id has made
  // a data set that is still there. Empty: it always creates. Errors: those of
  // DatasetStore::CreateDataset.
  absl::StatusOr<CreatedDataset> CreateOnce(DatasetStore& datasets, const std::string& request_id,
                                            DatasetRecord record) ABSL_LOCKS_EXCLUDED(mutex_);
  // `deleted` is not there any more.
  void Forget(const DatasetRecord& deleted) ABSL_LOCKS_EXCLUDED(mutex_);
  // Ids that are remembered.
  size_t size() const ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  absl::Status ReadAll(DatasetStore& datasets) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::StatusOr<std::optional<DatasetRecord>> FindEarlier(DatasetStore& datasets,
                                                           const std::string& request_id)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  mutable absl::Mutex mutex_;  // held while a data set is created: two equal request_ids make one
  bool read_ ABSL_GUARDED_BY(mutex_) = false;
  absl::flat_hash_map<std::string, std::string> ids_ ABSL_GUARDED_BY(mutex_);  // by request_id
};

}  // namespace mercer::server
