#include "server/storage/sqlite/sqlite_job_store.h"

#include <optional>
#include <string_view>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"

#include "core/base/status/status_macros.h"
#include "server/storage/page_token.h"
#include "server/storage/refusals.h"
#include "server/storage/sqlite/finished_jobs.h"
#include "server/storage/sqlite/job_changes.h"
#include "server/storage/sqlite/job_list.h"
#include "server/storage/sqlite/queue_changes.h"
#include "server/storage/sqlite/tables.h"

namespace mercer::server {
namespace {

absl::StatusOr<FoundRows> SelectJobs(Connection& connection, const JobFilter& filter,
                                     std::string_view after, int limit) {
  MERCER_ASSIGN_OR_RETURN(const FilterParameter before, StartByNumber(after, true));
  FoundRows found;
  MERCER_ASSIGN_OR_RETURN(
      found.numbers, SelectJobNumbers(connection, filter, std::get<int64_t>(before), limit + 1));
  if (static_cast<int>(found.numbers.size()) > limit) {
    found.numbers.pop_back();
    found.next = absl::StrCat(found.numbers.back());
  }
  return found;
}

}  // namespace

void SqliteJobStore::CreateJob(NewJob job, Done<CreatedJob> done) {
  SubmitChange<CreatedJob>(
      *writer_,
      [job = std::move(job)](Connection& connection) { return InsertJob(connection, job); },
      std::move(done));
}

absl::StatusOr<std::optional<JobRecord>> SqliteJobStore::FindRequest(
    const std::string& caller, const std::string& request_id, const std::string& request_digest) {
  const ReaderPool::Loan reader = readers_->Borrow();
  return FindRequestedJob(*reader, caller, request_id, request_digest);
}

void SqliteJobStore::ClaimJob(ClaimRequest request, Done<std::optional<JobRecord>> done) {
  SubmitChange<std::optional<JobRecord>>(
      *writer_,
      [request = std::move(request), &clock = clock_](Connection& connection) {
        return ClaimNextJob(connection, request, clock());
      },
      std::move(done));
}

absl::StatusOr<absl::Time> SqliteJobStore::NextReadyTime() {
  const ReaderPool::Loan reader = readers_->Borrow();
  return FindNextReadyTime(*reader);
}

void SqliteJobStore::RenewLease(Lease lease, absl::Duration duration, Done<RenewedLease> done) {
  SubmitChange<RenewedLease>(
      *writer_,
      [lease = std::move(lease), duration, &clock = clock_](Connection& connection) {
        return ExtendLease(connection, lease, duration, clock());
      },
      std::move(done));
}

absl::StatusOr<std::vector<HeldJob>> SqliteJobStore::HeldJobs() {
  const ReaderPool::Loan reader = readers_->Borrow();
  return FindHeldJobs(*reader, clock_());
}

void SqliteJobStore::BeginVerifying(Lease lease, EventDraft event, absl::Time now,
                                    Done<EventRecord> done) {
  SubmitChange<EventRecord>(
      *writer_,
      [lease = std::move(lease), event = std::move(event), now](Connection& connection) {
        return MarkVerifying(connection, lease, event, now);
      },
      std::move(done));
}

void SqliteJobStore::SaveCheckpoint(Lease lease, NewCheckpoint checkpoint,
                                    Done<std::optional<BlobDigest>> done) {
  SubmitChange<std::optional<BlobDigest>>(
      *writer_,
      [lease = std::move(lease), checkpoint = std::move(checkpoint)](Connection& connection) {
        return ReplaceCheckpoint(connection, lease, checkpoint);
      },
      std::move(done));
}

void SqliteJobStore::EndAttempt(AttemptEnd end, Done<EndedAttempt> done) {
  SubmitChange<EndedAttempt>(
      *writer_,
      [end = std::move(end), &clock = clock_](Connection& connection) {
        return FinishAttempt(connection, end, clock());
      },
      std::move(done));
}

void SqliteJobStore::CancelJob(CancelRequest request, Done<EndedAttempt> done) {
  SubmitChange<EndedAttempt>(
      *writer_,
      [request = std::move(request)](Connection& connection) {
        return MarkCancelled(connection, request);
      },
      std::move(done));
}

void SqliteJobStore::StopJob(StopRequest request, Done<EndedAttempt> done) {
  SubmitChange<EndedAttempt>(
      *writer_,
      [request = std::move(request)](Connection& connection) {
        return MarkStopping(connection, request);
      },
      std::move(done));
}

void SqliteJobStore::DeleteFinishedJobs(FinishedJobs which, Done<DeletedJobs> done) {
  SubmitChange<DeletedJobs>(
      *writer_, [which](Connection& connection) { return RemoveFinishedJobs(connection, which); },
      std::move(done));
}

void SqliteJobStore::UpdateJob(std::string id, Labels labels, OwnerCheck check,
                               Done<JobRecord> done) {
  SubmitChange<JobRecord>(
      *writer_,
      [id = std::move(id), labels = std::move(labels), check = std::move(check)](
          Connection& connection) { return ChangeJobLabels(connection, id, labels, check); },
      std::move(done));
}

void SqliteJobStore::DeleteJob(std::string id, OwnerCheck check, Done<DeletedJob> done) {
  SubmitChange<DeletedJob>(
      *writer_,
      [id = std::move(id), check = std::move(check)](Connection& connection) {
        return RemoveJob(connection, id, check);
      },
      std::move(done));
}

absl::StatusOr<JobRecord> SqliteJobStore::GetJob(const std::string& id) {
  const ReaderPool::Loan reader = readers_->Borrow();
  return ReadJob(*reader, id);
}

absl::StatusOr<Page<JobRecord>> SqliteJobStore::ListJobs(const JobFilter& filter,
                                                         const PageRequest& page) {
  MERCER_ASSIGN_OR_RETURN(const int size, EffectivePageSize(page));
  const std::string query =
      absl::StrCat(DescribeJobsQuery(filter.states, filter.kinds, filter.labels),
                   DescribeListQuery(filter.query));
  MERCER_ASSIGN_OR_RETURN(const std::string after, ReadListToken(query, page.token));
  const ReaderPool::Loan reader = readers_->Borrow();
  MERCER_ASSIGN_OR_RETURN(const FoundRows found, filter.query.IsDefault() && filter.kinds.empty()
                                                     ? SelectJobs(*reader, filter, after, size)
                                                     : FindJobs(*reader, filter, after, size));
  Page<JobRecord> result;
  if (!found.next.empty()) {
    result.next_token = MakePageToken(query, found.next);
  }
  for (const int64_t number : found.numbers) {
    MERCER_ASSIGN_OR_RETURN(std::optional<JobRecord> job, ReadJobByNumber(*reader, number));
    if (job.has_value()) {
      result.items.push_back(*std::move(job));
    }
  }
  return result;
}

absl::StatusOr<std::vector<AttemptRecord>> SqliteJobStore::ListAttempts(const std::string& job_id) {
  const ReaderPool::Loan reader = readers_->Borrow();
  MERCER_ASSIGN_OR_RETURN(
      Statement select,
      (*reader).Prepare(
          "SELECT attempt, host, worker, start_time, end_time, reason FROM checked_attempts "
          "WHERE job = (SELECT number FROM jobs WHERE id = ?) ORDER BY attempt"));
  select.Bind(job_id);
  std::vector<AttemptRecord> attempts;
  while (true) {
    MERCER_ASSIGN_OR_RETURN(const bool more, select.Step());
    if (!more) {
      return attempts;
    }
    attempts.push_back({static_cast<int32_t>(select.Int64(0)), select.Bytes(1), select.Bytes(2),
                        select.Time(3), select.Time(4),
                        static_cast<AttemptReason>(select.Int64(5))});
  }
}

absl::StatusOr<std::optional<CheckpointRecord>> SqliteJobStore::GetCheckpoint(
    const std::string& job_id) {
  const ReaderPool::Loan reader = readers_->Borrow();
  MERCER_ASSIGN_OR_RETURN(
      Statement select,
      (*reader).Prepare(
          "SELECT attempt, iteration, code_version, blob, create_time FROM checked_checkpoints "
          "WHERE job = (SELECT number FROM jobs WHERE id = ?)"));
  MERCER_ASSIGN_OR_RETURN(const bool found, select.Bind(job_id).Step());
  if (!found) {
    return std::nullopt;
  }
  return CheckpointRecord{static_cast<int32_t>(select.Int64(0)), select.Int64(1), select.Bytes(2),
                          select.Bytes(3), select.Time(4)};
}

absl::StatusOr<std::map<JobState, int64_t>> SqliteJobStore::CountJobs() {
  const ReaderPool::Loan reader = readers_->Borrow();
  MERCER_ASSIGN_OR_RETURN(Statement select,
                          (*reader).Prepare("SELECT state, COUNT(*) FROM jobs GROUP BY state"));
  std::map<JobState, int64_t> counts;
  while (true) {
    MERCER_ASSIGN_OR_RETURN(const bool more, select.Step());
    if (!more) {
      return counts;
    }
    counts[static_cast<JobState>(select.Int64(0))] = select.Int64(1);
  }
}

}  // namespace mercer::server
