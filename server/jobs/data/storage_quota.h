// How much all data sets together may take.
#pragma once

#include <cstdint>

#include "absl/status/status.h"

#include "server/storage/dataset_store.h"

namespace mercer::server {

// Whether `record` may be stored beside the others. `max_stored_bytes` 0: no limit. Errors: kResourceExhausted (reason
// STORAGE_QUOTA_EXCEEDED); those of the store.
absl::Status CheckStoredBytes(DatasetStore& datasets, const DatasetRecord& record,
                              int64_t max_stored_bytes);
// The same when the others have `stored` bytes, without the store.
absl::Status CheckStoredBytes(int64_t needed, int64_t stored, int64_t max_stored_bytes);

}  // namespace mercer::server
