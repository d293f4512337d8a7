#include <limits>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

#include "core/base/status/status_macros.h"
#include "server/storage/refusals.h"
#include "server/storage/sqlite/lists.h"
#include "server/storage/sqlite/models.h"

namespace mercer::server {
namespace {

// Of one that has versions, with labels and aliases, of the row that `where` names.
template <typename Key>
absl::StatusOr<std::optional<ModelRecord>> SelectModel(Connection& connection,
                                                       std::string_view where, const Key& key) {
  const auto read = [&](const Statement& row) -> absl::StatusOr<ModelRecord> {
    ModelRecord model;
    row.Read(model.number, model.name, model.description, model.create_time, model.update_time,
             model.newest_version, model.num_versions, model.keep_newest, model.owner,
             model.display_name, model.revision);
    MERCER_ASSIGN_OR_RETURN(model.labels, ReadLabels(connection, kModelLabels, model.number));
    MERCER_ASSIGN_OR_RETURN(model.aliases, SelectAliases(connection, model.number, model.name, "",
                                                         std::numeric_limits<int64_t>::max()));
    return model;
  };
  // The newest version and the count after it come from one look at the versions' index.
  return connection.SelectFirst(
      read,
      absl::StrCat("SELECT models.number, name, description, create_time, update_time, (SELECT "
                   "MAX(version) FROM versions WHERE model = models.number) AS newest, (SELECT "
                   "COUNT(*) FROM versions WHERE model = models.number), keep_newest, owner, "
                   "display_name, revision FROM checked_models AS models WHERE ",
                   std::string(where), " AND newest IS NOT NULL"),
      key);
}

// With labels and aliases, of the first row that `where` names.
template <typename... Keys>
absl::StatusOr<std::optional<VersionRecord>> SelectVersion(Connection& connection,
                                                           std::string_view where,
                                                           const Keys&... keys) {
  const auto read = [&](const Statement& row) -> absl::StatusOr<VersionRecord> {
    VersionRecord version;
    int64_t model = 0;
    row.Read(version.number, version.model, version.version, version.job_id, version.learner,
             version.model_blob, version.model_bytes, version.witness_blob, version.witness_bytes,
             version.summary, version.create_time, version.description, version.revision, model,
             version.owner);
    MERCER_ASSIGN_OR_RETURN(version.labels, ReadLabels(connection, kVersionLabels, version.number));
    MERCER_ASSIGN_OR_RETURN(
        version.aliases,
        connection.SelectAll<std::string>(
            "SELECT alias FROM checked_aliases WHERE model = ? AND version = ? ORDER BY 1", model,
            version.version));
    return version;
  };
  return connection.SelectFirst(
      read,
      absl::StrCat("SELECT versions.number, name, version, job_id, learner, model_blob, "
                   "model_bytes, witness_blob, witness_bytes, summary, versions.create_time, "
                   "versions.description, versions.revision, versions.model, owner FROM "
                   "checked_versions AS versions JOIN checked_models AS models ON models.number = "
                   "versions.model WHERE ",
                   std::string(where)),
      keys...);
}

// How filters find the fields of a row of `models`.
constexpr FieldSql kModelFields[] = {
    {"name", FieldSql::Kind::kText, "models.name"},
    {"display_name", FieldSql::Kind::kText, "models.display_name"},
    {"description", FieldSql::Kind::kText, "models.description"},
    {"owner", FieldSql::Kind::kText, "models.owner"},
    {"create_time", FieldSql::Kind::kNumber, "models.create_time"},
    {"update_time", FieldSql::Kind::kNumber, "models.update_time"},
    {"num_versions", FieldSql::Kind::kNumber,
     "(SELECT COUNT(*) FROM versions AS v WHERE v.model = models.number)"},
    {"aliases", FieldSql::Kind::kNames, "aliases AS a WHERE a.model = models.number",
     "models.name || '@' || a.alias"},
    {"labels", FieldSql::Kind::kLabels, "model_labels AS l WHERE l.owner = models.number"},
};

// How they find those of a row of `versions` and its row of `models`.
constexpr FieldSql kVersionFields[] = {
    {"name", FieldSql::Kind::kVersion, "models.name", "versions.version"},
    {"learner", FieldSql::Kind::kText, "versions.learner"},
    {"description", FieldSql::Kind::kText, "versions.description"},
    {"owner", FieldSql::Kind::kText, "models.owner"},
    {"job", FieldSql::Kind::kText, "versions.job_id"},
    {"datasets", FieldSql::Kind::kNames, "version_datasets AS d WHERE d.version = versions.number",
     "d.dataset_id"},
    {"size_bytes", FieldSql::Kind::kNumber, "versions.model_bytes"},
    {"create_time", FieldSql::Kind::kNumber, "versions.create_time"},
    {"aliases", FieldSql::Kind::kNames,
     "aliases AS a WHERE a.model = versions.model AND a.version = versions.version",
     "models.name || '@' || a.alias"},
    {"labels", FieldSql::Kind::kLabels, "version_labels AS l WHERE l.owner = versions.number"},
};

// Of the model, or with an empty name of all. Names and creation of the versions of one model are in the same order.
ListWalk WalkVersions(const std::string& model, const ListOrder& order) {
  ListWalk walk{"versions.number", {"models.name", "versions.version", /*is_name=*/true}};
  walk.descending = order.key == ListOrder::Key::kDefault || order.descending;
  const std::string by_model =
      "models CROSS JOIN versions ON versions.model = models.number WHERE ";
  if (!model.empty()) {
    walk.key = {"versions.version", "versions.number"};
    walk.parts = {{by_model + "models.name = ? AND ", {model}}};
  } else if (order.key == ListOrder::Key::kName) {
    walk.parts = {{by_model, {}}};
  } else {
    walk.key = {"versions.number", "versions.version"};
    walk.parts = {{"versions CROSS JOIN models ON models.number = versions.model WHERE ", {}}};
  }
  if (order.key == ListOrder::Key::kSizeBytes) {  // those of one model are sorted
    walk.key = {"versions.model_bytes", "versions.number"};
  }
  return walk;
}

}  // namespace

absl::StatusOr<std::optional<ModelRow>> FindModelRow(Connection& connection,
                                                     const std::string& name) {
  const auto read = [](const Statement& row) {
    ModelRow model;
    row.Read(model.number, model.owner, model.keep_newest);
    return model;
  };
  return connection.SelectFirst(
      read,
      "SELECT number, owner, keep_newest FROM checked_models AS models WHERE name = ? AND EXISTS "
      "(SELECT 1 FROM versions WHERE model = models.number)",
      name);
}

absl::StatusOr<ModelRow> RequireModelRow(Connection& connection, const std::string& name,
                                         const OwnerCheck& check, int64_t version) {
  MERCER_ASSIGN_OR_RETURN(ModelRow model, FoundOr(FindModelRow(connection, name),
                                                  [&] { return ModelNotFound(name, version); }));
  MERCER_RETURN_IF_ERROR(CheckOwner(check, model.owner));
  return model;
}

absl::StatusOr<std::vector<AliasRecord>> SelectAliases(Connection& connection, int64_t number,
                                                       const std::string& model,
                                                       const std::string& after, int64_t limit) {
  const auto read = [&](const Statement& row) {
    AliasRecord alias;
    alias.model = model;
    row.Read(alias.alias, alias.version, alias.etag, alias.update_time);
    return alias;
  };
  return connection.SelectAll(
      read,
      "SELECT alias, version, etag, update_time FROM checked_aliases WHERE model = ? AND alias > ? "
      "ORDER BY alias LIMIT ?",
      number, after, limit);
}

absl::StatusOr<ModelRecord> FindModel(Connection& connection, const std::string& name) {
  return FoundOr(SelectModel(connection, "name = ?", name), [&] { return ModelNotFound(name, 0); });
}

absl::StatusOr<VersionRecord> FindVersion(Connection& connection, const std::string& model,
                                          int64_t version) {
  return FoundOr(
      SelectVersion(connection,
                    "name = ?1 AND (?2 = 0 OR version = ?2) ORDER BY version DESC LIMIT 1", model,
                    version),
      [&] { return ModelNotFound(model, version); });
}

absl::StatusOr<Page<ModelRecord>> ReadModelPage(Connection& connection, const PageRequest& page,
                                                const ListQuery& query) {
  // A model that was made anew keeps its row, so that rows are not in the order of creation.
  ListWalk walk{"models.number", {"models.name", "models.number", /*is_name=*/true}};
  if (query.order.key == ListOrder::Key::kCreateTime) {
    walk.key = {"models.create_time", "models.number"};
  } else if (query.order.key == ListOrder::Key::kUpdateTime) {
    walk.key = {"models.update_time", "models.number"};
  }
  walk.descending = query.order.descending;
  walk.shown = "EXISTS (SELECT 1 FROM versions AS v WHERE v.model = models.number)";
  walk.parts = {{"models WHERE ", {}}};
  const auto find = [&](std::string_view after, int limit) {
    return FindRows(connection, walk, WholeFilter(query), kModelFields, after, limit,
                    query.rows_at_once);
  };
  const auto read = [&](int64_t number) {
    return SelectModel(connection, "models.number = ?", number);
  };
  return ReadPage<ModelRecord>(page, absl::StrCat("models", DescribeListQuery(query)), find, read);
}

absl::StatusOr<Page<VersionRecord>> ReadVersionPage(Connection& connection, const std::string& name,
                                                    const PageRequest& page,
                                                    const VersionFilter& filter) {
  std::string query = absl::StrCat("versions|", name);
  FilterNode whole = WholeFilter(filter.query, filter.labels);
  if (!filter.learner.empty()) {
    absl::StrAppend(&query, "|learner=", filter.learner);
    whole.children.push_back(FieldIs("learner", {filter.learner}));
  }
  absl::StrAppend(&query, DescribeLabels(filter.labels), DescribeListQuery(filter.query));
  const ListWalk walk = WalkVersions(name, filter.query.order);
  const auto find = [&](std::string_view after, int limit) -> absl::StatusOr<FoundRows> {
    if (!name.empty()) {
      MERCER_RETURN_IF_ERROR(RequireModelRow(connection, name).status());
    }
    return FindRows(connection, walk, whole, kVersionFields, after, limit,
                    filter.query.rows_at_once);
  };
  const auto read = [&](int64_t number) {
    return SelectVersion(connection, "versions.number = ?", number);
  };
  return ReadPage<VersionRecord>(page, query, find, read);
}

}  // namespace mercer::server
