// Stored data sets: the unary calls of DatasetService, without gRPC.
#pragma once

#include "absl/status/statusor.h"
#include <google/protobuf/empty.pb.h>

#include "mercer/v1/dataset_service.pb.h"
#include "server/rpc/rpc.h"
#include "server/uploads/dataset_context.h"

namespace mercer::server {

// Thread-safe; the calls wait for SQL and files. Errors as the service documents them.
class DatasetHandlers {
 public:
  explicit DatasetHandlers(const DatasetContext& context) : context_(context) {}

  absl::StatusOr<v1::Dataset> GetDataset(const v1::GetDatasetRequest& request) const;
  absl::StatusOr<v1::ListDatasetsResponse> ListDatasets(
      const v1::ListDatasetsRequest& request) const;
  absl::StatusOr<v1::Dataset> UpdateDataset(const v1::UpdateDatasetRequest& request,
                                            const CallInfo& info = CallInfo()) const;
  absl::StatusOr<google::protobuf::Empty> DeleteDataset(const v1::DeleteDatasetRequest& request,
                                                        const CallInfo& info = CallInfo()) const;

  absl::StatusOr<v1::Upload> GetUpload(const v1::GetUploadRequest& request,
                                       const CallInfo& info = CallInfo()) const;
  absl::StatusOr<v1::ListUploadsResponse> ListUploads(const v1::ListUploadsRequest& request) const;
  absl::StatusOr<google::protobuf::Empty> DeleteUpload(const v1::DeleteUploadRequest& request,
                                                       const CallInfo& info = CallInfo()) const;

 private:
  const DatasetContext& context_;
};

}  // namespace mercer::server
