#include "server/storage/sqlite/sqlite_event_log.h"

#include <utility>

#include "core/base/status/status_macros.h"
#include "server/storage/refusals.h"
#include "server/storage/sqlite/tables.h"

namespace mercer::server {
namespace {

using Events = std::vector<EventRecord>;

// Checks the lease and numbers the event in one statement.
absl::StatusOr<EventRecord> AppendLeased(Connection& connection, const Lease& lease,
                                         const EventDraft& event, absl::Time now) {
  const absl::Time time = event.time.value_or(now);
  EventRecord record;
  record.iteration = event.iteration;
  record.time = absl::FromUnixMicros(absl::ToUnixMicros(time));
  record.payload = event.payload;
  int64_t job_number = 0;
  {
    MERCER_ASSIGN_OR_RETURN(
        Statement update,
        connection.Prepare(
            "UPDATE jobs SET last_sequence = last_sequence + 1, last_attempt = attempt, "
            "last_iteration = ?, "
            "last_time = ?, last_payload = ? WHERE id = ? AND lease_worker = ? AND epoch = ? "
            "RETURNING number, last_sequence, attempt"));
    update.Bind(event.iteration).BindTime(time).BindBlob(event.payload);
    MERCER_ASSIGN_OR_RETURN(const bool held,
                            update.Bind(lease.job_id).Bind(lease.worker).Bind(lease.epoch).Step());
    if (!held) {
      return LeaseLost(lease);
    }
    job_number = update.Int64(0);
    record.sequence = update.Int64(1);
    record.attempt = static_cast<int32_t>(update.Int64(2));
    MERCER_RETURN_IF_ERROR(update.Run());
  }
  MERCER_RETURN_IF_ERROR(InsertEvent(connection, job_number, record));
  return record;
}

}  // namespace

void SqliteEventLog::Append(Lease lease, std::vector<EventDraft> events, absl::Time now,
                            Done<Events> done) {
  SubmitChange<Events>(
      *writer_,
      [lease = std::move(lease), events = std::move(events),
       now](Connection& connection) -> absl::StatusOr<Events> {
        Events records;
        for (const EventDraft& event : events) {
          MERCER_ASSIGN_OR_RETURN(EventRecord record, AppendLeased(connection, lease, event, now));
          records.push_back(std::move(record));
        }
        return records;
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
