#include "server/api/model_handlers.h"

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"

#include "core/base/status/errors.h"
#include "core/base/status/status_macros.h"
#include "server/api/page_filler.h"
#include "server/prediction/model_lookup.h"
#include "server/translation/field_update.h"
#include "server/translation/list_fields.h"
#include "server/translation/model_translator.h"
#include "server/translation/recipe_translator.h"

namespace mercer::server {
namespace {

// Whose versions ListModelVersions lists when it names no model.
constexpr std::string_view kAllModels = "models/-";

// The version that an alias pointed to at a time.
absl::StatusOr<VersionRecord> FindAsOf(ModelStore& models,
                                       const v1::GetModelVersionRequest& request) {
  FieldViolations violations;
  const google::protobuf::Timestamp& as_of = request.as_of_time();
  violations.Check(as_of.nanos() >= 0 && as_of.nanos() < 1'000'000'000, "as_of_time",
                   "its nanos must be in [0, 999999999]");
  MERCER_ASSIGN_OR_RETURN(const ModelReference reference, ParseModelName(request.name(), "name"));
  violations.Check(!reference.alias.empty(), "as_of_time",
                   "needs a name of the form models/{model}/aliases/{alias}");
  MERCER_RETURN_IF_ERROR(violations.ToStatus());
  const absl::StatusOr<AliasRecord> alias =
      models.GetAliasAt(reference.model, reference.alias,
                        absl::FromUnixSeconds(as_of.seconds()) + absl::Nanoseconds(as_of.nanos()));
  if (!alias.ok()) {
    return absl::IsNotFound(alias.status()) ? ResourceNotFound("model alias", request.name())
                                            : alias.status();
  }
  absl::StatusOr<VersionRecord> record = models.GetVersion(alias->model, alias->version);
  if (!record.ok()) {
    return AboutModel(record.status(), ModelVersionName(alias->model, alias->version));
  }
  return record;
}

absl::StatusOr<VersionFilter> ReadFilter(const v1::ListModelVersionsRequest& request) {
  FieldViolations violations;
  CheckLabels(request.labels(), violations);
  violations.Check(request.learner().empty() || IsResourceId(request.learner()), "learner",
                   std::string(kResourceIdRule));
  MERCER_RETURN_IF_ERROR(violations.ToStatus());
  VersionFilter filter{request.learner(), {request.labels().begin(), request.labels().end()}};
  MERCER_ASSIGN_OR_RETURN(filter.query, ReadVersionQuery(request.filter(), request.order_by()));
  return filter;
}

void SetFields(FieldUpdate fields, const std::string& etag, ModelUpdate& update) {
  update.labels = std::move(fields.labels);
  update.display_name = std::move(fields.display_name);
  update.description = std::move(fields.description);
  update.etag = etag;
  update.now = absl::Now();
}

OwnerCheck CheckOf(const CallInfo& info, const std::string& model) {
  return info.CheckOfChange("model", ModelName(model));
}

v1::Retention WriteRetention(const std::string& model, int64_t keep_newest,
                             const std::vector<int64_t>& deleted) {
  v1::Retention retention;
  retention.set_name(ModelName(model));
  retention.set_keep_newest(static_cast<int32_t>(keep_newest));
  for (const int64_t version : deleted) {
    retention.add_deleted(ModelVersionName(model, version));
  }
  return retention;
}

}  // namespace

absl::StatusOr<v1::Model> ModelHandlers::Complete(const ModelRecord& record) const {
  MERCER_ASSIGN_OR_RETURN(const VersionRecord newest, models().GetVersion(record.name, 0));
  return WriteModel(record, newest);
}

absl::StatusOr<v1::Model> ModelHandlers::GetModel(const v1::GetModelRequest& request) const {
  MERCER_ASSIGN_OR_RETURN(const std::string name, ParseWholeModelName(request.name(), "name"));
  const absl::StatusOr<ModelRecord> record = models().GetModel(name);
  absl::StatusOr<v1::Model> model =
      record.ok() ? Complete(*record) : absl::StatusOr<v1::Model>(record.status());
  return model.ok() ? std::move(model) : AboutModel(model.status(), request.name());
}

absl::StatusOr<v1::ListModelsResponse> ModelHandlers::ListModels(
    const v1::ListModelsRequest& request) const {
  MERCER_ASSIGN_OR_RETURN(const ListQuery query,
                          ReadModelQuery(request.filter(), request.order_by()));
  v1::ListModelsResponse response;
  const absl::StatusOr<std::string> next = FillPage<ModelRecord, v1::Model>(
      {request.page_size(), request.page_token()}, context_.limits.message_bytes,
      [&](const PageRequest& page) { return models().ListModels(page, query); },
      [this](const ModelRecord& record) -> absl::StatusOr<std::optional<v1::Model>> {
        absl::StatusOr<v1::Model> model = Complete(record);
        if (absl::IsNotFound(model.status())) {
          return std::optional<v1::Model>();  // deleted meanwhile
        }
        return model;
      },
      response.mutable_models());
  MERCER_RETURN_IF_ERROR(AboutPage(next.status()));
  response.set_next_page_token(*next);
  return response;
}

absl::StatusOr<v1::Model> ModelHandlers::UpdateModel(const v1::UpdateModelRequest& request,
                                                     const CallInfo& info) const {
  const v1::Model& given = request.model();
  ModelUpdate update;
  MERCER_ASSIGN_OR_RETURN(update.model, ParseWholeModelName(given.name(), "model.name"));
  MERCER_ASSIGN_OR_RETURN(
      FieldUpdate fields,
      ReadFieldUpdate("model", {&given.labels(), &given.display_name(), &given.description()},
                      MaskOf(request)));
  SetFields(std::move(fields), given.etag(), update);
  update.check = CheckOf(info, update.model);
  const absl::StatusOr<ModelRecord> updated = models().UpdateModel(std::move(update));
  absl::StatusOr<v1::Model> model =
      updated.ok() ? Complete(*updated) : absl::StatusOr<v1::Model>(updated.status());
  return model.ok() ? std::move(model) : AboutModel(model.status(), given.name());
}

absl::StatusOr<google::protobuf::Empty> ModelHandlers::Delete(const ModelReference& which,
                                                              const std::string& name,
                                                              const CallInfo& info) const {
  const absl::StatusOr<DeletedVersions> deleted = ChangeThatFrees(context_, [&] {
    return models().DeleteModel(which.model, which.version, absl::Now(),
                                CheckOf(info, which.model));
  });
  if (!deleted.ok()) {
    return AboutModel(deleted.status(), name);
  }
  cache_.Remove(which.model, which.version);
  ReleaseBlobs(context_, deleted->released_blobs);
  return google::protobuf::Empty();
}

absl::StatusOr<google::protobuf::Empty> ModelHandlers::DeleteModel(
    const v1::DeleteModelRequest& request, const CallInfo& info) const {
  MERCER_ASSIGN_OR_RETURN(std::string model, ParseWholeModelName(request.name(), "name"));
  return Delete({std::move(model), 0, ""}, request.name(), info);
}

absl::StatusOr<v1::ModelVersion> ModelHandlers::GetModelVersion(
    const v1::GetModelVersionRequest& request) const {
  MERCER_ASSIGN_OR_RETURN(const VersionRecord record,
                          request.has_as_of_time() ? FindAsOf(models(), request)
                                                   : FindNamed(models(), request.name(), "name"));
  MERCER_ASSIGN_OR_RETURN(v1::ModelVersion model, WriteVersionInDetail(record));
  if (request.view() == v1::MODEL_VERSION_VIEW_FULL) {
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
  // What was asked for goes before what is told beside it.
  if (model.ByteSizeLong() > static_cast<size_t>(context_.limits.message_bytes)) {
    model.clear_tables();
  }
  return model;
}

absl::StatusOr<v1::ListModelVersionsResponse> ModelHandlers::ListModelVersions(
    const v1::ListModelVersionsRequest& request) const {
  std::string model;  // empty: all
  if (request.model() != kAllModels) {
    MERCER_ASSIGN_OR_RETURN(model, ParseWholeModelName(request.model(), "model"));
  }
  MERCER_ASSIGN_OR_RETURN(const VersionFilter filter, ReadFilter(request));
  v1::ListModelVersionsResponse response;
  const absl::StatusOr<std::string> next = FillPage<VersionRecord, v1::ModelVersion>(
      {request.page_size(), request.page_token()}, context_.limits.message_bytes,
      [&](const PageRequest& page) { return models().ListVersions(model, page, filter); },
      [](const VersionRecord& record) -> absl::StatusOr<std::optional<v1::ModelVersion>> {
        return WriteVersion(record);
      },
      response.mutable_versions());
  if (!next.ok()) {
    return AboutPage(AboutModel(next.status(), request.model()));
  }
  response.set_next_page_token(*next);
  return response;
}

absl::StatusOr<v1::ModelVersion> ModelHandlers::UpdateModelVersion(
    const v1::UpdateModelVersionRequest& request, const CallInfo& info) const {
  constexpr std::string_view kField = "model_version.name";
  const v1::ModelVersion& given = request.model_version();
  MERCER_RETURN_IF_ERROR(ParseModelName(given.name(), kField).status());
  MERCER_ASSIGN_OR_RETURN(
      FieldUpdate fields,
      ReadFieldUpdate("model_version", {&given.labels(), nullptr, &given.description()},
                      MaskOf(request)));
  MERCER_ASSIGN_OR_RETURN(const VersionRecord record, FindNamed(models(), given.name(), kField));
  VersionUpdate update;
  SetFields(std::move(fields), given.etag(), update);
  update.model = record.model;
  update.version = record.version;
  update.check = CheckOf(info, record.model);
  const absl::StatusOr<VersionRecord> updated = models().UpdateVersion(std::move(update));
  return updated.ok() ? WriteVersion(*updated) : AboutModel(updated.status(), given.name());
}

absl::StatusOr<google::protobuf::Empty> ModelHandlers::DeleteModelVersion(
    const v1::DeleteModelVersionRequest& request, const CallInfo& info) const {
  MERCER_ASSIGN_OR_RETURN(const ModelReference version, ParseVersionName(request.name(), "name"));
  return Delete(version, request.name(), info);
}

absl::StatusOr<v1::Retention> ModelHandlers::SetRetention(const v1::SetRetentionRequest& request,
                                                          const CallInfo& info) const {
  MERCER_ASSIGN_OR_RETURN(const std::string model, ParseWholeModelName(request.name(), "name"));
  FieldViolations violations;
  violations.Check(request.keep_newest() >= 0, "keep_newest",
                   absl::StrCat("must be >= 0, is ", request.keep_newest()));
  MERCER_RETURN_IF_ERROR(violations.ToStatus());
  const absl::StatusOr<DeletedVersions> deleted = ChangeThatFrees(context_, [&] {
    return models().SetRetention(
        {model, request.keep_newest(), request.validate_only(), absl::Now(), CheckOf(info, model)});
  });
  if (!deleted.ok()) {
    return AboutModel(deleted.status(), request.name());
  }
  if (!request.validate_only()) {
    for (const int64_t version : deleted->versions) {
      cache_.Remove(model, version);
    }
    ReleaseBlobs(context_, deleted->released_blobs);
  }
  return WriteRetention(model, request.keep_newest(), deleted->versions);
}

absl::StatusOr<ModelExport> ModelHandlers::OpenExport(const v1::ExportModelRequest& request) const {
  MERCER_ASSIGN_OR_RETURN(const ModelReference reference, ParseModelName(request.name(), "name"));
  return ReadNamed(models(), reference, [&](const std::string& model, int64_t version) {
    return OpenVersion(model, version, request.name());
  });
}

absl::StatusOr<ModelExport> ModelHandlers::OpenVersion(const std::string& model, int64_t version,
                                                       const std::string& name) const {
  const absl::StatusOr<VersionRecord> found = models().GetVersion(model, version);
  if (!found.ok()) {
    return AboutModel(found.status(), name);
  }
  const VersionRecord& record = *found;
  ModelExport result;
  absl::StatusOr<std::unique_ptr<MappedFile>> file = context_.blobs->Read(record.model_blob);
  if (file.status().code() == absl::StatusCode::kNotFound) {
    // Deleted meanwhile, or lost.
    const absl::Status status = models().GetVersion(model, record.version).status();
    return status.ok() ? BlobMissing(record.model_blob) : AboutModel(status, name);
  }
  MERCER_ASSIGN_OR_RETURN(result.file, std::move(file));
  result.header.set_model(ModelVersionName(record.model, record.version));
  result.header.set_size_bytes(record.model_bytes);
  result.header.set_digest(record.model_blob);
  result.header.set_format_version(kModelFormatVersion);
  return result;
}

}  // namespace mercer::server
