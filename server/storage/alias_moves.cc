#include "server/storage/alias_moves.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

#include "core/base/status/status_macros.h"
#include "server/storage/refusals.h"

namespace mercer::server {
namespace {

absl::Status Stale(const AliasMove& move, const std::string& current) {
  return StaleEtag(absl::StrCat("the alias '", move.alias, "' of the model '", move.model, "'"),
                   move.etag, current);
}

// A rollback was planned when `version` was the one before the last change.
absl::Status CheckRollback(const AliasState& state, const AliasMove& move,
                           const std::string& current) {
  if (!state.last.has_value()) {
    return AliasNotFound(move.model, move.alias);
  }
  if (state.last->from == 0) {
    return NoEarlierVersion(move.model, move.alias);
  }
  return state.last->from == move.version ? absl::OkStatus() : Stale(move, current);
}

}  // namespace

AliasRecord AliasAfter(const std::string& model, const std::string& alias,
                       const std::optional<AliasChange>& last) {
  AliasRecord record;
  record.model = model;
  record.alias = alias;
  record.etag = std::string(kNoAliasEtag);
  if (last.has_value()) {
    record.version = last->to;
    record.update_time = last->time;
    if (last->to != 0) {
      record.etag = absl::StrCat(last->sequence);
    }
  }
  return record;
}

absl::StatusOr<std::optional<AliasChange>> PlanMove(const AliasState& state,
                                                    const AliasMove& move) {
  const AliasRecord now = AliasAfter(move.model, move.alias, state.last);
  if (!move.etag.empty() && move.etag != now.etag) {
    return Stale(move, now.etag);
  }
  if (move.rollback) {
    MERCER_RETURN_IF_ERROR(CheckRollback(state, move, now.etag));
  }
  if (move.version == 0 && now.version == 0) {
    return AliasNotFound(move.model, move.alias);
  }
  if (move.version != 0 && !state.version_exists) {
    return ModelNotFound(move.model, move.version);
  }
  if (move.version == now.version) {
    return std::nullopt;
  }
  AliasChange change;
  change.sequence = state.last.has_value() ? state.last->sequence + 1 : 1;
  // As it will be read back; a clock that was set back must not put a change before another one.
  change.time = absl::FromUnixMicros(absl::ToUnixMicros(move.now));
  if (state.last.has_value()) {
    change.time = std::max(change.time, state.last->time);
  }
  change.caller = move.caller;
  change.from = now.version;
  change.to = move.version;
  change.rollback = move.rollback;
  return change;
}

}  // namespace mercer::server
