#include "server/storage/sqlite/version_rows.h"

#include <vector>

#include "absl/strings/str_cat.h"

#include "core/base/status/status_macros.h"
#include "server/storage/refusals.h"
#include "server/storage/sqlite/tables.h"

namespace mercer::server {
namespace {

absl::StatusOr<std::vector<std::string>> ReadAliases(Connection& connection, int64_t model,
                                                     int64_t version) {
  MERCER_ASSIGN_OR_RETURN(
      Statement select,
      connection.Prepare(
          "SELECT alias FROM checked_aliases WHERE model = ? AND version = ? ORDER BY 1"));
  select.Bind(model).Bind(version);
  std::vector<std::string> aliases;
  while (true) {
    MERCER_ASSIGN_OR_RETURN(const bool more, select.Step());
    if (!more) {
      return aliases;
    }
    aliases.push_back(select.Bytes(0));
  }
}

absl::StatusOr<std::vector<AliasRecord>> ReadAliasesOf(Connection& connection, int64_t model,
                                                       const std::string& name) {
  MERCER_ASSIGN_OR_RETURN(
      Statement select,
      connection.Prepare("SELECT alias, version, etag, update_time FROM checked_aliases "
                         "WHERE model = ? ORDER BY 1"));
  select.Bind(model);
  std::vector<AliasRecord> aliases;
  while (true) {
    MERCER_ASSIGN_OR_RETURN(const bool more, select.Step());
    if (!more) {
      return aliases;
    }
    aliases.push_back({name, select.Bytes(0), select.Int64(1), select.Bytes(2), select.Time(3)});
  }
}

}  // namespace

absl::StatusOr<ModelRecord> ReadModelRow(Connection& connection, const Statement& row) {
  ModelRecord model;
  model.name = row.Bytes(1);
  model.description = row.Bytes(2);
  model.create_time = row.Time(3);
  model.update_time = row.Time(4);
  model.newest_version = row.Int64(5);
  model.num_versions = row.Int64(6);
  model.keep_newest = row.Int64(7);
  model.owner = row.Bytes(8);
  model.display_name = row.Bytes(9);
  model.revision = row.Int64(10);
  MERCER_ASSIGN_OR_RETURN(model.labels, ReadLabels(connection, LabelTable::kModels, row.Int64(0)));
  MERCER_ASSIGN_OR_RETURN(model.aliases, ReadAliasesOf(connection, row.Int64(0), model.name));
  return model;
}

absl::StatusOr<NumberedModel> FindModel(Connection& connection, const std::string& name) {
  MERCER_ASSIGN_OR_RETURN(
      Statement select,
      connection.Prepare(absl::StrCat(kSelectModel, "WHERE name = ? AND newest IS NOT NULL")));
  MERCER_ASSIGN_OR_RETURN(const bool found, select.Bind(name).Step());
  if (!found) {
    return ModelNotFound(name, 0);
  }
  NumberedModel result;
  result.number = select.Int64(0);
  MERCER_ASSIGN_OR_RETURN(result.record, ReadModelRow(connection, select));
  return result;
}

absl::StatusOr<VersionRecord> ReadVersionRow(Connection& connection, const Statement& row) {
  VersionRecord version;
  version.model = row.Bytes(1);
  version.version = row.Int64(2);
  version.job_id = row.Bytes(3);
  version.learner = row.Bytes(4);
  version.model_blob = row.Bytes(5);
  version.model_bytes = row.Int64(6);
  version.witness_blob = row.Bytes(7);
  version.witness_bytes = row.Int64(8);
  version.summary = row.Bytes(9);
  version.create_time = row.Time(10);
  version.description = row.Bytes(11);
  version.revision = row.Int64(12);
  version.owner = row.Bytes(14);
  MERCER_ASSIGN_OR_RETURN(version.labels,
                          ReadLabels(connection, LabelTable::kVersions, row.Int64(0)));
  MERCER_ASSIGN_OR_RETURN(version.aliases, ReadAliases(connection, row.Int64(13), version.version));
  return version;
}

absl::StatusOr<NumberedVersion> FindVersion(Connection& connection, const std::string& model,
                                            int64_t version) {
  MERCER_ASSIGN_OR_RETURN(
      Statement select,
      connection.Prepare(absl::StrCat(
          kSelectVersion,
          "WHERE name = ?1 AND (?2 = 0 OR version = ?2) ORDER BY version DESC LIMIT 1")));
  MERCER_ASSIGN_OR_RETURN(const bool found, select.Bind(model).Bind(version).Step());
  if (!found) {
    return ModelNotFound(model, version);
  }
  NumberedVersion result;
  result.number = select.Int64(0);
  MERCER_ASSIGN_OR_RETURN(result.record, ReadVersionRow(connection, select));
  return result;
}

}  // namespace mercer::server
