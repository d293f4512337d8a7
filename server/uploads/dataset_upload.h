// One upload, from the header to the stored data set.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#include "mercer/v1/dataset_service.pb.h"
#include "server/uploads/dataset_context.h"
#include "server/uploads/table_intake.h"
#include "server/uploads/upload_requests.h"

namespace mercer::server {

// One stream. Not thread-safe; the calls block on files. Destroying it before Finish leaves nothing behind, unless the upload
// can be resumed. `context` outlives it.
class DatasetUpload {
 public:
  // `caller` is who sends it and owns what it makes.
  explicit DatasetUpload(const DatasetContext& context, std::string caller = "");
  ~DatasetUpload();
  DatasetUpload(const DatasetUpload&) = delete;
  DatasetUpload& operator=(const DatasetUpload&) = delete;

  // The next message. Errors: those of UploadSession::Append; kAlreadyExists (UPLOAD_ID_REUSED, DATASET_EXISTS).
  absl::Status Add(const v1::UploadDatasetRequest& message);
  // Not null: the upload has been finished before, and no further message is wanted.
  v1::Dataset* finished() { return finished_.has_value() ? &*finished_ : nullptr; }
  // Reads all parts, stores the data set. `is_cancelled` is asked all the while, last before the data
  // set is stored. Errors: those of the readers; kInvalidArgument (CHECKSUM_MISMATCH, BAD_SIZE);
  // kAlreadyExists (DATASET_EXISTS, REQUEST_ID_REUSED); kResourceExhausted (DATASET_TOO_LARGE,
  // RESPONSE_TOO_LARGE, DISK_NEARLY_FULL); kCancelled.
  absl::StatusOr<v1::Dataset> Finish(const std::function<bool()>& is_cancelled);

 private:
  absl::Status Begin(const v1::UploadHeader& header);
  absl::Status BeginResumable();
  // Errors: kAlreadyExists (DATASET_EXISTS).
  absl::Status CheckIdIsFree() const;
  // Sets finished_ if it is. Errors: kAlreadyExists (UPLOAD_ID_REUSED).
  absl::Status FindFinished();
  void RemoveFinished();
  absl::StatusOr<v1::Dataset> Read(const std::function<bool()>& is_cancelled);
  // Columns that the upload names and the data set does not keep.
  void DescribeIgnored(v1::Dataset& description) const;
  // The content and what is known of it.
  absl::StatusOr<WrittenDataset> WriteContent(const std::function<bool()>& is_cancelled);
  absl::StatusOr<v1::Dataset> Store(const std::string& upload_digest,
                                    const std::function<bool()>& is_cancelled);
  absl::StatusOr<CreatedDataset> Create(DatasetRecord record,
                                        const std::function<bool()>& is_cancelled) const;
  // What the client hears of a data set that was created, or was there already.
  absl::StatusOr<v1::Dataset> Answer(const absl::StatusOr<CreatedDataset>& created,
                                     const std::string& upload_digest) const;

  const DatasetContext& context_;
  const std::string caller_;
  bool has_header_ = false;
  v1::UploadHeader header_;
  std::string dataset_id_;
  std::shared_ptr<UploadSession> session_;  // null before the header
  int64_t ticket_ = 0;
  std::unique_ptr<TableIntake> intake_;  // null: the parts are read when all of them are there
  std::optional<v1::Dataset> finished_;
};

}  // namespace mercer::server
