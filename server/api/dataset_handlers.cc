#include "server/api/dataset_handlers.h"

#include <memory>
#include <optional>

#include "core/base/status/errors.h"
#include "core/base/status/status_macros.h"
#include "server/api/page_filler.h"
#include "server/translation/dataset_translator.h"
#include "server/translation/field_update.h"
#include "server/translation/list_fields.h"
#include "server/translation/resource_names.h"
#include "server/uploads/upload_requests.h"

namespace mercer::server {
namespace {

constexpr char kUploadsQuery[] = "uploads";

absl::StatusOr<DatasetRecord> AboutDataset(absl::StatusOr<DatasetRecord> record,
                                           const std::string& id) {
  return AboutResource(std::move(record), "data set", DatasetName(id));
}

// Whether what is `owner`'s is meant by a request that names `caller`, or with none his own and nobody's.
bool IsMeant(const std::string& caller, const std::string& owner) {
  return caller.empty() || owner == caller || (IsNobody(owner) && IsNobody(caller));
}

}  // namespace

absl::StatusOr<v1::Dataset> DatasetHandlers::GetDataset(
    const v1::GetDatasetRequest& request) const {
  MERCER_ASSIGN_OR_RETURN(const std::string id, ParseDatasetName(request.name(), "name"));
  MERCER_ASSIGN_OR_RETURN(const DatasetRecord record,
                          AboutDataset(context_.storage->datasets().GetDataset(id), id));
  return record.hidden ? ResourceNotFound("data set", DatasetName(id))
                       : WriteDataset(record, request.view());
}

absl::StatusOr<v1::ListDatasetsResponse> DatasetHandlers::ListDatasets(
    const v1::ListDatasetsRequest& request) const {
  MERCER_ASSIGN_OR_RETURN(const ListQuery query,
                          ReadDatasetQuery(request.filter(), request.order_by()));
  return AnswerList(
      request, context_.limits.message_bytes, &v1::ListDatasetsResponse::mutable_datasets,
      [&](const PageRequest& page) {
        return context_.storage->datasets().ListDatasets(page, query);
      },
      [](const DatasetRecord& record) { return WriteDataset(record, v1::DATASET_VIEW_BASIC); });
}

absl::StatusOr<v1::Dataset> DatasetHandlers::UpdateDataset(const v1::UpdateDatasetRequest& request,
                                                           const CallInfo& info) const {
  const v1::Dataset& given = request.dataset();
  MERCER_ASSIGN_OR_RETURN(const std::string id, ParseDatasetName(given.name(), "dataset.name"));
  MERCER_ASSIGN_OR_RETURN(
      ResourceUpdate fields,
      ReadFieldUpdate("dataset", {given.etag(), &given.labels(), &given.display_name()},
                      MaskOf(request)));
  fields.check = info.CheckOfChange("data set", DatasetName(id));
  MERCER_ASSIGN_OR_RETURN(
      const DatasetRecord record,
      AboutDataset(context_.storage->datasets().UpdateDataset({std::move(fields), id}), id));
  return WriteDataset(record, v1::DATASET_VIEW_BASIC);
}

absl::StatusOr<google::protobuf::Empty> DatasetHandlers::DeleteDataset(
    const v1::DeleteDatasetRequest& request, const CallInfo& info) const {
  MERCER_ASSIGN_OR_RETURN(const std::string id, ParseDatasetName(request.name(), "name"));
  DatasetStore& datasets = context_.storage->datasets();
  const absl::StatusOr<DatasetRecord> present = datasets.GetDataset(id);
  if (present.ok() && present->hidden) {
    return ResourceNotFound("data set", DatasetName(id));
  }
  const OwnerCheck check = info.CheckOfChange("data set", DatasetName(id));
  absl::StatusOr<DatasetRecord> record =
      ChangeThatFrees(context_, [&] { return datasets.DeleteDataset(id, check); });
  if (request.when_unused() && absl::IsFailedPrecondition(record.status())) {
    // Housekeeping of the jobs deletes it, soon if the last one that needs it has ended just now.
    record = ChangeThatFrees(context_, [&] { return datasets.HideDataset(id, check); });
  }
  MERCER_ASSIGN_OR_RETURN(record, AboutDataset(std::move(record), id));
  if (!record->hidden) {
    ReleaseBlobs(context_, {record->blob});
  }
  return google::protobuf::Empty();
}

absl::StatusOr<v1::Upload> DatasetHandlers::GetUpload(const v1::GetUploadRequest& request,
                                                      const CallInfo& info) const {
  MERCER_ASSIGN_OR_RETURN(const std::string id, ParseUploadName(request.name(), "name"));
  v1::Upload upload;
  upload.set_name(UploadName(id));
  const std::string& caller = request.caller().empty() ? info.caller.name : request.caller();
  const std::shared_ptr<UploadSession> session = context_.uploads->Find(caller, id);
  // Also when there is none any more: it may have been finished since.
  MERCER_ASSIGN_OR_RETURN(const std::optional<DatasetRecord> record,
                          FindUpload(context_.storage->datasets(), caller, id));
  if (record.has_value() && IsMeant(request.caller(), record->owner)) {
    upload.set_dataset(DatasetName(record->id));
    return upload;
  }
  if (session == nullptr || !IsMeant(request.caller(), session->caller())) {
    return ResourceNotFound("upload", UploadName(id));
  }
  session->Describe(context_.limits.upload_expiry, upload);
  return upload;
}

absl::StatusOr<v1::ListUploadsResponse> DatasetHandlers::ListUploads(
    const v1::ListUploadsRequest& request) const {
  using Session = std::shared_ptr<UploadSession>;
  const auto list = [this](const PageRequest& page) -> absl::StatusOr<Page<Session>> {
    MERCER_ASSIGN_OR_RETURN(const int count, EffectivePageSize(page));
    MERCER_ASSIGN_OR_RETURN(const std::string after, ReadPageToken(kUploadsQuery, page.token));
    Page<Session> uploads = context_.uploads->List(after, count);
    if (!uploads.next_token.empty()) {
      uploads.next_token = MakePageToken(kUploadsQuery, uploads.next_token);
    }
    return uploads;
  };
  const auto write = [this](const Session& session) -> absl::StatusOr<std::optional<v1::Upload>> {
    if (session->removed()) {
      return std::nullopt;
    }
    v1::Upload upload;
    upload.set_name(UploadName(session->header().upload_id()));
    session->Describe(context_.limits.upload_expiry, upload);
    return upload;
  };
  return AnswerList(request, context_.limits.message_bytes,
                    &v1::ListUploadsResponse::mutable_uploads, list, write);
}

absl::StatusOr<google::protobuf::Empty> DatasetHandlers::DeleteUpload(
    const v1::DeleteUploadRequest& request, const CallInfo& info) const {
  MERCER_ASSIGN_OR_RETURN(const std::string id, ParseUploadName(request.name(), "name"));
  const std::string& caller = request.caller().empty() ? info.caller.name : request.caller();
  const std::shared_ptr<UploadSession> session = context_.uploads->Find(caller, id);
  if (session == nullptr || !IsMeant(request.caller(), session->caller())) {
    return ResourceNotFound("upload", UploadName(id));
  }
  MERCER_RETURN_IF_ERROR(info.CheckOfChange("upload", UploadName(id))(session->caller()));
  MERCER_RETURN_IF_ERROR(context_.uploads->Remove(session));
  return google::protobuf::Empty();
}

}  // namespace mercer::server
