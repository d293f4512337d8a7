#include <algorithm>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"

#include "core/base/status/status_macros.h"
#include "server/storage/page_token.h"
#include "server/storage/refusals.h"
#include "server/storage/sqlite/models.h"

namespace mercer::server {
namespace {

// The columns that ReadChange expects.
constexpr char kSelectChange[] =
    "SELECT sequence, time, caller, from_version, to_version, is_rollback FROM "
    "checked_alias_changes AS alias_changes ";

AliasChange ReadChange(const Statement& row) {
  AliasChange change;
  row.Read(change.sequence, change.time, change.caller, change.from, change.to, change.rollback);
  return change;
}

absl::StatusOr<std::optional<AliasChange>> LastChange(Connection& connection, int64_t model,
                                                      const std::string& alias) {
  return connection.SelectFirst(
      ReadChange,
      absl::StrCat(kSelectChange, "WHERE model = ? AND alias = ? ORDER BY sequence DESC LIMIT 1"),
      model, alias);
}

// Later changes of the alias leave the time of an earlier one in the past, so the largest sequence is
// the latest.
absl::StatusOr<std::optional<AliasChange>> LastChangeAt(Connection& connection, int64_t model,
                                                        const std::string& alias, absl::Time time) {
  return connection.SelectFirst(
      ReadChange,
      absl::StrCat(kSelectChange,
                   "WHERE model = ? AND alias = ? AND time <= ? ORDER BY time DESC, sequence DESC "
                   "LIMIT 1"),
      model, alias, absl::ToUnixMicros(time));
}

// The alias after its change `last`, or before its first one.
AliasRecord AliasAfter(const std::string& model, const std::string& alias,
                       const std::optional<AliasChange>& last) {
  AliasRecord record{model, alias, 0, std::string(kNoAliasEtag), {}};
  if (last.has_value()) {
    record.version = last->to;
    record.update_time = last->time;
    if (last->to != 0) {
      record.etag = absl::StrCat(last->sequence);
    }
  }
  return record;
}

absl::Status Stale(const AliasMove& move, const std::string& current) {
  return StaleEtag(absl::StrCat("the alias '", move.alias, "' of the model '", move.model, "'"),
                   move.etag, current);
}

// A rollback was planned when `version` was the one before the last change.
absl::Status CheckRollback(const std::optional<AliasChange>& last, const AliasMove& move,
                           const std::string& current) {
  if (!last.has_value()) {
    return AliasNotFound(move.model, move.alias);
  }
  if (last->from == 0) {
    return NoEarlierVersion(move.model, move.alias);
  }
  return last->from == move.version ? absl::OkStatus() : Stale(move, current);
}

// Whether the alias, which `now` is, may be moved so. Errors: those of ModelStore::MoveAlias but for the request_id.
absl::Status CheckMove(Connection& connection, int64_t model, const AliasMove& move,
                       const std::optional<AliasChange>& last, const AliasRecord& now) {
  if (!move.etag.empty() && move.etag != now.etag) {
    return Stale(move, now.etag);
  }
  if (move.rollback) {
    MERCER_RETURN_IF_ERROR(CheckRollback(last, move, now.etag));
  }
  if (move.version == 0) {
    return now.version == 0 ? AliasNotFound(move.model, move.alias) : absl::OkStatus();
  }
  MERCER_ASSIGN_OR_RETURN(
      const bool there,
      connection.SelectValue<bool>(
          "SELECT EXISTS (SELECT 1 FROM versions WHERE model = ? AND version = ?)", model,
          move.version));
  return there ? absl::OkStatus() : ModelNotFound(move.model, move.version);
}

// The change to append.
AliasChange NextChange(const AliasMove& move, const std::optional<AliasChange>& last,
                       const AliasRecord& now) {
  // As it will be read back; a clock that was set back must not put a change before another one.
  const absl::Time time = absl::FromUnixMicros(absl::ToUnixMicros(move.now));
  AliasChange change{1, time, move.caller, now.version, move.version, move.rollback};
  if (last.has_value()) {
    change.sequence = last->sequence + 1;
    change.time = std::max(time, last->time);
  }
  return change;
}

absl::Status WriteChange(Connection& connection, int64_t model, const AliasMove& move,
                         const AliasChange& change, const AliasRecord& alias) {
  MERCER_RETURN_IF_ERROR(connection.Run(
      "INSERT INTO alias_changes(model, alias, sequence, time, caller, from_version, to_version, "
      "is_rollback, request_id, request_digest) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
      model, move.alias, change.sequence, change.time, change.caller, change.from, change.to,
      change.rollback, TextOrNull{move.request_id}, move.request_digest));
  if (alias.version == 0) {
    return connection.Run("DELETE FROM aliases WHERE model = ? AND alias = ?", model, alias.alias);
  }
  return connection.Run(
      "INSERT INTO aliases(model, alias, version, etag, update_time) VALUES (?, ?, ?, ?, ?) ON "
      "CONFLICT(model, alias) DO UPDATE SET version = excluded.version, etag = excluded.etag, "
      "update_time = excluded.update_time",
      model, alias.alias, alias.version, alias.etag, alias.update_time);
}

// Of one item more than a page has, if there are so many.
template <typename Record, typename Key>
Page<Record> CutPage(std::vector<Record> items, int size, const std::string& query,
                     Key Record::*key) {
  Page<Record> page;
  if (static_cast<int>(items.size()) > size) {
    items.pop_back();
    page.next_token = MakePageToken(query, absl::StrCat(items.back().*key));
  }
  page.items = std::move(items);
  return page;
}

}  // namespace

absl::StatusOr<AliasRecord> ApplyMove(Connection& connection, const AliasMove& move) {
  MERCER_ASSIGN_OR_RETURN(
      std::optional<AliasRecord> earlier,
      FindAliasMove(connection, move.caller, move.request_id, move.request_digest));
  if (earlier.has_value()) {
    return *std::move(earlier);
  }
  MERCER_ASSIGN_OR_RETURN(const ModelRow model,
                          RequireModelRow(connection, move.model, move.check));
  MERCER_ASSIGN_OR_RETURN(const std::optional<AliasChange> last,
                          LastChange(connection, model.number, move.alias));
  const AliasRecord now = AliasAfter(move.model, move.alias, last);
  MERCER_RETURN_IF_ERROR(CheckMove(connection, model.number, move, last, now));
  if (move.version == now.version) {
    return now;
  }
  const AliasChange change = NextChange(move, last, now);
  AliasRecord alias = AliasAfter(move.model, move.alias, change);
  MERCER_RETURN_IF_ERROR(WriteChange(connection, model.number, move, change, alias));
  return alias;
}

absl::StatusOr<std::optional<AliasRecord>> FindAliasMove(Connection& connection,
                                                         const std::string& caller,
                                                         const std::string& request_id,
                                                         const std::string& request_digest) {
  if (request_id.empty()) {
    return std::nullopt;
  }
  const auto read = [&](const Statement& row) -> absl::StatusOr<AliasRecord> {
    if (row.Bytes(6) != request_digest) {
      return MoveIdReused(request_id);
    }
    return AliasAfter(row.Bytes(8), row.Bytes(7), ReadChange(row));
  };
  return connection.SelectFirst(
      read,
      "SELECT sequence, time, alias_changes.caller, from_version, to_version, is_rollback, "
      "request_digest, alias, name FROM checked_alias_changes AS alias_changes JOIN models ON "
      "models.number = alias_changes.model WHERE alias_changes.caller = ? AND request_id = ?",
      caller, request_id);
}

absl::StatusOr<AliasRecord> ReadAliasAt(Connection& connection, const std::string& model,
                                        const std::string& alias, absl::Time time) {
  MERCER_ASSIGN_OR_RETURN(const ModelRow row, RequireModelRow(connection, model));
  MERCER_ASSIGN_OR_RETURN(const std::optional<AliasChange> last,
                          time == absl::InfiniteFuture()
                              ? LastChange(connection, row.number, alias)
                              : LastChangeAt(connection, row.number, alias, time));
  if (!last.has_value() || last->to == 0) {
    return AliasNotFound(model, alias);
  }
  return AliasAfter(model, alias, last);
}

absl::StatusOr<Page<AliasRecord>> ReadAliasPage(Connection& connection, const std::string& model,
                                                const PageRequest& page) {
  MERCER_ASSIGN_OR_RETURN(const int size, EffectivePageSize(page));
  const std::string query = absl::StrCat("aliases|", model);
  MERCER_ASSIGN_OR_RETURN(const std::string after, ReadPageToken(query, page.token));
  MERCER_ASSIGN_OR_RETURN(const ModelRow row, RequireModelRow(connection, model));
  MERCER_ASSIGN_OR_RETURN(std::vector<AliasRecord> aliases,
                          SelectAliases(connection, row.number, model, after, size + 1));
  return CutPage(std::move(aliases), size, query, &AliasRecord::alias);
}

absl::StatusOr<Page<AliasChange>> ReadChangePage(Connection& connection, const std::string& model,
                                                 const std::string& alias,
                                                 const PageRequest& page) {
  MERCER_ASSIGN_OR_RETURN(const int size, EffectivePageSize(page));
  const std::string query = absl::StrCat("alias-changes|", model, "@", alias);
  constexpr int64_t kFirst = std::numeric_limits<int64_t>::max();
  MERCER_ASSIGN_OR_RETURN(const int64_t before, ReadPageToken(query, page.token, kFirst));
  MERCER_ASSIGN_OR_RETURN(const ModelRow row, RequireModelRow(connection, model));
  MERCER_ASSIGN_OR_RETURN(
      std::vector<AliasChange> changes,
      connection.SelectAll(ReadChange,
                           absl::StrCat(kSelectChange,
                                        "WHERE model = ? AND alias = ? AND sequence < ? ORDER BY "
                                        "sequence DESC LIMIT ?"),
                           row.number, alias, before, size + 1));
  if (changes.empty() && before == kFirst) {
    return AliasNotFound(model, alias);
  }
  return CutPage(std::move(changes), size, query, &AliasChange::sequence);
}

}  // namespace mercer::server
