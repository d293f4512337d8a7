#include "server/storage/sqlite/job_list.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

#include "core/base/status/status_macros.h"
#include "server/storage/sqlite/filter_sql.h"

namespace mercer::server {
namespace {

// What a condition selects is counted no further.
constexpr int64_t kMany = 2000;

using Label = std::pair<std::string, std::string>;

// The states and labels that a job must have, each once and in order.
struct Conditions {
  std::vector<int64_t> states;
  std::vector<Label> labels;
};

void SortUnique(std::vector<int64_t>& values) {
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
}

Conditions ConditionsOf(const JobFilter& filter) {
  Conditions conditions;
  for (const JobState state : filter.states) {
    conditions.states.push_back(static_cast<int64_t>(state));
  }
  SortUnique(conditions.states);
  conditions.labels.assign(filter.labels.begin(), filter.labels.end());
  return conditions;
}

std::string Marks(size_t count) {
  return absl::StrJoin(std::vector<std::string>(count, "?"), ", ");
}

absl::StatusOr<int64_t> CountStates(Connection& connection, const std::vector<int64_t>& states) {
  MERCER_ASSIGN_OR_RETURN(
      Statement select,
      connection.Prepare(absl::StrCat("SELECT COUNT(*) FROM (SELECT 1 FROM jobs WHERE state IN (",
                                      Marks(states.size()), ") LIMIT ", kMany, ")")));
  for (const int64_t state : states) {
    select.Bind(state);
  }
  MERCER_ASSIGN_OR_RETURN(const bool found, select.Step());
  return found ? select.Int64(0) : 0;
}

absl::StatusOr<int64_t> CountLabel(Connection& connection, const Label& label) {
  MERCER_ASSIGN_OR_RETURN(
      Statement select,
      connection.Prepare(absl::StrCat("SELECT COUNT(*) FROM (SELECT 1 FROM job_labels WHERE key = "
                                      "? AND value = ? LIMIT ",
                                      kMany, ")")));
  MERCER_ASSIGN_OR_RETURN(const bool found, select.Bind(label.first).Bind(label.second).Step());
  return found ? select.Int64(0) : 0;
}

// The label whose jobs are looked at one by one, because it has fewer than the other labels and the states; -1: those of
// the states are.
absl::StatusOr<int> RarestLabel(Connection& connection, const Conditions& conditions) {
  int64_t fewest = kMany + 1;
  if (!conditions.labels.empty() && !conditions.states.empty()) {
    MERCER_ASSIGN_OR_RETURN(fewest, CountStates(connection, conditions.states));
  }
  int rarest = -1;
  for (size_t i = 0; i < conditions.labels.size(); ++i) {
    MERCER_ASSIGN_OR_RETURN(const int64_t count, CountLabel(connection, conditions.labels[i]));
    if (count < fewest) {
      fewest = count;
      rarest = static_cast<int>(i);
    }
  }
  return rarest;
}

std::string LabelCondition(const std::string& job) {
  return absl::StrCat(" AND EXISTS (SELECT 1 FROM job_labels AS other WHERE other.owner = ", job,
                      " AND other.key = ? AND other.value = ?)");
}

// The union of one index scan per state, each cut at the page's size, so that no state, however many jobs it has, is
// sorted as a whole. Parameters: per state (state,) before, labels, limit; at the end limit.
std::string ByStateSql(size_t num_states, size_t num_labels) {
  std::string labels;
  for (size_t i = 0; i < num_labels; ++i) {
    labels += LabelCondition("jobs.number");
  }
  std::string sql = "SELECT number FROM (";
  for (size_t i = 0; i < std::max<size_t>(num_states, 1); ++i) {
    absl::StrAppend(&sql, i == 0 ? "" : " UNION ALL ",
                    "SELECT number FROM (SELECT number FROM jobs WHERE ",
                    num_states == 0 ? "" : "state = ? AND ", "number < ?", labels,
                    " ORDER BY number DESC LIMIT ?)");
  }
  return absl::StrCat(sql, ") ORDER BY number DESC LIMIT ?");
}

// A scan of the index of labels. Parameters: label, before, other labels, states, limit.
std::string ByLabelSql(size_t num_states, size_t num_others) {
  std::string sql =
      "SELECT owner FROM job_labels INDEXED BY job_labels_by_value WHERE key = ? AND value = ? AND "
      "owner < ?";
  for (size_t i = 0; i < num_others; ++i) {
    sql += LabelCondition("job_labels.owner");
  }
  if (num_states > 0) {
    absl::StrAppend(&sql, " AND (SELECT state FROM jobs WHERE number = job_labels.owner) IN (",
                    Marks(num_states), ")");
  }
  return sql + " ORDER BY owner DESC LIMIT ?";
}

absl::StatusOr<std::vector<int64_t>> ReadNumbers(Statement& select) {
  std::vector<int64_t> numbers;
  while (true) {
    MERCER_ASSIGN_OR_RETURN(const bool more, select.Step());
    if (!more) {
      return numbers;
    }
    numbers.push_back(select.Int64(0));
  }
}

absl::StatusOr<std::vector<int64_t>> SelectByState(Connection& connection,
                                                   const Conditions& conditions, int64_t before,
                                                   int limit) {
  const size_t num_states = conditions.states.size();
  MERCER_ASSIGN_OR_RETURN(Statement select,
                          connection.Prepare(ByStateSql(num_states, conditions.labels.size())));
  for (size_t i = 0; i < std::max<size_t>(num_states, 1); ++i) {
    if (num_states > 0) {
      select.Bind(conditions.states[i]);
    }
    select.Bind(before);
    for (const auto& [key, value] : conditions.labels) {
      select.Bind(key).Bind(value);
    }
    select.Bind(limit);
  }
  select.Bind(limit);
  return ReadNumbers(select);
}

absl::StatusOr<std::vector<int64_t>> SelectByLabel(Connection& connection, Conditions conditions,
                                                   size_t label, int64_t before, int limit) {
  std::swap(conditions.labels[0], conditions.labels[label]);
  MERCER_ASSIGN_OR_RETURN(
      Statement select,
      connection.Prepare(ByLabelSql(conditions.states.size(), conditions.labels.size() - 1)));
  for (size_t i = 0; i < conditions.labels.size(); ++i) {
    select.Bind(conditions.labels[i].first).Bind(conditions.labels[i].second);
    if (i == 0) {
      select.Bind(before);
    }
  }
  for (const int64_t state : conditions.states) {
    select.Bind(state);
  }
  select.Bind(limit);
  return ReadNumbers(select);
}

// How filters find the fields of a row of `jobs`.
constexpr FieldSql kJobFields[] = {
    {"name", FieldSql::Values::kText, "jobs.id"},
    {"state", FieldSql::Values::kNumber, "jobs.state"},
    {"kind", FieldSql::Values::kNumber, "jobs.kind"},
    {"learner", FieldSql::Values::kText, "jobs.learner"},
    {"owner", FieldSql::Values::kText, "jobs.caller"},
    {"priority", FieldSql::Values::kNumber, "jobs.priority"},
    {"create_time", FieldSql::Values::kNumber, "jobs.create_time"},
    {"start_time", FieldSql::Values::kNumber, "jobs.start_time"},
    {"end_time", FieldSql::Values::kNumber, "jobs.end_time"},
    // The number 0 stands for any version of the model's, and for none yet.
    {"model", FieldSql::Values::kTextAndNumber, "",
     "jobs.model_name = ? AND jobs.model_version = IFNULL(NULLIF(?, 0), jobs.model_version)",
     "jobs.model_version > 0"},
    {"datasets", FieldSql::Values::kText, "",
     "EXISTS (SELECT 1 FROM job_datasets AS d WHERE d.job = jobs.number AND d.dataset_id = ?)",
     "EXISTS (SELECT 1 FROM job_datasets AS d WHERE d.job = jobs.number)"},
    {"labels", FieldSql::Values::kKeyAndText, "",
     "EXISTS (SELECT 1 FROM job_labels AS l WHERE l.owner = jobs.number AND l.key = ? AND "
     "l.value = ?)",
     "EXISTS (SELECT 1 FROM job_labels AS l WHERE l.owner = jobs.number AND l.key = ?)"},
};

FilterNode NumberIs(std::string_view field, int64_t number) {
  FilterNode node;
  node.field = std::string(field);
  node.value.number = number;
  return node;
}

// One of `values`, which are enumerators.
template <typename Enum>
FilterNode IsAnyOf(std::string_view field, const std::vector<Enum>& values) {
  FilterNode any;
  any.kind = FilterNode::Kind::kAny;
  for (const Enum value : values) {
    any.children.push_back(NumberIs(field, static_cast<int64_t>(value)));
  }
  return any;
}

// The filter and the typed conditions as one.
FilterNode WholeFilter(const JobFilter& filter) {
  FilterNode all;
  all.kind = FilterNode::Kind::kAll;
  if (filter.query.filter.has_value()) {
    all.children.push_back(*filter.query.filter);
  }
  if (!filter.states.empty()) {
    all.children.push_back(IsAnyOf("state", filter.states));
  }
  if (!filter.kinds.empty()) {
    all.children.push_back(IsAnyOf("kind", filter.kinds));
  }
  for (const auto& [key, value] : filter.labels) {
    all.children.push_back(LabelIs(key, value));
  }
  return all;
}

bool IsEquality(const FilterNode& node, std::string_view field) {
  return node.kind == FilterNode::Kind::kComparison && node.comparison == Comparison::kEqual &&
         node.field == field;
}

// The states that the node asks for one of; empty: it asks for something else.
std::vector<int64_t> StatesOf(const FilterNode& node) {
  if (IsEquality(node, "state")) {
    return {node.value.number};
  }
  std::vector<int64_t> states;
  if (node.kind == FilterNode::Kind::kAny) {
    for (const FilterNode& child : node.children) {
      if (!IsEquality(child, "state")) {
        return {};
      }
      states.push_back(child.value.number);
    }
  }
  SortUnique(states);
  return states;
}

// Adds what must hold for the whole to hold, as far as an index knows it.
void AddConditions(const FilterNode& node, Conditions& conditions) {
  if (node.kind == FilterNode::Kind::kAll) {
    for (const FilterNode& child : node.children) {
      AddConditions(child, conditions);
    }
  } else if (IsEquality(node, "labels")) {
    conditions.labels.emplace_back(node.key, node.value.text);
  } else if (conditions.states.empty()) {
    conditions.states = StatesOf(node);
  }
}

// One walk along an index, in the order of the list.
struct JobWalk {
  std::string sql;
  // Of each of the selects that are merged: what is bound between the condition and the start.
  std::vector<std::vector<FilterParameter>> parts;
};

JobWalk WalkByNumber(const Conditions& conditions, int label, const std::string& condition,
                     bool descending) {
  const std::string select = absl::StrCat("SELECT jobs.number, jobs.number, ", condition, " FROM ");
  const std::string beyond = descending ? " < ?" : " > ?";
  const std::string direction = descending ? " DESC" : " ASC";
  JobWalk walk;
  if (label >= 0) {
    const Label& chosen = conditions.labels[static_cast<size_t>(label)];
    walk.sql = absl::StrCat(select,
                            "job_labels AS walk INDEXED BY job_labels_by_value CROSS JOIN jobs ON "
                            "jobs.number = walk.owner WHERE walk.key = ? AND walk.value = ? AND "
                            "walk.owner",
                            beyond, " ORDER BY walk.owner", direction);
    walk.parts.push_back({chosen.first, chosen.second});
    return walk;
  }
  for (const int64_t state : conditions.states) {
    absl::StrAppend(&walk.sql, walk.sql.empty() ? "" : " UNION ALL ", select,
                    "jobs WHERE jobs.state = ? AND jobs.number", beyond);
    walk.parts.push_back({state});
  }
  if (conditions.states.empty()) {
    walk.sql = absl::StrCat(select, "jobs WHERE jobs.number", beyond);
    walk.parts.emplace_back();
  }
  walk.sql += absl::StrCat(" ORDER BY 2", direction);
  return walk;
}

JobWalk WalkByName(const std::string& condition, bool descending) {
  JobWalk walk;
  walk.sql = absl::StrCat("SELECT jobs.number, jobs.id, ", condition, " FROM jobs WHERE jobs.id ",
                          descending ? "< ? ORDER BY 2 DESC" : "> ? ORDER BY 2");
  walk.parts.emplace_back();
  return walk;
}

}  // namespace

absl::StatusOr<std::vector<int64_t>> SelectJobNumbers(Connection& connection,
                                                      const JobFilter& filter, int64_t before,
                                                      int limit) {
  const Conditions conditions = ConditionsOf(filter);
  MERCER_ASSIGN_OR_RETURN(const int label, RarestLabel(connection, conditions));
  return label >= 0
             ? SelectByLabel(connection, conditions, static_cast<size_t>(label), before, limit)
             : SelectByState(connection, conditions, before, limit);
}

absl::StatusOr<FoundRows> FindJobs(Connection& connection, const JobFilter& filter,
                                   std::string_view after, int limit) {
  const ListOrder& order = filter.query.order;
  const FilterNode whole = WholeFilter(filter);
  MERCER_ASSIGN_OR_RETURN(const FilterCondition condition, TranslateFilter(whole, kJobFields));
  const bool by_name = order.key == ListOrder::Key::kName;
  const bool descending = order.key == ListOrder::Key::kDefault || order.descending;
  JobWalk walk;
  if (by_name) {
    walk = WalkByName(condition.sql, descending);
  } else {
    Conditions conditions;
    AddConditions(whole, conditions);
    MERCER_ASSIGN_OR_RETURN(const int label, RarestLabel(connection, conditions));
    walk = WalkByNumber(conditions, label, condition.sql, descending);
  }
  MERCER_ASSIGN_OR_RETURN(const FilterParameter start, by_name ? StartByName(after, descending)
                                                               : StartByNumber(after, descending));
  MERCER_ASSIGN_OR_RETURN(Statement select, connection.PrepareOnce(walk.sql));
  for (const std::vector<FilterParameter>& part : walk.parts) {
    BindParameters(condition.parameters, select);
    BindParameters(part, select);
    BindParameters({start}, select);
  }
  return FindRows(select, limit, filter.query.rows_at_once);
}

}  // namespace mercer::server
