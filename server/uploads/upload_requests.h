// Which data set each request_id and each upload_id of a caller's uploads has made, whatever its id. The store keeps them unique.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"

#include "server/storage/dataset_store.h"

namespace mercer::server {

struct CreatedDataset {
  DatasetRecord record;
  bool created =
      false;  // false: the request_id or upload_id was known, `record` is the earlier one
};

// Creates `record` unless an upload of its owner, or of nobody, with this request_id or upload_id (empty: none) has made a data set
// that is still there. Errors: those of DatasetStore::CreateDataset but UPLOAD_KNOWN.
absl::StatusOr<CreatedDataset> CreateOnce(DatasetStore& datasets, DatasetRecord record,
                                          const std::string& request_id,
                                          const std::string& upload_id, int64_t max_stored_bytes);

// The data set that the upload of `caller`, or of nobody, with this upload_id has made.
absl::StatusOr<std::optional<DatasetRecord>> FindUpload(DatasetStore& datasets,
                                                        const std::string& caller,
                                                        const std::string& upload_id);

}  // namespace mercer::server
