// One upload, from the header to the stored data set.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "mercer/v1/dataset_service.pb.h"
#include "server/api/api_context.h"
#include "server/api/upload_files.h"
#include "server/blobs/sha256.h"

namespace mercer::server {

// Not thread-safe; the calls block on files. Destroying it before Finish leaves nothing behind.
// `context` outlives it.
class DatasetUpload {
 public:
  explicit DatasetUpload(const ApiContext& context);

  // The next message. Errors: kInvalidArgument (reasons BAD_FIELDS, BAD_UPLOAD_ORDER),
  // kResourceExhausted.
  absl::Status Add(const v1::UploadDatasetRequest& message);
  // Reads all parts, stores the data set. `is_cancelled` is asked all the while, last before the data
  // set is stored. Errors: those of the readers; kInvalidArgument (CHECKSUM_MISMATCH, BAD_SIZE);
  // kAlreadyExists (DATASET_EXISTS, REQUEST_ID_REUSED); kResourceExhausted (DATASET_TOO_LARGE,
  // RESPONSE_TOO_LARGE); kCancelled.
  absl::StatusOr<v1::Dataset> Finish(const std::function<bool()>& is_cancelled);

 private:
  absl::Status Begin(const v1::UploadHeader& header);
  absl::Status AddChunk(const v1::UploadChunk& chunk);
  absl::StatusOr<v1::Dataset> Store(const std::string& upload_digest,
                                    const std::function<bool()>& is_cancelled);
  absl::StatusOr<CreatedDataset> Create(DatasetRecord record,
                                        const std::function<bool()>& is_cancelled) const;
  // What the client hears of a data set that was created, or was there already.
  absl::StatusOr<v1::Dataset> Answer(const absl::StatusOr<CreatedDataset>& created,
                                     const std::string& upload_digest) const;

  const ApiContext& context_;
  bool has_header_ = false;
  v1::UploadHeader header_;
  std::string dataset_id_;
  std::unique_ptr<UploadFiles> files_;
  int64_t bytes_ = 0;
  Sha256 content_hash_;
};

// `bytes` random bytes in lower-case hexadecimal.
std::string RandomId(int bytes);

}  // namespace mercer::server
