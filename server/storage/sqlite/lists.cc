#include "server/storage/sqlite/lists.h"

#include <algorithm>
#include <limits>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

#include "core/base/status/errors.h"

namespace mercer::server {
namespace {

using Kind = FieldSql::Kind;

// Behind every name: names are of lower-case letters, digits, '-' and '_'.
constexpr char kBehindNames[] = "~";

// An expression that is 0 or 1 for every row.
struct Condition {
  std::string sql;
  SqlValues values;  // of its parameters, in order
};

int Depth(const FilterNode& node) {
  int deepest = 0;
  for (const FilterNode& child : node.children) {
    deepest = std::max(deepest, Depth(child));
  }
  return deepest + 1;
}

// The comparison but for NOT, which may stand before it. NULL is absent.
void AddCondition(const FieldSql& field, const FilterNode& node, Condition& condition) {
  const std::string sql(field.sql);
  const std::string part(field.part);
  const bool present = node.comparison == Comparison::kPresent;
  const auto bind = [&](SqlValue value) { condition.values.push_back(std::move(value)); };
  const auto add = [&](const std::string& text) { condition.sql += text; };
  if (field.kind == Kind::kLabels) {
    bind(node.key);
    add(absl::StrCat("EXISTS (SELECT 1 FROM ", sql, " AND key = ?", present ? "" : " AND value = ?",
                     ")"));
  } else if (field.kind == Kind::kNames) {
    add(absl::StrCat("EXISTS (SELECT 1 FROM ", sql,
                     present ? "" : absl::StrCat(" AND ", part, " = ?"), ")"));
  } else if (field.kind == Kind::kVersion && present) {
    add(absl::StrCat(part, " > 0"));
  } else if (field.kind == Kind::kVersion) {  // 0 stands for any version, and for none yet
    bind(node.value.text);
    add(absl::StrCat("(", sql, " = ? AND ", part, " = IFNULL(NULLIF(?, 0), ", part, "))"));
  } else if (present) {
    add(absl::StrCat("IFNULL(", sql, ", '') <> ''"));
  } else {
    const bool negated = node.comparison == Comparison::kNotEqual;
    const std::string_view sign = SymbolOf(negated ? Comparison::kEqual : node.comparison);
    add(absl::StrCat("IFNULL(", sql, " ", std::string(sign), " ?, 0)"));
  }
  if (!present && (field.kind == Kind::kNumber || field.kind == Kind::kVersion)) {
    bind(node.value.number);
  } else if (!present) {
    bind(node.value.text);
  }
}

absl::Status AddComparison(const FilterNode& node, absl::Span<const FieldSql> fields,
                           Condition& condition) {
  const auto* const field = std::find_if(
      fields.begin(), fields.end(), [&](const FieldSql& sql) { return sql.field == node.field; });
  if (field == fields.end()) {
    return absl::InternalError(absl::StrCat("database: no column for the field ", node.field));
  }
  condition.sql += node.comparison == Comparison::kNotEqual ? "NOT " : "";
  AddCondition(*field, node, condition);
  return absl::OkStatus();
}

absl::Status AddNode(const FilterNode& node, absl::Span<const FieldSql> fields,
                     Condition& condition) {
  if (node.kind == FilterNode::Kind::kComparison) {
    return AddComparison(node, fields, condition);
  }
  if (node.kind == FilterNode::Kind::kNot) {
    condition.sql += "NOT ";
    return AddNode(node.children.front(), fields, condition);
  }
  // The deepest child comes first: what stands before a nested one waits on the stack of SQLite's parser, which has room for 100.
  std::vector<std::pair<int, const FilterNode*>> children;
  for (const FilterNode& child : node.children) {
    children.emplace_back(-Depth(child), &child);
  }
  std::stable_sort(children.begin(), children.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  const bool all = node.kind == FilterNode::Kind::kAll;
  std::string_view before = "(";
  for (const auto& [depth, child] : children) {
    condition.sql += before;
    MERCER_RETURN_IF_ERROR(AddNode(*child, fields, condition));
    before = all ? " AND " : " OR ";
  }
  condition.sql += !children.empty() ? ")" : all ? "(1)" : "(0)";
  return absl::OkStatus();
}

// Conditions on the key that exclude one another, with their parameters.
using Bounds = std::vector<std::pair<std::string, SqlValues>>;

// The number that `text` says; empty: before all others in the order of the walk.
absl::StatusOr<int64_t> StartNumber(std::string_view text, bool descending) {
  int64_t number =
      descending ? std::numeric_limits<int64_t>::max() : std::numeric_limits<int64_t>::min();
  if (!text.empty() && !absl::SimpleAtoi(absl::string_view(text.data(), text.size()), &number)) {
    return BadPageToken();
  }
  return number;
}

// What comes behind the key `after`; empty: all. An index seeks the rows whose first column is equal apart from the others, however
// many these are.
absl::StatusOr<Bounds> BoundsBehind(const ListWalk& walk, std::string_view after) {
  const ListKey& key = walk.key;
  const std::string column(key.first);
  const std::string behind = walk.descending ? " < ?" : " > ?";
  const bool pair = !key.second.empty();
  const size_t slash = pair ? std::min(after.rfind('/'), after.size()) : after.size();
  const std::string_view name = after.substr(0, slash);
  SqlValue first = std::string(name.empty() && walk.descending ? kBehindNames : name);
  if (!key.is_name) {
    MERCER_ASSIGN_OR_RETURN(first, StartNumber(name, walk.descending));
  }
  Bounds bounds = {{column + behind, {first}}};
  if (pair) {
    MERCER_ASSIGN_OR_RETURN(
        const int64_t second,
        StartNumber(after.substr(std::min(slash + 1, after.size())), walk.descending));
    bounds.push_back(
        {absl::StrCat(column, " = ? AND ", std::string(key.second), behind), {first, second}});
  }
  return bounds;
}

std::string KeyText(const ListKey& key) {
  const std::string first(key.first);
  return key.second.empty() ? first : absl::StrCat(first, " || '/' || ", std::string(key.second));
}

// Of the columns of the key.
std::string OrderOf(const ListWalk& walk) {
  const char* const order = walk.descending ? " DESC" : "";
  return walk.key.second.empty() ? absl::StrCat(" ORDER BY 2", order)
                                 : absl::StrCat(" ORDER BY 4", order, ", 5", order);
}

}  // namespace

FilterNode FieldIs(std::string_view field, FilterValue value) {
  FilterNode node;
  node.field = std::string(field);
  node.value = std::move(value);
  return node;
}

FilterNode WholeFilter(const ListQuery& query, const Labels& labels) {
  FilterNode all;
  all.kind = FilterNode::Kind::kAll;
  if (query.filter.has_value()) {
    all.children.push_back(*query.filter);
  }
  for (const auto& [key, value] : labels) {
    all.children.push_back(FieldIs("labels", {value}));
    all.children.back().key = key;
  }
  return all;
}

std::string DescribeLabels(const Labels& labels) {
  std::string description;
  for (const auto& [key, value] : labels) {
    absl::StrAppend(&description, "|", key.size(), ":", key, "=", value.size(), ":", value);
  }
  return description;
}

absl::StatusOr<FoundRows> FindRows(Connection& connection, const ListWalk& walk,
                                   const FilterNode& filter, absl::Span<const FieldSql> fields,
                                   std::string_view after, int limit, int max_rows) {
  Condition condition;
  MERCER_RETURN_IF_ERROR(AddNode(filter, fields, condition));
  MERCER_ASSIGN_OR_RETURN(const Bounds bounds, BoundsBehind(walk, after));
  const std::string key =
      walk.key.second.empty()
          ? ""
          : absl::StrCat(", ", std::string(walk.key.first), ", ", std::string(walk.key.second));
  const std::string columns =
      absl::StrCat("SELECT ", std::string(walk.number), ", ", KeyText(walk.key), ", ",
                   std::string(walk.shown), " AND ", condition.sql, key, " FROM ");
  std::string sql;
  for (const auto& [from, values] : walk.parts) {
    for (const auto& [bound, start] : bounds) {
      absl::StrAppend(&sql, sql.empty() ? "" : " UNION ALL ", columns, from, bound);
    }
  }
  absl::StrAppend(&sql, OrderOf(walk));
  const bool plain = filter.kind == FilterNode::Kind::kAll && filter.children.empty();
  MERCER_ASSIGN_OR_RETURN(Statement select,
                          plain ? connection.Prepare(sql) : connection.PrepareOnce(sql));
  for (const auto& [from, values] : walk.parts) {
    for (const auto& [bound, start] : bounds) {
      select.Bind(condition.values).Bind(values).Bind(start);
    }
  }
  FoundRows found;
  std::string last;
  for (int rows = 0;; ++rows) {
    MERCER_ASSIGN_OR_RETURN(const bool more, select.Step());
    if (!more) {
      return found;
    }
    const bool passes = select.Int64(2) != 0;
    if (rows == max_rows || (passes && static_cast<int>(found.numbers.size()) == limit)) {
      found.next = std::move(last);
      return found;
    }
    if (passes) {
      found.numbers.push_back(select.Int64(0));
    }
    last = select.Bytes(1);
  }
}

}  // namespace mercer::server
