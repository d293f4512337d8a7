#include "server/api/alias_handlers.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"

#include "core/base/status/errors.h"
#include "core/base/status/status_macros.h"
#include "server/api/page_filler.h"
#include "server/digest/sha256.h"
#include "server/prediction/model_lookup.h"
#include "server/translation/model_translator.h"
#include "server/translation/recipe_translator.h"
#include "server/translation/times.h"

namespace mercer::server {
namespace {

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

absl::StatusOr<ModelReference> ReadMove(const std::string& name, const std::string& etag,
                                        const std::string& request_id) {
  FieldViolations violations;
  CheckRequestId(request_id, violations);
  violations.Check(etag.size() <= kMaxEtagBytes, "etag", "is not an etag of an alias");
  MERCER_RETURN_IF_ERROR(violations.ToStatus());
  return ParseAliasName(name, "name");
}

// The number of the version that SetAlias names; 0 when it names none.
absl::StatusOr<int64_t> ReadTarget(const v1::SetAliasRequest& request, const std::string& model) {
  if (request.version().empty()) {
    return 0;
  }
  const absl::StatusOr<ModelReference> target = ParseModelName(request.version(), "version");
  MERCER_RETURN_IF_ERROR(target.status());
  FieldViolations violations;
  violations.Check(target->version != 0 && target->model == model, "version",
                   absl::StrCat("must be of the form models/", model, "/versions/{n}"));
  MERCER_RETURN_IF_ERROR(violations.ToStatus());
  return target->version;
}

}  // namespace

absl::StatusOr<v1::Alias> AliasHandlers::SetAlias(const v1::SetAliasRequest& request,
                                                  const CallInfo& info) const {
  MERCER_ASSIGN_OR_RETURN(const ModelReference reference,
                          ReadMove(request.name(), request.etag(), request.request_id()));
  AliasMove move;
  move.model = reference.model;
  move.alias = reference.alias;
  MERCER_ASSIGN_OR_RETURN(move.version, ReadTarget(request, reference.model));
  move.etag = request.etag();
  move.request_id = request.request_id();
  move.request_digest =
      Sha256Hex(absl::StrCat("set\n", InDigest(move), "\n", move.version, "\n", move.etag));
  move.caller = info.caller.name;
  move.check = info.CheckOfChange("model", ModelName(move.model));
  MERCER_ASSIGN_OR_RETURN(const std::optional<AliasRecord> earlier,
                          models().FindMove(move.caller, move.request_id, move.request_digest));
  if (earlier.has_value()) {
    return WriteAlias(*earlier);
  }
  return WarmUpAndMove(request.name(), std::move(move));
}

absl::StatusOr<v1::Alias> AliasHandlers::RollbackAlias(const v1::RollbackAliasRequest& request,
                                                       const CallInfo& info) const {
  MERCER_ASSIGN_OR_RETURN(const ModelReference reference,
                          ReadMove(request.name(), request.etag(), request.request_id()));
  AliasMove move;
  move.model = reference.model;
  move.alias = reference.alias;
  move.rollback = true;
  move.etag = request.etag();
  move.request_id = request.request_id();
  move.request_digest = Sha256Hex(absl::StrCat("rollback\n", InDigest(move), "\n", move.etag));
  move.caller = info.caller.name;
  move.check = info.CheckOfChange("model", ModelName(move.model));
  MERCER_ASSIGN_OR_RETURN(const std::optional<AliasRecord> earlier,
                          models().FindMove(move.caller, move.request_id, move.request_digest));
  if (earlier.has_value()) {
    return WriteAlias(*earlier);
  }
  MERCER_RETURN_IF_ERROR(PlanRollback(request.name(), move));
  return WarmUpAndMove(request.name(), std::move(move));
}

absl::Status AliasHandlers::PlanRollback(const std::string& name, AliasMove& move) const {
  const absl::StatusOr<Page<AliasChange>> last =
      models().ListAliasChanges(move.model, move.alias, {1, ""});
  if (!last.ok()) {
    return absl::IsNotFound(last.status()) ? ResourceNotFound("model alias", name) : last.status();
  }
  const AliasChange& change = last->items.front();
  move.version = change.from;
  if (move.etag.empty()) {
    move.etag = change.to == 0 ? std::string(kNoAliasEtag) : absl::StrCat(change.sequence);
  }
  return absl::OkStatus();
}

absl::StatusOr<v1::Alias> AliasHandlers::WarmUpAndMove(const std::string& name,
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

absl::StatusOr<v1::Alias> AliasHandlers::GetAlias(const v1::GetAliasRequest& request) const {
  MERCER_ASSIGN_OR_RETURN(const ModelReference reference, ParseAliasName(request.name(), "name"));
  const absl::StatusOr<AliasRecord> alias = models().GetAlias(reference.model, reference.alias);
  if (absl::IsNotFound(alias.status())) {
    return ResourceNotFound("model alias", request.name());
  }
  MERCER_RETURN_IF_ERROR(alias.status());
  return WriteAlias(*alias);
}

absl::StatusOr<v1::ListAliasesResponse> AliasHandlers::ListAliases(
    const v1::ListAliasesRequest& request) const {
  MERCER_ASSIGN_OR_RETURN(const std::string model, ParseWholeModelName(request.model(), "model"));
  v1::ListAliasesResponse response;
  const absl::StatusOr<std::string> next = FillPage<AliasRecord, v1::Alias>(
      {request.page_size(), request.page_token()}, context_.limits.message_bytes,
      [&](const PageRequest& page) { return models().ListAliases(model, page); },
      [](const AliasRecord& record) -> absl::StatusOr<std::optional<v1::Alias>> {
        return WriteAlias(record);
      },
      response.mutable_aliases());
  if (!next.ok()) {
    return AboutPage(AboutModel(next.status(), request.model()));
  }
  response.set_next_page_token(*next);
  return response;
}

absl::StatusOr<v1::ListAliasHistoryResponse> AliasHandlers::ListAliasHistory(
    const v1::ListAliasHistoryRequest& request) const {
  MERCER_ASSIGN_OR_RETURN(const ModelReference reference, ParseAliasName(request.name(), "name"));
  v1::ListAliasHistoryResponse response;
  const absl::StatusOr<std::string> next = FillPage<AliasChange, v1::AliasChange>(
      {request.page_size(), request.page_token()}, context_.limits.message_bytes,
      [&](const PageRequest& page) {
        return models().ListAliasChanges(reference.model, reference.alias, page);
      },
      [&](const AliasChange& record) -> absl::StatusOr<std::optional<v1::AliasChange>> {
        return WriteChange(reference.model, record);
      },
      response.mutable_changes());
  if (absl::IsNotFound(next.status())) {
    return ResourceNotFound("model alias", request.name());
  }
  MERCER_RETURN_IF_ERROR(AboutPage(next.status()));
  response.set_next_page_token(*next);
  return response;
}

}  // namespace mercer::server
