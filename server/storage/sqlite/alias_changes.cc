#include "server/storage/sqlite/alias_changes.h"

#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"

#include "core/base/status/status_macros.h"
#include "server/storage/alias_moves.h"
#include "server/storage/page_token.h"
#include "server/storage/refusals.h"

namespace mercer::server {
namespace {

// The columns that ReadChange expects.
constexpr char kSelectChange[] =
    "SELECT sequence, time, caller, from_version, to_version, is_rollback FROM "
    "checked_alias_changes "
    "AS alias_changes ";

AliasChange ReadChange(const Statement& row) {
  AliasChange change;
  change.sequence = row.Int64(0);
  change.time = row.Time(1);
  change.caller = row.Bytes(2);
  change.from = row.Int64(3);
  change.to = row.Int64(4);
  change.rollback = row.Int64(5) != 0;
  return change;
}

// The number of a model that has versions. Errors: kNotFound, those of `check`.
absl::StatusOr<int64_t> FindModelNumber(Connection& connection, const std::string& model,
                                        const OwnerCheck& check = nullptr) {
  MERCER_ASSIGN_OR_RETURN(
      Statement select,
      connection.Prepare(
          "SELECT number, owner FROM checked_models AS models WHERE name = ? AND EXISTS "
          "(SELECT 1 FROM versions WHERE model = models.number)"));
  MERCER_ASSIGN_OR_RETURN(const bool found, select.Bind(model).Step());
  if (!found) {
    return ModelNotFound(model, 0);
  }
  MERCER_RETURN_IF_ERROR(CheckOwner(check, select.Bytes(1)));
  return select.Int64(0);
}

absl::StatusOr<std::optional<AliasChange>> LastChange(Connection& connection, int64_t model,
                                                      const std::string& alias) {
  MERCER_ASSIGN_OR_RETURN(
      Statement select,
      connection.Prepare(absl::StrCat(
          kSelectChange, "WHERE model = ? AND alias = ? ORDER BY sequence DESC LIMIT 1")));
  MERCER_ASSIGN_OR_RETURN(const bool found, select.Bind(model).Bind(alias).Step());
  return found ? std::optional<AliasChange>(ReadChange(select)) : std::nullopt;
}

// Later changes of the alias leave the time of an earlier one in the past, so the largest sequence is
// the latest.
absl::StatusOr<std::optional<AliasChange>> LastChangeAt(Connection& connection, int64_t model,
                                                        const std::string& alias, absl::Time time) {
  MERCER_ASSIGN_OR_RETURN(Statement select, connection.Prepare(absl::StrCat(
                                                kSelectChange,
                                                "WHERE model = ? AND alias = ? AND time <= ? "
                                                "ORDER BY time DESC, sequence DESC LIMIT 1")));
  MERCER_ASSIGN_OR_RETURN(const bool found,
                          select.Bind(model).Bind(alias).Bind(absl::ToUnixMicros(time)).Step());
  return found ? std::optional<AliasChange>(ReadChange(select)) : std::nullopt;
}

absl::StatusOr<bool> VersionExists(Connection& connection, int64_t model, int64_t version) {
  MERCER_ASSIGN_OR_RETURN(
      Statement select,
      connection.Prepare("SELECT EXISTS (SELECT 1 FROM versions WHERE model = ? AND version = ?)"));
  MERCER_ASSIGN_OR_RETURN(const bool found, select.Bind(model).Bind(version).Step());
  return found && select.Int64(0) != 0;
}

absl::Status AppendChange(Connection& connection, int64_t model, const AliasMove& move,
                          const AliasChange& change) {
  MERCER_ASSIGN_OR_RETURN(
      Statement insert,
      connection.Prepare(
          "INSERT INTO alias_changes(model, alias, sequence, time, caller, from_version, "
          "to_version, is_rollback, request_id, request_digest) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, "
          "?)"));
  insert.Bind(model)
      .Bind(move.alias)
      .Bind(change.sequence)
      .BindTime(change.time)
      .Bind(change.caller)
      .Bind(change.from)
      .Bind(change.to)
      .Bind(int64_t{change.rollback ? 1 : 0});
  if (move.request_id.empty()) {
    insert.BindNull();
  } else {
    insert.Bind(move.request_id);
  }
  return insert.Bind(move.request_digest).Run();
}

absl::Status WriteAlias(Connection& connection, int64_t model, const AliasRecord& alias) {
  if (alias.version == 0) {
    MERCER_ASSIGN_OR_RETURN(
        Statement remove, connection.Prepare("DELETE FROM aliases WHERE model = ? AND alias = ?"));
    return remove.Bind(model).Bind(alias.alias).Run();
  }
  MERCER_ASSIGN_OR_RETURN(
      Statement upsert,
      connection.Prepare(
          "INSERT INTO aliases(model, alias, version, etag, update_time) VALUES (?, ?, ?, ?, ?) ON "
          "CONFLICT(model, alias) DO UPDATE SET version = excluded.version, etag = excluded.etag, "
          "update_time = excluded.update_time"));
  return upsert.Bind(model)
      .Bind(alias.alias)
      .Bind(alias.version)
      .Bind(alias.etag)
      .BindTime(alias.update_time)
      .Run();
}

}  // namespace

absl::StatusOr<AliasRecord> ApplyMove(Connection& connection, const AliasMove& move) {
  MERCER_ASSIGN_OR_RETURN(
      std::optional<AliasRecord> earlier,
      FindAliasMove(connection, move.caller, move.request_id, move.request_digest));
  if (earlier.has_value()) {
    return *std::move(earlier);
  }
  MERCER_ASSIGN_OR_RETURN(const int64_t model, FindModelNumber(connection, move.model, move.check));
  AliasState state;
  MERCER_ASSIGN_OR_RETURN(state.last, LastChange(connection, model, move.alias));
  MERCER_ASSIGN_OR_RETURN(state.version_exists, VersionExists(connection, model, move.version));
  MERCER_ASSIGN_OR_RETURN(const std::optional<AliasChange> change, PlanMove(state, move));
  if (!change.has_value()) {
    return AliasAfter(move.model, move.alias, state.last);
  }
  MERCER_RETURN_IF_ERROR(AppendChange(connection, model, move, *change));
  AliasRecord alias = AliasAfter(move.model, move.alias, change);
  MERCER_RETURN_IF_ERROR(WriteAlias(connection, model, alias));
  return alias;
}

absl::StatusOr<std::optional<AliasRecord>> FindAliasMove(Connection& connection,
                                                         const std::string& caller,
                                                         const std::string& request_id,
                                                         const std::string& request_digest) {
  if (request_id.empty()) {
    return std::nullopt;
  }
  MERCER_ASSIGN_OR_RETURN(
      Statement select,
      connection.Prepare("SELECT sequence, time, alias_changes.caller, from_version, to_version, "
                         "is_rollback, request_digest, alias, name FROM checked_alias_changes AS "
                         "alias_changes JOIN models "
                         "ON models.number = alias_changes.model WHERE alias_changes.caller = ? "
                         "AND request_id = ?"));
  MERCER_ASSIGN_OR_RETURN(const bool found, select.Bind(caller).Bind(request_id).Step());
  if (!found) {
    return std::nullopt;
  }
  if (select.Bytes(6) != request_digest) {
    return MoveIdReused(request_id);
  }
  return AliasAfter(select.Bytes(8), select.Bytes(7), ReadChange(select));
}

absl::StatusOr<AliasRecord> ReadAliasAt(Connection& connection, const std::string& model,
                                        const std::string& alias, absl::Time time) {
  MERCER_ASSIGN_OR_RETURN(const int64_t number, FindModelNumber(connection, model));
  std::optional<AliasChange> last;
  MERCER_ASSIGN_OR_RETURN(last, time == absl::InfiniteFuture()
                                    ? LastChange(connection, number, alias)
                                    : LastChangeAt(connection, number, alias, time));
  if (!last.has_value() || last->to == 0) {
    return AliasNotFound(model, alias);
  }
  return AliasAfter(model, alias, last);
}

absl::StatusOr<Page<AliasRecord>> ReadAliasPage(Connection& connection, const std::string& model,
                                                const PageRequest& page) {
  MERCER_ASSIGN_OR_RETURN(const int size, EffectivePageSize(page));
  const std::string query = absl::StrCat("aliases|", model);
  std::string after;
  if (!page.token.empty()) {
    MERCER_ASSIGN_OR_RETURN(after, ReadPageToken(query, page.token));
  }
  MERCER_ASSIGN_OR_RETURN(const int64_t number, FindModelNumber(connection, model));
  MERCER_ASSIGN_OR_RETURN(
      Statement select,
      connection.Prepare(
          "SELECT alias, version, etag, update_time FROM checked_aliases WHERE model = ? AND "
          "alias > ? ORDER BY alias LIMIT ?"));
  select.Bind(number).Bind(after).Bind(size + 1);
  Page<AliasRecord> result;
  while (true) {
    MERCER_ASSIGN_OR_RETURN(const bool more, select.Step());
    if (!more) {
      return result;
    }
    if (static_cast<int>(result.items.size()) == size) {
      result.next_token = MakePageToken(query, result.items.back().alias);
      return result;
    }
    result.items.push_back(
        {model, select.Bytes(0), select.Int64(1), select.Bytes(2), select.Time(3)});
  }
}

absl::StatusOr<Page<AliasChange>> ReadChangePage(Connection& connection, const std::string& model,
                                                 const std::string& alias,
                                                 const PageRequest& page) {
  MERCER_ASSIGN_OR_RETURN(const int size, EffectivePageSize(page));
  const std::string query = absl::StrCat("alias-changes|", model, "@", alias);
  constexpr int64_t kFirst = std::numeric_limits<int64_t>::max();
  MERCER_ASSIGN_OR_RETURN(const int64_t before, ReadPageToken(query, page.token, kFirst));
  MERCER_ASSIGN_OR_RETURN(const int64_t number, FindModelNumber(connection, model));
  MERCER_ASSIGN_OR_RETURN(
      Statement select,
      connection.Prepare(absl::StrCat(
          kSelectChange,
          "WHERE model = ? AND alias = ? AND sequence < ? ORDER BY sequence DESC LIMIT ?")));
  select.Bind(number).Bind(alias).Bind(before).Bind(size + 1);
  Page<AliasChange> result;
  while (true) {
    MERCER_ASSIGN_OR_RETURN(const bool more, select.Step());
    if (!more) {
      break;
    }
    if (static_cast<int>(result.items.size()) == size) {
      result.next_token = MakePageToken(query, result.items.back().sequence);
      return result;
    }
    result.items.push_back(ReadChange(select));
  }
  if (result.items.empty() && before == kFirst) {
    return AliasNotFound(model, alias);
  }
  return result;
}

}  // namespace mercer::server
