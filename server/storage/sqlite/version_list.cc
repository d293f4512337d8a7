#include "server/storage/sqlite/version_list.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

#include "core/base/status/status_macros.h"

namespace mercer::server {
namespace {

// How filters find the fields of a row of `versions` and its row of `models`.
constexpr FieldSql kVersionFields[] = {
    // The number 0 stands for any version.
    {"name", FieldSql::Values::kTextAndNumber, "",
     "models.name = ? AND versions.version = IFNULL(NULLIF(?, 0), versions.version)", "1"},
    {"learner", FieldSql::Values::kText, "versions.learner"},
    {"description", FieldSql::Values::kText, "versions.description"},
    {"owner", FieldSql::Values::kText, "models.owner"},
    {"job", FieldSql::Values::kText, "versions.job_id"},
    {"size_bytes", FieldSql::Values::kNumber, "versions.model_bytes"},
    {"create_time", FieldSql::Values::kNumber, "versions.create_time"},
    {"aliases", FieldSql::Values::kText, "",
     "EXISTS (SELECT 1 FROM aliases AS a WHERE a.model = versions.model AND a.version = "
     "versions.version AND models.name || '@' || a.alias = ?)",
     "EXISTS (SELECT 1 FROM aliases AS a WHERE a.model = versions.model AND a.version = "
     "versions.version)"},
    {"labels", FieldSql::Values::kKeyAndText, "",
     "EXISTS (SELECT 1 FROM version_labels AS l WHERE l.owner = versions.number AND l.key = ? AND "
     "l.value = ?)",
     "EXISTS (SELECT 1 FROM version_labels AS l WHERE l.owner = versions.number AND l.key = ?)"},
};

// The newest version of `model`, an expression.
std::string IsNewestOf(const std::string& model) {
  return absl::StrCat(
      "versions.version = (SELECT MAX(v.version) FROM versions AS v WHERE v.model = ", model, ")");
}

// The filter and the typed conditions as one.
absl::StatusOr<FilterCondition> ConditionOf(const VersionFilter& filter) {
  FilterNode all;
  all.kind = FilterNode::Kind::kAll;
  if (filter.query.filter.has_value()) {
    all.children.push_back(*filter.query.filter);
  }
  if (!filter.learner.empty()) {
    FilterNode node;
    node.field = "learner";
    node.value.text = filter.learner;
    all.children.push_back(std::move(node));
  }
  for (const auto& [key, value] : filter.labels) {
    all.children.push_back(LabelIs(key, value));
  }
  return TranslateFilter(all, kVersionFields);
}

}  // namespace

absl::StatusOr<FoundRows> FindModels(Connection& connection, const VersionFilter& filter,
                                     std::string_view after, int limit) {
  const ListOrder& order = filter.query.order;
  const bool by_time = order.key == ListOrder::Key::kCreateTime;
  MERCER_ASSIGN_OR_RETURN(const FilterCondition condition, ConditionOf(filter));
  MERCER_ASSIGN_OR_RETURN(const FilterParameter start, by_time
                                                           ? StartByNumber(after, order.descending)
                                                           : StartByName(after, order.descending));
  const std::string key = by_time ? "versions.number" : "models.name";
  // In the order of names each model is one row, also one whose versions are all deleted, in that of creation each version is.
  const std::string sql =
      absl::StrCat("SELECT models.number, ", key, ", ",
                   by_time ? IsNewestOf("versions.model") : "versions.number IS NOT NULL", " AND ",
                   condition.sql, " FROM ",
                   by_time ? "versions CROSS JOIN models ON models.number = versions.model"
                           : "models LEFT JOIN versions ON versions.model = models.number AND " +
                                 IsNewestOf("models.number"),
                   " WHERE ", key, order.descending ? " < ? ORDER BY 2 DESC" : " > ? ORDER BY 2");
  MERCER_ASSIGN_OR_RETURN(Statement select, connection.PrepareOnce(sql));
  BindParameters(condition.parameters, select);
  BindParameters({start}, select);
  return FindRows(select, limit, filter.query.rows_at_once);
}

absl::StatusOr<FoundRows> FindVersions(Connection& connection, const std::string& model,
                                       const VersionFilter& filter, std::string_view after,
                                       int limit) {
  const ListOrder& order = filter.query.order;
  const bool descending = order.key == ListOrder::Key::kDefault || order.descending;
  MERCER_ASSIGN_OR_RETURN(const FilterCondition condition, ConditionOf(filter));
  MERCER_ASSIGN_OR_RETURN(const FilterParameter start, StartByNumber(after, descending));
  const std::string sql =
      absl::StrCat("SELECT versions.number, versions.version, ", condition.sql,
                   " FROM models CROSS JOIN versions ON versions.model = models.number WHERE "
                   "models.name = ? AND versions.version",
                   descending ? " < ? ORDER BY 2 DESC" : " > ? ORDER BY 2");
  MERCER_ASSIGN_OR_RETURN(Statement select, connection.PrepareOnce(sql));
  BindParameters(condition.parameters, select);
  BindParameters({model, start}, select);
  return FindRows(select, limit, filter.query.rows_at_once);
}

}  // namespace mercer::server
