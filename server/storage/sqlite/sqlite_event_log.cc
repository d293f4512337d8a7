#include "server/storage/sqlite/sqlite_event_log.h"

#include <utility>

#include "core/base/status/status_macros.h"
#include "server/storage/job_transitions.h"
#include "server/storage/sqlite/tables.h"

namespace mercer::server {
namespace {

using Events = std::vector<EventRecord>;

absl::StatusOr<Events> AppendLeased(Connection& connection, const Lease& lease,
                                    const std::vector<EventDraft>& events, absl::Time now) {
  MERCER_ASSIGN_OR_RETURN(const JobRecord job, ReadJobRow(connection, lease.job_id));
  MERCER_ASSIGN_OR_RETURN(JobTransition change, PlanEvents(job, lease, events, now));
  MERCER_RETURN_IF_ERROR(AppendEvents(connection, job.number, change.events));
  return std::move(change.events);
}

}  // namespace

void SqliteEventLog::Append(Lease lease, std::vector<EventDraft> events, absl::Time now,
                            Done<Events> done) {
  SubmitChange<Events>(
      *writer_,
      [lease = std::move(lease), events = std::move(events), now](Connection& connection) {
        return AppendLeased(connection, lease, events, now);
      },
      std::move(done));
}

absl::StatusOr<Events> SqliteEventLog::Read(const std::string& job_id, int64_t after_sequence,
                                            int limit) {
  const ReaderPool::Loan reader = readers_->Borrow();
  MERCER_ASSIGN_OR_RETURN(
      Statement select,
      (*reader).Prepare("SELECT sequence, attempt, iteration, time, payload FROM checked_events "
                        "WHERE job = (SELECT number FROM jobs WHERE id = ?) AND sequence > ? ORDER "
                        "BY sequence LIMIT ?"));
  select.Bind(job_id).Bind(after_sequence).Bind(limit);
  Events records;
  while (true) {
    MERCER_ASSIGN_OR_RETURN(const bool more, select.Step());
    if (!more) {
      return records;
    }
    records.push_back({select.Int64(0), static_cast<int32_t>(select.Int64(1)), select.Int64(2),
                       select.Time(3), select.Bytes(4)});
  }
}

}  // namespace mercer::server
