#include "server/api/model_handlers.h"

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"

#include "core/base/errors.h"
#include "core/base/status_macros.h"
#include "server/api/model_translator.h"
#include "server/api/page_filler.h"
#include "server/api/resource_names.h"

namespace mercer::server {
namespace {

absl::Status AboutModel(const absl::Status& status, const std::string& name) {
  return status.code() == absl::StatusCode::kNotFound ? ResourceNotFound("model", name) : status;
}

}  // namespace

absl::Status RefuseAlias(const std::string& name, const std::string& alias) {
  return alias.empty() ? absl::OkStatus() : ResourceNotFound("model alias", name);
}

absl::StatusOr<VersionRecord> ModelHandlers::FindVersion(const std::string& name) const {
  MERCER_ASSIGN_OR_RETURN(const ModelReference reference, ParseModelName(name, "name"));
  MERCER_RETURN_IF_ERROR(RefuseAlias(name, reference.alias));
  absl::StatusOr<VersionRecord> record =
      context_.storage->models().GetVersion(reference.model, reference.version);
  if (!record.ok()) {
    return AboutModel(record.status(), name);
  }
  return record;
}

absl::StatusOr<v1::Model> ModelHandlers::GetModel(const v1::GetModelRequest& request) const {
  MERCER_ASSIGN_OR_RETURN(const VersionRecord record, FindVersion(request.name()));
  MERCER_ASSIGN_OR_RETURN(v1::Model model, WriteModel(record));
  if (request.view() == v1::MODEL_VIEW_FULL) {
    if (record.model_bytes > context_.limits.message_bytes) {
      return WithReason(absl::ResourceExhaustedError(absl::StrCat(
                            "the model has ", record.model_bytes, " bytes, a message at most ",
                            context_.limits.message_bytes, "; use ExportModel")),
                        "RESPONSE_TOO_LARGE",
                        {{"limit_bytes", absl::StrCat(context_.limits.message_bytes)},
                         {"got_bytes", absl::StrCat(record.model_bytes)},
                         {"use", "ExportModel"}});
    }
    MERCER_ASSIGN_OR_RETURN(const std::shared_ptr<const LoadedModel> loaded,
                            cache_.Load(record.model, record.version));
    MERCER_RETURN_IF_ERROR(WriteModelFunction(loaded->predictor->model(), &model));
  }
  return model;
}

absl::StatusOr<v1::ListModelsResponse> ModelHandlers::ListVersions(
    const v1::ListModelsRequest& request) const {
  MERCER_ASSIGN_OR_RETURN(const ModelReference reference, ParseModelName(request.model(), "model"));
  if (reference.version != 0 || !reference.alias.empty()) {
    FieldViolations violations;
    violations.Add("model", "must be of the form models/{model}");
    return violations.ToStatus();
  }
  v1::ListModelsResponse response;
  const absl::StatusOr<std::string> next = FillPage<VersionRecord, v1::Model>(
      {request.page_size(), request.page_token()}, context_.limits.message_bytes,
      [&](const PageRequest& page) {
        return context_.storage->models().ListVersions(reference.model, page);
      },
      [](const VersionRecord& record) -> absl::StatusOr<std::optional<v1::Model>> {
        return WriteModel(record);
      },
      response.mutable_models());
  if (!next.ok()) {
    return AboutPage(AboutModel(next.status(), request.model()));
  }
  response.set_next_page_token(*next);
  return response;
}

absl::StatusOr<v1::ListModelsResponse> ModelHandlers::ListModels(
    const v1::ListModelsRequest& request) const {
  if (!request.model().empty()) {
    return ListVersions(request);
  }
  v1::ListModelsResponse response;
  const absl::StatusOr<std::string> next = FillPage<ModelRecord, v1::Model>(
      {request.page_size(), request.page_token()}, context_.limits.message_bytes,
      [this](const PageRequest& page) { return context_.storage->models().ListModels(page); },
      [this](const ModelRecord& model) -> absl::StatusOr<std::optional<v1::Model>> {
        const absl::StatusOr<VersionRecord> record =
            context_.storage->models().GetVersion(model.name, 0);
        if (record.status().code() == absl::StatusCode::kNotFound) {
          return std::optional<v1::Model>();  // deleted meanwhile
        }
        MERCER_RETURN_IF_ERROR(record.status());
        return WriteModel(*record);
      },
      response.mutable_models());
  MERCER_RETURN_IF_ERROR(AboutPage(next.status()));
  response.set_next_page_token(*next);
  return response;
}

absl::StatusOr<google::protobuf::Empty> ModelHandlers::DeleteModel(
    const v1::DeleteModelRequest& request) const {
  MERCER_ASSIGN_OR_RETURN(const ModelReference reference, ParseModelName(request.name(), "name"));
  MERCER_RETURN_IF_ERROR(RefuseAlias(request.name(), reference.alias));
  const absl::StatusOr<DeletedVersions> deleted = ChangeThatFrees(context_, [&] {
    return context_.storage->models().DeleteModel(reference.model, reference.version, absl::Now());
  });
  if (!deleted.ok()) {
    return AboutModel(deleted.status(), request.name());
  }
  cache_.Remove(reference.model, reference.version);
  ReleaseBlobs(context_, deleted->released_blobs);
  return google::protobuf::Empty();
}

absl::StatusOr<ModelExport> ModelHandlers::OpenExport(const v1::ExportModelRequest& request) const {
  MERCER_ASSIGN_OR_RETURN(const VersionRecord record, FindVersion(request.name()));
  ModelExport result;
  absl::StatusOr<std::unique_ptr<MappedFile>> file = context_.blobs->Read(record.model_blob);
  if (file.status().code() == absl::StatusCode::kNotFound) {
    // Deleted meanwhile, or lost.
    MERCER_RETURN_IF_ERROR(FindVersion(request.name()).status());
    return BlobMissing(record.model_blob);
  }
  MERCER_ASSIGN_OR_RETURN(result.file, std::move(file));
  result.header.set_model(ModelVersionName(record.model, record.version));
  result.header.set_size_bytes(record.model_bytes);
  result.header.set_digest(record.model_blob);
  result.header.set_format_version(kModelFormatVersion);
  return result;
}

}  // namespace mercer::server
