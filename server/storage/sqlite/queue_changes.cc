#include "server/storage/sqlite/queue_changes.h"

#include <algorithm>
#include <limits>
#include <string>

#include "absl/strings/str_cat.h"

#include "core/base/status/status_macros.h"
#include "server/storage/job_transitions.h"
#include "server/storage/refusals.h"
#include "server/storage/sqlite/job_changes.h"
#include "server/storage/sqlite/tables.h"

// The numbers of JobState stand in the SQL texts: 1 QUEUED, 2 RUNNING, 3 CANCELLING, 4 VERIFYING.
namespace mercer::server {
namespace {

// The callers that have ready jobs, found by one seek each; of every one its first job that is not left to another server,
// how many of its jobs are held, and when it was served; of all these the first. The indexes are named, because the planner would
// rather read all queued jobs. `ready`: "table and index WHERE condition" of the jobs that are looked at.
std::string SelectHead(const char* ready) {
  return absl::StrCat(
      "WITH RECURSIVE callers(caller) AS ("
      " SELECT MIN(caller) FROM ",
      ready,
      " UNION ALL"
      " SELECT (SELECT MIN(caller) FROM ",
      ready,
      " AND caller > callers.caller) FROM callers WHERE callers.caller IS NOT NULL), "
      "heads AS ("
      " SELECT (SELECT number FROM ",
      ready,
      " AND jobs.caller = callers.caller AND NOT (memory_bytes > ?1 AND memory_bytes <= ?2) "
      "   ORDER BY priority DESC, number LIMIT 1) AS head,"
      "  (SELECT COUNT(*) FROM jobs INDEXED BY jobs_open WHERE state < 5 AND jobs.caller = "
      "callers.caller AND state BETWEEN 2 AND 4) AS held,"
      "  COALESCE((SELECT turn FROM queue_turns WHERE queue_turns.caller = callers.caller), 0) AS "
      "turn"
      " FROM callers WHERE callers.caller IS NOT NULL) "
      "SELECT id FROM heads JOIN jobs ON jobs.number = heads.head "
      "WHERE held < ?3 ORDER BY priority DESC, held, turn, number LIMIT 1");
}

constexpr char kReady[] = "jobs INDEXED BY jobs_ready WHERE state = 1 AND not_before = 0";
constexpr char kReadyButTrainings[] =
    "jobs INDEXED BY jobs_ready_others WHERE state = 1 AND not_before = 0 AND kind > 1";

absl::StatusOr<int64_t> Count(Statement& select) {
  MERCER_ASSIGN_OR_RETURN(const bool found, select.Step());
  return found ? select.Int64(0) : 0;
}

// Jobs whose time has come, and those whose time is a mistake.
absl::Status MakeDelayedJobsReady(Connection& connection, absl::Time now) {
  MERCER_ASSIGN_OR_RETURN(
      Statement update,
      connection.Prepare("UPDATE jobs INDEXED BY jobs_delayed SET not_before = 0 WHERE state = 1 "
                         "AND not_before > 0 AND (not_before <= ? OR not_before > ?)"));
  return update.BindTime(now).BindTime(now + kLongestDelay).Run();
}

// Its id; empty: there is none.
absl::StatusOr<std::string> FindHead(Connection& connection, const ClaimRequest& request) {
  MERCER_ASSIGN_OR_RETURN(Statement select,
                          connection.Prepare(SelectHead(
                              request.jobs == ClaimedJobs::kAll ? kReady : kReadyButTrainings)));
  select.Bind(request.memory_budget_bytes).Bind(request.largest_budget_bytes);
  select.Bind(request.max_running_per_caller > 0 ? request.max_running_per_caller
                                                 : std::numeric_limits<int64_t>::max());
  MERCER_ASSIGN_OR_RETURN(const bool found, select.Step());
  return found ? select.Bytes(0) : std::string();
}

absl::Status TakeTurn(Connection& connection, const std::string& caller) {
  MERCER_ASSIGN_OR_RETURN(
      Statement replace,
      connection.Prepare("INSERT OR REPLACE INTO queue_turns(caller) VALUES (?)"));
  return replace.Bind(caller).Run();
}

}  // namespace

int64_t NotBeforeColumn(absl::Time not_before) {
  return not_before == absl::InfinitePast() ? 0
                                            : std::max<int64_t>(absl::ToUnixMicros(not_before), 1);
}

absl::Status CheckQuota(Connection& connection, const NewJob& job) {
  if (job.limits.queued_jobs > 0) {
    MERCER_ASSIGN_OR_RETURN(Statement select,
                            connection.Prepare("SELECT COUNT(*) FROM jobs WHERE state = 1"));
    MERCER_ASSIGN_OR_RETURN(const int64_t queued, Count(select));
    if (queued >= job.limits.queued_jobs) {
      return QuotaExceeded("queued_jobs", job.limits.queued_jobs, queued);
    }
  }
  if (job.limits.queued_jobs_per_caller > 0) {
    MERCER_ASSIGN_OR_RETURN(
        Statement select,
        connection.Prepare(
            "SELECT COUNT(*) FROM jobs INDEXED BY jobs_open WHERE state < 5 AND caller = ? AND "
            "state = 1"));
    select.Bind(job.caller);
    MERCER_ASSIGN_OR_RETURN(const int64_t queued, Count(select));
    if (queued >= job.limits.queued_jobs_per_caller) {
      return QuotaExceeded("queued_jobs_per_caller", job.limits.queued_jobs_per_caller, queued);
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<std::optional<JobRecord>> ClaimNextJob(Connection& connection,
                                                      const ClaimRequest& request,
                                                      absl::Time clock) {
  MERCER_RETURN_IF_ERROR(MakeDelayedJobsReady(connection, request.now));
  MERCER_ASSIGN_OR_RETURN(const std::string head, FindHead(connection, request));
  if (head.empty()) {
    return std::nullopt;
  }
  MERCER_ASSIGN_OR_RETURN(const JobRecord job, ReadJobRow(connection, head));
  const std::optional<JobTransition> change = PlanClaim(job, request, clock);
  if (!change.has_value()) {
    return std::nullopt;
  }
  MERCER_RETURN_IF_ERROR(WriteTransition(connection, *change));
  MERCER_RETURN_IF_ERROR(TakeTurn(connection, job.caller));
  return ReadJob(connection, head);
}

absl::StatusOr<absl::Time> FindNextReadyTime(Connection& connection) {
  MERCER_ASSIGN_OR_RETURN(
      Statement select,
      connection.Prepare("SELECT MIN(not_before) FROM jobs INDEXED BY jobs_delayed WHERE state = 1 "
                         "AND not_before > 0"));
  MERCER_ASSIGN_OR_RETURN(const bool found, select.Step());
  return found && !select.IsNull(0) ? select.Time(0) : absl::InfiniteFuture();
}

}  // namespace mercer::server
