#include "server/storage/sqlite/version_list.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

#include "core/base/status/status_macros.h"

namespace mercer::server {
namespace {

// How filters find the fields of a row of `models`.
constexpr FieldSql kModelFields[] = {
    {"name", FieldSql::Values::kText, "models.name"},
    {"display_name", FieldSql::Values::kText, "models.display_name"},
    {"description", FieldSql::Values::kText, "models.description"},
    {"owner", FieldSql::Values::kText, "models.owner"},
    {"create_time", FieldSql::Values::kNumber, "models.create_time"},
    {"update_time", FieldSql::Values::kNumber, "models.update_time"},
    {"num_versions", FieldSql::Values::kNumber,
     "(SELECT COUNT(*) FROM versions AS v WHERE v.model = models.number)"},
    {"aliases", FieldSql::Values::kText, "",
     "EXISTS (SELECT 1 FROM aliases AS a WHERE a.model = models.number AND "
     "models.name || '@' || a.alias = ?)",
     "EXISTS (SELECT 1 FROM aliases AS a WHERE a.model = models.number)"},
    {"labels", FieldSql::Values::kKeyAndText, "",
     "EXISTS (SELECT 1 FROM model_labels AS l WHERE l.owner = models.number AND l.key = ? AND "
     "l.value = ?)",
     "EXISTS (SELECT 1 FROM model_labels AS l WHERE l.owner = models.number AND l.key = ?)"},
};

// How they find those of a row of `versions` and its row of `models`.
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

absl::StatusOr<FoundRows> FindModels(Connection& connection, const ListQuery& query,
                                     std::string_view after, int limit) {
  const bool by_time = query.order.key == ListOrder::Key::kCreateTime;
  const bool descending = query.order.descending;
  FilterCondition condition{"1", {}};
  if (query.filter.has_value()) {
    MERCER_ASSIGN_OR_RETURN(condition, TranslateFilter(*query.filter, kModelFields));
  }
  // A model that was made anew keeps its row, so that rows are not in the order of creation.
  const KeyPair key = by_time ? KeyPair{"models.create_time", "models.number"}
                              : KeyPair{"models.name", "models.number", /*is_name=*/true};
  MERCER_ASSIGN_OR_RETURN(const std::vector<FilterParameter> start,
                          StartByPair(key, after, descending));
  MERCER_ASSIGN_OR_RETURN(
      Statement select,
      connection.PrepareOnce(
          absl::StrCat("SELECT models.number, ", KeyText(key),
                       ", EXISTS (SELECT 1 FROM versions AS v WHERE v.model = models.number) AND ",
                       condition.sql, " FROM models WHERE ", BehindPair(key, descending))));
  BindParameters(condition.parameters, select);
  BindParameters(start, select);
  return FindRows(select, limit, query.rows_at_once);
}

absl::StatusOr<FoundRows> FindVersions(Connection& connection, const std::string& model,
                                       const VersionFilter& filter, std::string_view after,
                                       int limit) {
  const ListOrder& order = filter.query.order;
  const bool descending = order.key == ListOrder::Key::kDefault || order.descending;
  MERCER_ASSIGN_OR_RETURN(const FilterCondition condition, ConditionOf(filter));
  const bool of_one = !model.empty();
  const bool by_creation = !of_one && order.key != ListOrder::Key::kName;
  const KeyPair key = of_one        ? KeyPair{"versions.version", "versions.number"}
                      : by_creation ? KeyPair{"versions.number", "versions.version"}
                                    : KeyPair{"models.name", "versions.version", /*is_name=*/true};
  MERCER_ASSIGN_OR_RETURN(const std::vector<FilterParameter> start,
                          StartByPair(key, after, descending));
  const std::string sql =
      absl::StrCat("SELECT versions.number, ", KeyText(key), ", ", condition.sql, " FROM ",
                   by_creation ? "versions CROSS JOIN models ON models.number = versions.model"
                               : "models CROSS JOIN versions ON versions.model = models.number",
                   " WHERE ", of_one ? "models.name = ? AND " : "", BehindPair(key, descending));
  MERCER_ASSIGN_OR_RETURN(Statement select, connection.PrepareOnce(sql));
  BindParameters(condition.parameters, select);
  if (of_one) {
    BindParameters({model}, select);
  }
  BindParameters(start, select);
  return FindRows(select, limit, filter.query.rows_at_once);
}

}  // namespace mercer::server
