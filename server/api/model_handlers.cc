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
#include "server/digest/sha256.h"
#include "server/prediction/model_lookup.h"
#include "server/translation/field_update.h"
#include "server/translation/list_fields.h"
#include "server/translation/model_translator.h"
#include "server/translation/recipe_translator.h"
#include "server/translation/times.h"

namespace mercer::server {
namespace {

// Whose versions ListModelVersions lists when it names no model.
constexpr std::string_view kAllModels = "models/-";

constexpr size_t kMaxEtagBytes = 64;

// The alias in digests of requests, which are stored: its name in servers of before.
std::string InDigest(const AliasMove& move) {
  return absl::StrCat("models/", move.model, "@", move.alias);
}

v1::AliasChange WriteChange(const std::string& model, const AliasChange& record) {
  v1::AliasChange change;
  change.set_sequence(record.sequence);
  SetTimestamp(record.time, change.mutable_time());
  change.set_caller(record.caller);
  if (record.from != 0) {
    change.set_from(ModelVersionName(model, record.from));
  }
  if (record.to != 0) {
    change.set_to(ModelVersionName(model, record.to));
  }
  change.set_rollback(record.rollback);
  return change;
}

OwnerCheck CheckOf(const CallInfo& info, const std::string& model) {
  return info.CheckOfChange("model", ModelName(model));
}

// What moves of both kinds say.
template <typename Request>
absl::StatusOr<AliasMove> ReadMove(const Request& request, const CallInfo& info) {
  FieldViolations violations;
  CheckRequestId(request.request_id(), violations);
  violations.Check(request.etag().size() <= kMaxEtagBytes, "etag", "is not an etag of an alias");
  MERCER_RETURN_IF_ERROR(violations.ToStatus());
  MERCER_ASSIGN_OR_RETURN(ModelReference reference, ParseAliasName(request.name(), "name"));
  AliasMove move;
  move.model = std::move(reference.model);
  move.alias = std::move(reference.alias);
  move.etag = request.etag();
  move.request_id = request.request_id();
  move.caller = info.caller.name;
  move.check = CheckOf(info, move.model);
  return move;
}

// A store's answer about the alias `name`.
template <typename Answer>
absl::StatusOr<Answer> AboutAlias(absl::StatusOr<Answer> answer, const std::string& name) {
  return absl::IsNotFound(answer.status()) ? ResourceNotFound("model alias", name)
                                           : std::move(answer);
}

// The number of the version that SetAlias names; 0 when it names none.
absl::StatusOr<int64_t> ReadTarget(const v1::SetAliasRequest& request, const std::string& model) {
  if (request.version().empty()) {
    return 0;
  }
  MERCER_ASSIGN_OR_RETURN(const ModelReference target,
                          ParseModelName(request.version(), "version"));
  if (target.version == 0 || target.model != model) {
    return BadField("version", absl::StrCat("must be of the form models/", model, "/versions/{n}"));
  }
  return target.version;
}

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
  const absl::Time time = absl::FromUnixSeconds(as_of.seconds()) + absl::Nanoseconds(as_of.nanos());
  MERCER_ASSIGN_OR_RETURN(
      const AliasRecord alias,
      AboutAlias(models.GetAliasAt(reference.model, reference.alias, time), request.name()));
  return AboutModel(models.GetVersion(alias.model, alias.version),
                    ModelVersionName(alias.model, alias.version));
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

v1::Retention WriteRetention(const std::string& model, int64_t keep_newest,
                             const std::vector<int64_t>& deleted) {
  v1::Retention retention;
  retention.set_name(ModelName(model));
  retention.set_keep_newest(static_cast<int32_t>(keep_newest));
  for (const int64_t version : deleted) {
    *retention.add_deleted() = ModelVersionName(model, version);
  }
  return retention;
}

}  // namespace

absl::StatusOr<v1::Model> ModelHandlers::Complete(absl::StatusOr<ModelRecord> record) const {
  MERCER_RETURN_IF_ERROR(record.status());
  MERCER_ASSIGN_OR_RETURN(const VersionRecord newest, models().GetVersion(record->name, 0));
  return WriteModel(*record, newest);
}

absl::StatusOr<v1::Model> ModelHandlers::GetModel(const v1::GetModelRequest& request) const {
  MERCER_ASSIGN_OR_RETURN(const std::string name, ParseWholeModelName(request.name(), "name"));
  return AboutModel(Complete(models().GetModel(name)), request.name());
}

absl::StatusOr<v1::ListModelsResponse> ModelHandlers::ListModels(
    const v1::ListModelsRequest& request) const {
  MERCER_ASSIGN_OR_RETURN(const ListQuery query,
                          ReadModelQuery(request.filter(), request.order_by()));
  return AnswerList(
      request, context_.limits.message_bytes, &v1::ListModelsResponse::mutable_models,
      [&](const PageRequest& page) { return models().ListModels(page, query); },
      [this](const ModelRecord& record) -> absl::StatusOr<std::optional<v1::Model>> {
        absl::StatusOr<v1::Model> model = Complete(record);
        if (absl::IsNotFound(model.status())) {
          return std::nullopt;  // deleted meanwhile
        }
        return model;
      });
}

absl::StatusOr<v1::Model> ModelHandlers::UpdateModel(const v1::UpdateModelRequest& request,
                                                     const CallInfo& info) const {
  const v1::Model& given = request.model();
  MERCER_ASSIGN_OR_RETURN(std::string name, ParseWholeModelName(given.name(), "model.name"));
  MERCER_ASSIGN_OR_RETURN(
      ResourceUpdate fields,
      ReadFieldUpdate("model",
                      {given.etag(), &given.labels(), &given.display_name(), &given.description()},
                      MaskOf(request)));
  fields.check = CheckOf(info, name);
  ModelUpdate update{std::move(fields), std::move(name), absl::Now()};
  return AboutModel(Complete(models().UpdateModel(std::move(update))), given.name());
}

absl::StatusOr<google::protobuf::Empty> ModelHandlers::Delete(const ModelReference& which,
                                                              const std::string& name,
                                                              const CallInfo& info) const {
  const auto change = [&] {
    return models().DeleteModel(which.model, which.version, absl::Now(),
                                CheckOf(info, which.model));
  };
  MERCER_ASSIGN_OR_RETURN(const DeletedVersions deleted,
                          AboutModel(ChangeThatFrees(context_, change), name));
  cache_.Remove(which.model, which.version);
  ReleaseBlobs(context_, deleted.released_blobs);
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
  const auto list = [&](const PageRequest& page) {
    return models().ListVersions(model, page, filter);
  };
  return AboutModel(
      AnswerList(request, context_.limits.message_bytes,
                 &v1::ListModelVersionsResponse::mutable_versions, list, WriteVersion),
      request.model());
}

absl::StatusOr<v1::ModelVersion> ModelHandlers::UpdateModelVersion(
    const v1::UpdateModelVersionRequest& request, const CallInfo& info) const {
  constexpr std::string_view kField = "model_version.name";
  const v1::ModelVersion& given = request.model_version();
  MERCER_RETURN_IF_ERROR(ParseModelName(given.name(), kField).status());
  MERCER_ASSIGN_OR_RETURN(ResourceUpdate fields, ReadFieldUpdate("model_version",
                                                                 {given.etag(), &given.labels(),
                                                                  nullptr, &given.description()},
                                                                 MaskOf(request)));
  MERCER_ASSIGN_OR_RETURN(const VersionRecord record, FindNamed(models(), given.name(), kField));
  fields.check = CheckOf(info, record.model);
  VersionUpdate update{{std::move(fields), record.model, absl::Now()}, record.version};
  MERCER_ASSIGN_OR_RETURN(const VersionRecord updated,
                          AboutModel(models().UpdateVersion(std::move(update)), given.name()));
  return WriteVersion(updated);
}

absl::StatusOr<google::protobuf::Empty> ModelHandlers::DeleteModelVersion(
    const v1::DeleteModelVersionRequest& request, const CallInfo& info) const {
  MERCER_ASSIGN_OR_RETURN(const ModelReference version, ParseVersionName(request.name(), "name"));
  return Delete(version, request.name(), info);
}

absl::StatusOr<v1::Retention> ModelHandlers::SetRetention(const v1::SetRetentionRequest& request,
                                                          const CallInfo& info) const {
  MERCER_ASSIGN_OR_RETURN(const std::string model, ParseWholeModelName(request.name(), "name"));
  if (request.keep_newest() < 0) {
    return BadField("keep_newest", absl::StrCat("must be >= 0, is ", request.keep_newest()));
  }
  const auto change = [&] {
    return models().SetRetention(
        {model, request.keep_newest(), request.validate_only(), absl::Now(), CheckOf(info, model)});
  };
  MERCER_ASSIGN_OR_RETURN(const DeletedVersions deleted,
                          AboutModel(ChangeThatFrees(context_, change), request.name()));
  if (!request.validate_only()) {
    for (const int64_t version : deleted.versions) {
      cache_.Remove(model, version);
    }
    ReleaseBlobs(context_, deleted.released_blobs);
  }
  return WriteRetention(model, request.keep_newest(), deleted.versions);
}

absl::StatusOr<ModelExport> ModelHandlers::OpenExport(const v1::ExportModelRequest& request) const {
  MERCER_ASSIGN_OR_RETURN(const ModelReference reference, ParseModelName(request.name(), "name"));
  return ReadNamed(models(), reference, [&](const std::string& model, int64_t version) {
    return OpenVersion(model, version, request.name());
  });
}

absl::StatusOr<ModelExport> ModelHandlers::OpenVersion(const std::string& model, int64_t version,
                                                       const std::string& name) const {
  MERCER_ASSIGN_OR_RETURN(const VersionRecord record,
                          AboutModel(models().GetVersion(model, version), name));
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

absl::StatusOr<v1::Alias> ModelHandlers::SetAlias(const v1::SetAliasRequest& request,
                                                  const CallInfo& info) const {
  MERCER_ASSIGN_OR_RETURN(AliasMove move, ReadMove(request, info));
  MERCER_ASSIGN_OR_RETURN(move.version, ReadTarget(request, move.model));
  move.request_digest =
      Sha256Hex(absl::StrCat("set\n", InDigest(move), "\n", move.version, "\n", move.etag));
  return MoveOnce(request.name(), std::move(move));
}

absl::StatusOr<v1::Alias> ModelHandlers::RollbackAlias(const v1::RollbackAliasRequest& request,
                                                       const CallInfo& info) const {
  MERCER_ASSIGN_OR_RETURN(AliasMove move, ReadMove(request, info));
  move.rollback = true;
  move.request_digest = Sha256Hex(absl::StrCat("rollback\n", InDigest(move), "\n", move.etag));
  return MoveOnce(request.name(), std::move(move));
}

absl::StatusOr<v1::Alias> ModelHandlers::MoveOnce(const std::string& name, AliasMove move) const {
  MERCER_ASSIGN_OR_RETURN(const std::optional<AliasRecord> earlier,
                          models().FindMove(move.caller, move.request_id, move.request_digest));
  if (earlier.has_value()) {
    return WriteAlias(*earlier);
  }
  if (move.rollback) {
    MERCER_RETURN_IF_ERROR(PlanRollback(name, move));
  }
  return WarmUpAndMove(name, std::move(move));
}

absl::Status ModelHandlers::PlanRollback(const std::string& name, AliasMove& move) const {
  MERCER_ASSIGN_OR_RETURN(
      const Page<AliasChange> last,
      AboutAlias(models().ListAliasChanges(move.model, move.alias, {1, ""}), name));
  const AliasChange& change = last.items.front();
  move.version = change.from;
  if (move.etag.empty()) {
    move.etag = change.to == 0 ? std::string(kNoAliasEtag) : absl::StrCat(change.sequence);
  }
  return absl::OkStatus();
}

absl::StatusOr<v1::Alias> ModelHandlers::WarmUpAndMove(const std::string& name,
                                                       AliasMove move) const {
  std::string about = name;
  // Nothing is loaded for somebody who may not change the model. That there is none is said below.
  if (const absl::StatusOr<ModelRecord> model = models().GetModel(move.model); model.ok()) {
    MERCER_RETURN_IF_ERROR(CheckOwner(move.check, model->owner));
  }
  if (move.version != 0) {
    about = ModelVersionName(move.model, move.version);
    MERCER_RETURN_IF_ERROR(cache_.Load(move.model, move.version).status());
  }
  move.now = absl::Now();
  const absl::StatusOr<AliasRecord> moved = models().MoveAlias(std::move(move));
  if (!moved.ok()) {
    return AboutModel(moved.status(), absl::IsNotFound(moved.status()) ? about : name);
  }
  return WriteAlias(*moved);
}

absl::StatusOr<v1::Alias> ModelHandlers::GetAlias(const v1::GetAliasRequest& request) const {
  MERCER_ASSIGN_OR_RETURN(const ModelReference reference, ParseAliasName(request.name(), "name"));
  MERCER_ASSIGN_OR_RETURN(
      const AliasRecord alias,
      AboutAlias(models().GetAlias(reference.model, reference.alias), request.name()));
  return WriteAlias(alias);
}

absl::StatusOr<v1::ListAliasesResponse> ModelHandlers::ListAliases(
    const v1::ListAliasesRequest& request) const {
  MERCER_ASSIGN_OR_RETURN(const std::string model, ParseWholeModelName(request.model(), "model"));
  const auto list = [&](const PageRequest& page) { return models().ListAliases(model, page); };
  return AboutModel(AnswerList(request, context_.limits.message_bytes,
                               &v1::ListAliasesResponse::mutable_aliases, list, WriteAlias),
                    request.model());
}

absl::StatusOr<v1::ListAliasHistoryResponse> ModelHandlers::ListAliasHistory(
    const v1::ListAliasHistoryRequest& request) const {
  MERCER_ASSIGN_OR_RETURN(const ModelReference reference, ParseAliasName(request.name(), "name"));
  return AboutAlias(
      AnswerList(
          request, context_.limits.message_bytes, &v1::ListAliasHistoryResponse::mutable_changes,
          [&](const PageRequest& page) {
            return models().ListAliasChanges(reference.model, reference.alias, page);
          },
          [&](const AliasChange& record) { return WriteChange(reference.model, record); }),
      request.name());
}

}  // namespace mercer::server
