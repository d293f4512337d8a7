#include "server/storage/sqlite/job_list.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

#include "core/base/status/status_macros.h"

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

Conditions ConditionsOf(const JobFilter& filter) {
  Conditions conditions;
  for (const JobState state : filter.states) {
    conditions.states.push_back(static_cast<int64_t>(state));
  }
  std::sort(conditions.states.begin(), conditions.states.end());
  conditions.states.erase(std::unique(conditions.states.begin(), conditions.states.end()),
                          conditions.states.end());
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

}  // namespace mercer::server
