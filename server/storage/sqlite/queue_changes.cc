#include <algorithm>
#include <limits>
#include <string>
#include <string_view>

#include "absl/strings/str_cat.h"

#include "core/base/status/status_macros.h"
#include "server/storage/job_transitions.h"
#include "server/storage/refusals.h"
#include "server/storage/sqlite/jobs.h"
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

// Jobs whose time has come, and those whose time is a mistake; the parameters are now, and the latest that can be meant.
constexpr char kDueJobs[] =
    "WHERE state = 1 AND not_before > 0 AND (not_before <= ? OR not_before > ?)";

// Its id; empty: there is none.
absl::StatusOr<std::string> FindHead(Connection& connection, const ClaimRequest& request) {
  return connection.SelectValue<std::string>(
      SelectHead(request.jobs == ClaimedJobs::kAllButTrainings ? kReadyButTrainings : kReady),
      request.memory_budget_bytes, request.largest_budget_bytes,
      request.max_running_per_caller > 0 ? request.max_running_per_caller
                                         : std::numeric_limits<int64_t>::max());
}

absl::Status CheckLimit(std::string_view what, int64_t limit, absl::StatusOr<int64_t> current) {
  MERCER_RETURN_IF_ERROR(current.status());
  return *current < limit ? absl::OkStatus() : QuotaExceeded(what, limit, *current);
}

}  // namespace

int64_t NotBeforeColumn(absl::Time not_before) {
  return not_before == absl::InfinitePast() ? 0
                                            : std::max<int64_t>(absl::ToUnixMicros(not_before), 1);
}

absl::Status CheckQuota(Connection& connection, const NewJob& job) {
  const QueueLimits& limits = job.limits;
  if (limits.queued_jobs > 0) {
    MERCER_RETURN_IF_ERROR(
        CheckLimit("queued_jobs", limits.queued_jobs,
                   connection.SelectValue<int64_t>("SELECT COUNT(*) FROM jobs WHERE state = 1")));
  }
  if (limits.queued_jobs_per_caller > 0) {
    return CheckLimit("queued_jobs_per_caller", limits.queued_jobs_per_caller,
                      connection.SelectValue<int64_t>(
                          "SELECT COUNT(*) FROM jobs INDEXED BY jobs_open WHERE state < 5 AND "
                          "caller = ? AND state = 1",
                          job.caller));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::optional<JobRecord>> ClaimNextJob(Connection& connection,
                                                      const ClaimRequest& request,
                                                      const StorageClock& clock) {
  const absl::Time now = clock();
  MERCER_RETURN_IF_ERROR(connection.Run(
      absl::StrCat("UPDATE jobs INDEXED BY jobs_delayed SET not_before = 0 ", kDueJobs), now,
      now + kLongestDelay));
  MERCER_ASSIGN_OR_RETURN(const std::string head, FindHead(connection, request));
  if (head.empty()) {
    return std::nullopt;
  }
  MERCER_ASSIGN_OR_RETURN(const JobRecord job, ReadJobRow(connection, head));
  const std::optional<JobTransition> change = PlanClaim(job, request, now);
  if (!change.has_value()) {
    return std::nullopt;
  }
  MERCER_RETURN_IF_ERROR(WriteTransition(connection, *change));
  MERCER_RETURN_IF_ERROR(
      connection.Run("INSERT OR REPLACE INTO queue_turns(caller) VALUES (?)", job.caller));
  return ReadJob(connection, head);
}

absl::StatusOr<bool> FindDueJobs(Connection& connection, const StorageClock& clock) {
  const absl::Time now = clock();
  return connection.SelectValue<bool>(
      absl::StrCat("SELECT EXISTS (SELECT 1 FROM jobs INDEXED BY jobs_delayed ", kDueJobs, ")"),
      now, now + kLongestDelay);
}

}  // namespace mercer::server
