#include <algorithm>
#include <limits>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

#include "core/base/status/status_macros.h"
#include "server/storage/sqlite/jobs.h"
#include "server/storage/sqlite/tables.h"

namespace mercer::server {
namespace {

// What a condition selects is counted no further.
constexpr int64_t kMany = 2000;

using Label = std::pair<std::string, std::string>;

// The states and labels that a job must have, as far as an index knows it.
struct Conditions {
  std::vector<int64_t> states;  // each once; one of them
  std::vector<Label> labels;
};

absl::StatusOr<int64_t> CountJobsIn(Connection& connection, const std::vector<int64_t>& states) {
  const std::string marks = absl::StrJoin(std::vector<std::string>(states.size(), "?"), ", ");
  return connection.SelectValue<int64_t>(
      absl::StrCat("SELECT COUNT(*) FROM (SELECT 1 FROM jobs WHERE state IN (", marks, ") LIMIT ",
                   kMany, ")"),
      SqlValues(states.begin(), states.end()));
}

absl::StatusOr<int64_t> CountLabel(Connection& connection, const Label& label) {
  return connection.SelectValue<int64_t>(
      absl::StrCat(
          "SELECT COUNT(*) FROM (SELECT 1 FROM job_labels WHERE key = ? AND value = ? LIMIT ",
          kMany, ")"),
      label.first, label.second);
}

// The label whose jobs are looked at one by one, because it has fewer than the other labels and the states; null: those of
// the states are.
absl::StatusOr<const Label*> RarestLabel(Connection& connection, const Conditions& conditions) {
  int64_t fewest = kMany + 1;
  if (!conditions.labels.empty() && !conditions.states.empty()) {
    MERCER_ASSIGN_OR_RETURN(fewest, CountJobsIn(connection, conditions.states));
  }
  const Label* rarest = nullptr;
  for (const Label& label : conditions.labels) {
    MERCER_ASSIGN_OR_RETURN(const int64_t count, CountLabel(connection, label));
    if (count < fewest) {
      fewest = count;
      rarest = &label;
    }
  }
  return rarest;
}

// How filters find the fields of a row of `jobs`.
constexpr FieldSql kJobFields[] = {
    {"name", FieldSql::Kind::kText, "jobs.id"},
    {"display_name", FieldSql::Kind::kText, "jobs.display_name"},
    {"state", FieldSql::Kind::kNumber, "jobs.state"},
    {"kind", FieldSql::Kind::kNumber, "jobs.kind"},
    {"learner", FieldSql::Kind::kText, "jobs.learner"},
    {"owner", FieldSql::Kind::kText, "jobs.caller"},
    {"priority", FieldSql::Kind::kNumber, "jobs.priority"},
    {"create_time", FieldSql::Kind::kNumber, "jobs.create_time"},
    {"start_time", FieldSql::Kind::kNumber, "jobs.start_time"},
    {"end_time", FieldSql::Kind::kNumber, "jobs.end_time"},
    // A job makes versions of a model, or uses a version: one of the two is empty.
    {"model", FieldSql::Kind::kVersion, "(jobs.model_name || jobs.used_model)",
     "(jobs.model_version + jobs.used_version)"},
    {"datasets", FieldSql::Kind::kNames, "job_datasets WHERE job = jobs.number", "dataset_id"},
    {"labels", FieldSql::Kind::kLabels, "job_labels AS l WHERE l.owner = jobs.number"},
};

// One of `values`, which are enumerators.
template <typename Enum>
void AddAnyOf(std::string_view field, const std::vector<Enum>& values, FilterNode& all) {
  if (!values.empty()) {
    FilterNode& any = all.children.emplace_back();
    any.kind = FilterNode::Kind::kAny;
    for (const Enum value : values) {
      any.children.push_back(FieldIs(field, {"", static_cast<int64_t>(value)}));
    }
  }
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
  std::sort(states.begin(), states.end());
  states.erase(std::unique(states.begin(), states.end()), states.end());
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

// Along the index of a label, or those of states, instead of all jobs.
void AddParts(const Conditions& conditions, const Label* label, ListWalk& walk) {
  if (label != nullptr) {
    walk.key.first = "walk.owner";
    walk.parts = {
        {"job_labels AS walk INDEXED BY job_labels_by_value CROSS JOIN jobs ON "
         "jobs.number = walk.owner WHERE walk.key = ? AND walk.value = ? AND ",
         {label->first, label->second}}};
    return;
  }
  if (!conditions.states.empty()) {
    walk.parts.clear();
  }
  for (const int64_t state : conditions.states) {
    walk.parts.push_back({"jobs WHERE jobs.state = ? AND ", {state}});
  }
}

std::string DescribeJobs(const JobFilter& filter) {
  std::string query = "jobs";
  for (const JobState state : std::set<JobState>(filter.states.begin(), filter.states.end())) {
    absl::StrAppend(&query, "|", static_cast<int>(state));
  }
  for (const JobKind kind : std::set<JobKind>(filter.kinds.begin(), filter.kinds.end())) {
    absl::StrAppend(&query, "|kind=", static_cast<int>(kind));
  }
  return absl::StrCat(query, DescribeLabels(filter.labels), DescribeListQuery(filter.query));
}

}  // namespace

absl::StatusOr<FoundRows> FindJobs(Connection& connection, const JobFilter& filter,
                                   std::string_view after, int limit) {
  FilterNode whole = WholeFilter(filter.query, filter.labels);
  AddAnyOf("state", filter.states, whole);
  AddAnyOf("kind", filter.kinds, whole);
  const ListOrder& order = filter.query.order;
  ListWalk walk{"jobs.number", {"jobs.number"}};
  walk.descending = order.key == ListOrder::Key::kDefault || order.descending;
  walk.parts = {{"jobs WHERE ", {}}};
  if (order.key == ListOrder::Key::kName) {
    walk.key = {"jobs.id", "", /*is_name=*/true};
  } else if (order.key == ListOrder::Key::kPriority) {
    walk.key = {"jobs.priority", "jobs.number"};
  } else if (order.key == ListOrder::Key::kEndTime) {
    walk.key = {"jobs.end_order", "jobs.number"};
  } else {
    Conditions conditions;
    AddConditions(whole, conditions);
    MERCER_ASSIGN_OR_RETURN(const Label* const label, RarestLabel(connection, conditions));
    AddParts(conditions, label, walk);
  }
  return FindRows(connection, walk, whole, kJobFields, after, limit, filter.query.rows_at_once);
}

absl::StatusOr<Page<JobRecord>> ReadJobPage(Connection& connection, const JobFilter& filter,
                                            const PageRequest& page) {
  JobFilter looked_for = filter;
  if (filter.query.IsDefault() && filter.kinds.empty()) {  // an index knows all conditions
    looked_for.query.rows_at_once = std::numeric_limits<int>::max();
  }
  return ReadPage<JobRecord>(
      page, DescribeJobs(filter),
      [&](std::string_view after, int limit) {
        return FindJobs(connection, looked_for, after, limit);
      },
      [&](int64_t number) { return ReadJobByNumber(connection, number); });
}

}  // namespace mercer::server
